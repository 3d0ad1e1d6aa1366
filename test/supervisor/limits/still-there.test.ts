import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/store.ts'
import type { SessionRow } from '../../../src/store/tables.ts'
import type { SupervisorContext } from '../../../src/supervisor/context.ts'
import { recordWakeFailure, reschedule } from '../../../src/supervisor/limits/waker.ts'
import { pauseWaitingSession, stopWaitingSession } from '../../../src/supervisor/session/settle.ts'
import { tempDir } from '../../support/world.ts'
import { aLiveSession } from '../session/live-session.ts'
import { scriptedAgent } from '../session/scripted-agent.ts'
import { scriptedWorld } from '../session/scripted-world.ts'
import { sessionDepsOn } from '../session/session-deps.ts'

/** What may have happened to a session that ended at 100 since its row was read. */
const SINCE: [string, Partial<SessionRow>][] = [
  ['resumed and ended again', { ended_at: 200, resumes_at: 300, status_reason: 'limited again' }],
  ['resumed', { state: 'starting', ended_as: null, ended_at: null, resumes_at: null }],
  ['resumed by another daemon, where it ended in the same moment', { owner: 'boot-2' }],
]

const NOW = 1_000

/** What may be done to a waiting session on the basis of its row. */
const WRITERS: [string, (row: SessionRow, supervisor: SupervisorContext) => Promise<unknown>][] = [
  ['stop', (row, { deps }) => stopWaitingSession(row, deps.store, NOW)],
  ['pause', (row, { deps }) => pauseWaitingSession(row, deps.store, NOW)],
  ['a start that failed', (row, { deps }) => recordWakeFailure(row, new Error('no project'), deps)],
  ['a limit that lasts longer', (row, supervisor) => reschedule(row, {}, supervisor)],
]

/** A session that waits for its time, on an account that is closed for longer. */
async function waiting(t: TestContext): Promise<{ supervisor: SupervisorContext; store: Store; row: SessionRow }> {
  const store = await openStore({ file: join(tempDir(t), 'db') })
  t.after(() => store.close())
  const deps = sessionDepsOn(store, { clock: { now: () => NOW } })
  const ended = { state: 'ended', ended_as: 'rate_limited', ended_at: 100, resumes_at: 900, retries: 1 } as const
  const { id } = await store.sessions.insert({ ...aLiveSession().row, account: 'a-1', marker: null })
  await store.sessions.update(id, { ...ended, status_reason: 'limited' })
  await deps.accounts.closeForLimit(aLiveSession({ account: 'a-1' }), {
    source: 'result',
    message: 'full',
    resetsAt: 9_000,
  })
  const row = await store.sessions.get(id)
  assert.ok(row)
  return { supervisor: { deps } as SupervisorContext, store, row }
}

for (const [what, write] of WRITERS) {
  test(`${what} changes a session that waits, and none that has changed since its row was read`, async t => {
    const { supervisor, store, row } = await waiting(t)
    for (const [since, patch] of SINCE) {
      await store.sessions.update(row.id, patch)
      const before = [await store.sessions.get(row.id), await store.events({ subject: row.id })]
      await write(row, supervisor)
      const after = [await store.sessions.get(row.id), await store.events({ subject: row.id })]
      assert.deepEqual(after, before, since)
      const { state, ended_as, ended_at, resumes_at, status_reason, owner } = row
      await store.sessions.update(row.id, { state, ended_as, ended_at, resumes_at, status_reason, owner })
    }
    await write(row, supervisor)
    assert.notDeepEqual(await store.sessions.get(row.id), row)
  })
}

for (const [since, patch] of SINCE) {
  test(`a resume that finds its session ${since} starts nothing`, async t => {
    const agent = scriptedAgent(() => ({ failure: { kind: 'refusal', message: 'it will not' } }))
    const world = await scriptedWorld(t, agent)
    const id = await world.start('first')
    await world.when(id, ({ status }) => status === 'error')
    while (world.supervisor.run(id)) await new Promise(resolve => setImmediate(resolve))
    // The conversation is checked after the row was read and before it is claimed.
    agent.driver.conversationState = async () => {
      await world.store.sessions.update(id, patch)
      return 'intact'
    }
    const calls = agent.calls()
    const { status, body } = await world.call('POST', `/sessions/${id}/resume`, { env: {} })
    assert.deepEqual([status, body.error?.code], [409, 'session_running'])
    assert.deepEqual([agent.calls(), agent.open()], [calls, 0])
    assert.deepEqual({ ...(await world.store.sessions.get(id)), ...patch }, await world.store.sessions.get(id))
  })
}
