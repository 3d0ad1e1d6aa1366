import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sessionMarker } from '../../src/base/process/marker.ts'
import { findMarked } from '../../src/base/process/sweep.ts'
import type { SessionView } from '../../src/domain/api.ts'
import { openStore } from '../../src/store/open.ts'
import type { SessionRow } from '../../src/store/tables.ts'
import { type AgentSessions, agentSessions, bodiesOf, isEnd } from './agent-sessions.ts'

const SCENARIO = `
conversations:
  - match: leave a server
    turns:
      - tools: [{ Bash: { command: "setsid sleep 600 >/dev/null 2>&1 & sleep 0.1", description: Serve } }]
      - text: It runs.
  - match: say hello
    turns:
      - text: Hello.
      - text: More.
`

async function rowOf(world: AgentSessions, id: string): Promise<SessionRow> {
  await using store = await openStore({ file: world.daemon.paths.database })
  const row = await store.sessions.get(id)
  assert.ok(row)
  return row
}

test('what a command has left running is gone before its session is told to be over', async t => {
  const world = await agentSessions(t, SCENARIO)
  const { id } = await world.start('leave a server')
  const { marker } = await rowOf(world, id)
  assert.ok(marker)
  await (await world.daemon.stream(`/events?session=${id}`)).until(isEnd)
  const decided = bodiesOf(await world.log(id), 'permission.decided').map(({ verdict }) => verdict)
  assert.deepEqual(decided, ['allow'], 'the command ran')
  assert.deepEqual(await findMarked(sessionMarker(marker)), [])
  assert.equal((await rowOf(world, id)).marker, null)
})

test('a session is over before its agent has left; it cannot be stopped again, and a resume waits for the agent', async t => {
  const world = await agentSessions(t, SCENARIO)
  const { id } = await world.start('say hello')
  const stream = await world.daemon.stream(`/events?session=${id}`)
  await stream.until(isEnd)
  const { body: view } = await world.daemon.call<SessionView>('GET', `/sessions/${id}`)
  assert.equal(view.status, 'completed')
  const stopped = await world.daemon.call('POST', `/sessions/${id}/stop`)
  assert.equal(stopped.body.error.code, 'session_over')

  const resume = { vendor_id: view.vendor_id ?? '', fork: false }
  const second = await world.start('say more', { resume })
  assert.equal((await rowOf(world, id)).marker, null, 'the first agent is gone when the second one starts')
  await (await world.daemon.stream(`/events?session=${second.id}`)).until(isEnd)
  const { body: after } = await world.daemon.call<SessionView>('GET', `/sessions/${second.id}`)
  assert.deepEqual([after.status, after.vendor_id], ['completed', view.vendor_id])
  while ((await rowOf(world, second.id)).marker !== null) await sleep(20)
  assert.deepEqual(bodiesOf(await world.log(id), 'session.ended'), [{ status: 'completed', reason: '' }])
})
