import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import { defaultValues, nestValues } from '../../../src/domain/config/settings.ts'
import { openStore } from '../../../src/store/open.ts'
import type { MergeDeps } from '../../../src/workspace/merge/merge-state.ts'
import { advanceMerges, recoverMerges } from '../../../src/workspace/merge/queue.ts'
import { removeWorktree } from '../../../src/workspace/worktrees/remove-worktree.ts'
import { verificationOf } from './merge-fixture.ts'

/** Does what a daemon does with its queues, in its own process that may be killed: recovers, then advances all queues. */
const [home = '', batch = '1'] = process.argv.slice(2)
await using store = await openStore({ file: join(home, 'store.db') })
const log = { ...silentLog, warn: note, error: note }
const worktrees = {
  ...{ store, clock: systemClock, log, root: join(home, 'worktrees'), env: process.env },
  settings: nestValues(defaultValues()).worktrees,
}
const deps: MergeDeps = {
  ...{ store, clock: systemClock, log, batch: Number(batch) },
  removeWorktree: (worktree, options) => removeWorktree(worktree, worktrees, options),
  verifyAgain: async (_, __, commit) => verificationOf('passed', commit),
  landed: async () => undefined,
  sentBack: async ({ task_id }) => note({ task: task_id }, 'sent back'),
  conflicted: async ({ task_id }) => note({ task: task_id }, 'conflicted'),
  gaveUp: async ({ task_id }, why) => note({ task: task_id, why }, 'given up'),
  isStale: async () => false,
}
await recoverMerges(deps)
for (const lane of await store.merges.lanes()) await advanceMerges(lane, deps)

function note(fields: Record<string, unknown>, message: string): void {
  appendFileSync(join(home, 'notes'), `${message} ${JSON.stringify(fields)}\n`)
}
