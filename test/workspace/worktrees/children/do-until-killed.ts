import { systemClock } from '../../../../src/base/clock.ts'
import { silentLog } from '../../../../src/base/log.ts'
import { defaultValues, nestValues } from '../../../../src/domain/config/settings.ts'
import { openStore } from '../../../../src/store/open.ts'
import { makePlace } from '../../../../src/workspace/worktrees/make-worktree.ts'
import { removePlace } from '../../../../src/workspace/worktrees/remove-worktree.ts'

// Makes or removes a place in a process that can be made to die at a step: <make|remove> <store> <root> <project>.
const [what, file = '', root = '', project = ''] = process.argv.slice(2)
const store = await openStore({ file })
const settings = nestValues(defaultValues()).worktrees
const deps = { store, clock: systemClock, log: silentLog, root, env: {}, settings }
if (what === 'make') await makePlace({ project, task: 't-000001', attempt: 1 }, deps)
else {
  const [row] = await store.worktrees.list({ states: ['live'] })
  if (row) await removePlace(row, deps)
}
await store.close()
