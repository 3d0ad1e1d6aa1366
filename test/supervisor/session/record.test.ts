import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openEscalations } from '../../../src/human/escalations.ts'
import { openStore } from '../../../src/store/open.ts'
import { record } from '../../../src/supervisor/session/record.ts'
import { AN_ESCALATION } from '../../support/an-escalation.ts'
import { tempDir } from '../../support/world.ts'
import { aLiveSession } from './live-session.ts'
import { sessionDepsOn } from './session-deps.ts'

test('an answer to what somebody else has answered is refused with all that goes with it; one to what was withdrawn is not', async t => {
  await using store = await openStore({ file: join(tempDir(t), 'db') })
  const deps = sessionDepsOn(store)
  const live = aLiveSession()
  await store.sessions.insert(live.row)
  const row = { ...AN_ESCALATION, session_id: live.id }
  const answered = await store.transaction(tx => store.escalations.insert(row, tx))
  const withdrawn = await store.transaction(tx => store.escalations.insert({ ...row, state: 'withdrawn' }, tx))
  const said = { verdict: 'allow', by: 'ann' } as const
  await store.transaction(tx => openEscalations(deps).settle(answered, said, tx))
  const late = (number: number) =>
    record(live, deps, { events: [], patch: { activity: `of ${number}` }, settle: { number, answer: said } })
  await assert.rejects(late(answered), { code: 'escalation_answered' })
  assert.equal((await store.sessions.get(live.id))?.activity, null)
  await late(withdrawn)
  assert.equal((await store.sessions.get(live.id))?.activity, `of ${withdrawn}`)
})
