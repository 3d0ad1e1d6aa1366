import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import { openStore } from '../../../src/store/open.ts'
import { driveQueue, type QueueDriver, recover } from './drive-queue.ts'
import { verificationOf } from './merge-fixture.ts'

/** Does what a daemon does with its queues, in its own process that may be killed: recovers, then advances all queues. */
const [home = '', batch = '1'] = process.argv.slice(2)
await using store = await openStore({ file: join(home, 'store.db') })
const log = { ...silentLog, warn: note, error: note }
const driver: QueueDriver = {
  deps: { store, clock: systemClock, log, env: {}, isStale: async () => false },
  batch: Number(batch),
  verify: async ({ result }) => verificationOf('passed', result),
  note: ({ kind, merge }) => {
    if (kind !== 'merged') note({ task: merge.task_id }, kind)
  },
}
await recover(driver)
for (const queue of await store.merges.queues()) await driveQueue(queue, driver)

function note(fields: Record<string, unknown>, message: string): void {
  appendFileSync(join(home, 'notes'), `${message} ${JSON.stringify(fields)}\n`)
}
