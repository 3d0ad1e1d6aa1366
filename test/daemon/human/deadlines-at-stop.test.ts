import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import { enforceDeadlines } from '../../../src/daemon/answers.ts'
import type { DaemonContext } from '../../../src/daemon/context.ts'
import { openEscalations } from '../../../src/human/escalations.ts'
import { openStore } from '../../../src/store/open.ts'
import { AN_ESCALATION } from '../../support/an-escalation.ts'
import { tempDir } from '../../support/world.ts'

test('a daemon that stops settles nothing at its deadline; the next one does', async t => {
  const store = await openStore({ file: join(tempDir(t), 'store.db') })
  t.after(() => store.close())
  const escalations = openEscalations({ store, clock: systemClock })
  const overdue = { ...AN_ESCALATION, deadline: 1, on_deadline: 'take_suggestion' } as const
  const number = await store.transaction(tx => store.escalations.insert(overdue, tx))
  // Without a suggestion the deadline is removed and a person decides, for which no supervisor is needed.
  const look = async (stopping: AbortSignal) => {
    const alarm = enforceDeadlines({ store, log: silentLog, stopping } as DaemonContext)
    await alarm.poke()
    await alarm.close()
    return (await escalations.get(number)).deadline
  }
  assert.equal(await look(AbortSignal.abort()), 1)
  assert.equal(await look(new AbortController().signal), null)
})
