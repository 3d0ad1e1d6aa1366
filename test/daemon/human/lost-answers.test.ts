import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openStore } from '../../../src/store/open.ts'
import type { SessionRow } from '../../../src/store/tables.ts'
import { claimParked } from '../../../src/supervisor/session/resume-parked.ts'
import { type AgentSessions, agentSessions, bodiesOf } from '../agent-sessions.ts'
import { startDaemon, viewWhen } from '../daemon-process.ts'

const SCENARIO = `
conversations:
  - match: make the file
    turns:
      - tools: [{ Bash: { command: tee made, description: Make } }]
      - text: Done.
`
const WAIT = { PCC_PERMISSIONS_UNATTENDED_HIGH: 'wait' }

/** A session whose decision was approved by a daemon that died at that moment, before it started the agent. */
async function approvedAndKilled(t: TestContext, env: Record<string, string> = {}) {
  const world = await agentSessions(t, SCENARIO, { env: { ...WAIT, ...env } })
  const { id } = await world.start('Please make the file')
  await viewWhen(world.daemon, id, ({ status }) => status === 'waiting_input')
  await killedAfterAnswers(world, [id])
  return { world, id, made: join(world.project, 'made') }
}

async function killedAfterAnswers(world: AgentSessions, ids: string[], more: Record<string, Partial<SessionRow>> = {}) {
  world.daemon.child.kill('SIGKILL')
  await world.daemon.ended
  await using store = await openStore({ file: world.daemon.paths.database })
  for (const id of ids) {
    const parked = (await store.sessions.get(id))?.parked
    assert.ok(parked)
    const taken = { state: 'starting', owner: 'boot-dead', ended_as: null } as const
    const claim = { id, parked, said: { verdict: 'allow', by: 'ann' } as const, patch: { ...taken, ...more[id] } }
    await claimParked({ store, clock: systemClock }, claim)
  }
}

test('an answer that a daemon took and died with', async t => {
  const world = await agentSessions(t, SCENARIO, { env: WAIT })
  const ids: string[] = []
  for (const name of ['older', 'newer']) {
    const { id } = await world.start('Please make the file', { name })
    await viewWhen(world.daemon, id, ({ status }) => status === 'waiting_input')
    ids.push(id)
  }
  const [older = '', newer = ''] = ids
  await killedAfterAnswers(world, ids, { [newer]: { state: 'ended', ended_as: 'paused', owner: null } })
  const daemon = await startDaemon(t, { home: world.daemon.home, env: { ...world.env, ...WAIT } })

  await t.test('is delivered by the next daemon, to the same call', async () => {
    await viewWhen(daemon, older, ({ status }) => status === 'completed')
    assert.ok(existsSync(join(world.project, 'made')))
    const { body } = await daemon.call('GET', `/sessions/${older}/events`)
    assert.deepEqual(
      bodiesOf(body.events, 'permission.decided').map(({ verdict, by }) => [verdict, by]),
      [['allow', 'ann']],
    )
  })

  // Newest first: when the older session is done, the newer one has been handled.
  await t.test('does not take up a session that a person paused, and is kept for it', async () => {
    const { body } = await daemon.call('GET', `/sessions/${newer}`)
    assert.equal(body.status, 'paused')
    const { body: decision } = await daemon.call('GET', '/escalations/2')
    assert.deepEqual([decision.session_id, decision.state], [newer, 'answered'])
  })
})

test('where the next daemon has not the login the decision is asked again, and a new answer goes on', async t => {
  const { world, id, made } = await approvedAndKilled(t, { PCC_SESSIONS_KEEP_ENVIRONMENT: 'false' })
  const daemon = await startDaemon(t, { home: world.daemon.home, env: WAIT })
  const stream = await daemon.stream(`/events?session=${id}`)
  const events = await stream.until(
    ({ kind, body }) => kind === 'session.noted' && 'text' in body && /asked again/.test(body.text),
  )
  stream.close()
  assert.match(bodiesOf(events, 'session.noted').at(-1)?.text ?? '', /decision 1 .*another login/)
  const { body } = await daemon.call('GET', '/escalations')
  assert.deepEqual(
    [body.escalations.length, body.escalations[0].state, body.escalations[0].answered_by],
    [1, 'open', null],
  )
  assert.equal(existsSync(made), false)
  const reply = await daemon.call('POST', '/escalations/1/answer', { body: { verdict: 'allow', env: world.env } })
  assert.equal(reply.status, 200)
  await viewWhen(daemon, id, ({ status }) => status === 'completed')
  assert.ok(existsSync(made))
})
