import { systemClock } from '../../../../src/base/clock.ts'
import { silentLog } from '../../../../src/base/log.ts'
import { defaultValues, nestValues } from '../../../../src/domain/config/settings.ts'
import { openStore } from '../../../../src/store/open.ts'
import { makeWorktree } from '../../../../src/workspace/worktrees/make-worktree.ts'
import { removeWorktree } from '../../../../src/workspace/worktrees/remove-worktree.ts'

// Makes or removes a worktree, or gives the slot of one to the next task, in a process that can be made to die at a crash point:
// <make|remove|next> <store> <root> <project>.
const [what, file = '', root = '', project = ''] = process.argv.slice(2)
const store = await openStore({ file })
const settings = nestValues(defaultValues()).worktrees
const deps = { store, clock: systemClock, log: silentLog, root, env: {}, settings }
if (what === 'make') await makeWorktree({ project, task: 't-000001', attempt: 1 }, deps)
else if (what === 'next') await makeWorktree({ project, task: 't-000002', attempt: 1, slot: true }, deps)
else {
  const [row] = await store.worktrees.list({ states: ['live'] })
  if (row) await removeWorktree(row, deps)
}
await store.close()
