import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import type { Escalation } from '../../../src/domain/escalation.ts'
import type { StoredEvent } from '../../../src/domain/event.ts'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { startDaemon, viewWhen } from '../daemon-process.ts'
import { inProcess, type Sessions } from '../in-process.ts'

const SCENARIO = `
conversations:
  - match: night shift
    turns:
      - tools:
          - Bash: { command: 'for n in $(seq 50); do touch linked & done; wait', description: Touch }
      - tools:
          - Bash: { command: rm kept, description: Remove }
      - tools:
          - Bash: { command: rm  kept, description: Remove again }
      - text: Done.
`

test('what was refused at night is listed in the morning; a yes counts next time, but never for HIGH', async t => {
  const world = await agentSessions(t, SCENARIO)
  const at = (name: string) => join(world.project, name)
  writeFileSync(at('kept'), 'keep me')
  const first = await world.start('The night shift')
  await viewWhen(world.daemon, first.id, ({ status }) => status === 'completed')
  assert.deepEqual([existsSync(at('linked')), existsSync(at('kept'))], [false, true])
  const rows = await waiting(world.daemon, `?session=${first.id}`)
  assert.deepEqual(
    rows.map(({ number, risk, normalised, state, count }) => [number, risk, normalised, state, count]),
    [
      [1, 'MEDIUM', 'Bash for n in $(seq 50); do touch linked & done; wait', 'denied', 1],
      [2, 'HIGH', 'Bash rm kept', 'denied', 2],
    ],
  )
  assert.ok(rows.every(row => !('fingerprint' in row)))

  world.daemon.child.kill('SIGKILL')
  await world.daemon.ended
  const daemon = await startDaemon(t, { home: world.daemon.home })
  assert.deepEqual(await waiting(daemon), rows, 'they outlive the daemon')
  const yes = { body: { verdict: 'allow', reason: 'fine' } }
  const [medium, late] = await Promise.all([
    daemon.call('POST', '/escalations/1/answer', yes),
    daemon.call('POST', '/escalations/1/answer', yes),
  ])
  assert.deepEqual([medium.status, late.status].sort(), [200, 409])
  assert.equal((medium.status === 200 ? medium : late).body.remembered, true)
  assert.equal((medium.status === 409 ? medium : late).body.error.code, 'escalation_answered')
  const high = await daemon.call('POST', '/escalations/2/answer', yes)
  assert.deepEqual([high.status, high.body.remembered, high.body.escalation.state], [200, false, 'answered'])
  assert.deepEqual(await waiting(daemon), [])
  assert.equal((await waiting(daemon, '?state=answered')).length, 2)

  const again = await daemon.call<SessionView>('POST', '/sessions', {
    body: { project: world.project, task: 'The night shift', env: world.env },
  })
  await viewWhen(daemon, again.body.id, ({ status }) => status === 'completed')
  assert.deepEqual([existsSync(at('linked')), existsSync(at('kept'))], [true, true])
  const { body } = await daemon.call<{ events: StoredEvent[] }>('GET', `/sessions/${again.body.id}/events`)
  assert.deepEqual(
    bodiesOf(body.events, 'permission.decided').map(({ verdict, by }) => [verdict, by]),
    [
      ['allow', 'precedent'],
      ['deny', 'policy'],
      ['deny', 'policy'],
    ],
  )
  assert.deepEqual(
    (await waiting(daemon)).map(({ number, session_id, count }) => [number, session_id, count]),
    [[3, again.body.id, 2]],
  )
})

test('the routes refuse what is no number, no state, no verdict and no session', async t => {
  const { daemon } = await inProcess(t, SCENARIO)
  for (const number of ['1', '0', '-1', '1.5', '01', 'x', '9999999999']) {
    const reply = await daemon.call('POST', `/escalations/${number}/answer`, { body: { verdict: 'allow' } })
    assert.deepEqual([reply.status, reply.body.error.code], [404, 'escalation_unknown'], number)
  }
  for (const body of [undefined, {}, { verdict: 'maybe' }, { verdict: 'allow', reson: 'x' }, [], 'allow']) {
    const reply = await daemon.call('POST', '/escalations/1/answer', { body })
    assert.deepEqual([reply.status, reply.body.error.code], [400, 'bad_request'], JSON.stringify(body))
  }
  assert.equal((await daemon.call('GET', '/escalations?state=bogus')).body.error.code, 'bad_request')
  assert.equal((await daemon.call('GET', '/escalations?sesion=x')).body.error.code, 'bad_request')
  assert.equal((await daemon.call('GET', '/escalations?session=zzz')).body.error.code, 'session_unknown')
  const stranger = { headers: { authorization: undefined } }
  assert.equal((await daemon.call('GET', '/escalations', stranger)).status, 401)
  assert.equal((await daemon.call('POST', '/escalations/1/answer', stranger)).status, 401)
})

async function waiting(daemon: Sessions['daemon'], query = ''): Promise<Escalation[]> {
  const reply = await daemon.call<{ escalations: Escalation[] }>('GET', `/escalations${query}`)
  assert.equal(reply.status, 200)
  return reply.body.escalations
}
