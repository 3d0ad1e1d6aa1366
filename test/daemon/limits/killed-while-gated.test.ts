import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { startDaemon, viewWhen } from '../daemon-process.ts'
import { closedUntil, isComplete, isLimited, limitFor, openVendor, otherAccount } from './gated.ts'

const SCENARIO = `
conversations:
  - match: through the night
    turns:
      - tools: [{ Bash: { command: "touch begun", description: Work } }]
      - fault: ${limitFor('60s')}
        text: The night is over.
  - match: on another account
    turns:
      - tools: [{ Bash: { command: "touch meanwhile", description: Work } }]
      - text: Done meanwhile.
`

test('a daemon that is killed while an account is shut keeps it shut, lets another account work, and goes on after the reset', async t => {
  const world = await agentSessions(t, SCENARIO, { auth: 'oauth' })
  const { id } = await world.start('Work through the night')
  const { vendor_id } = await viewWhen(world.daemon, id, isLimited)
  const [opens] = await closedUntil(world.daemon)
  assert.ok(opens)
  world.daemon.child.kill('SIGKILL')
  await world.daemon.ended
  openVendor(world)
  const killedAt = world.simulator.requests.length

  const daemon = await startDaemon(t, { home: world.daemon.home })
  assert.deepEqual(await closedUntil(daemon), [opens], 'the gate is a row')
  const { project } = world
  const body = { project, task: 'Work on another account', env: otherAccount(world, 'two') }
  const other = await daemon.call<SessionView>('POST', '/sessions', { body })
  const { ended_at } = await viewWhen(daemon, other.body.id, isComplete)
  assert.ok((ended_at ?? 0) < opens, `the other account was at work while the first was shut (${ended_at} < ${opens})`)
  assert.equal((await daemon.call<SessionView>('GET', `/sessions/${id}`)).body.status, 'rate_limited')

  // Nobody passes an environment: the stored one is used.
  await viewWhen(daemon, id, isComplete)
  const own = world.simulator.requests.slice(killedAt).filter(({ session }) => session === vendor_id)
  assert.ok(own.length > 0)
  assert.deepEqual(
    own.filter(({ time }) => time < opens),
    [],
  )
  assert.match(JSON.stringify(own[0]?.body), /touch begun/, 'it remembers what it did')
  const log = (await daemon.call('GET', `/sessions/${id}/events`)).body.events
  assert.deepEqual(bodiesOf(log, 'session.resumed'), [{ reason: 'its time has come' }])
  assert.equal(bodiesOf(log, 'task.finished').length, 1)
})
