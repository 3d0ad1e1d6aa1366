import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { watch } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { sessionMarker } from '../../src/base/process/marker.ts'
import { findMarked } from '../../src/base/process/sweep.ts'
import type { Health, SessionView } from '../../src/domain/api.ts'
import type { StoredEvent } from '../../src/domain/event.ts'
import { openStore } from '../../src/store/open.ts'
import { type AgentSessions, agentSessions, bodiesOf, isEnd } from './agent-sessions.ts'
import { startDaemon, viewWhen } from './daemon-process.ts'
import { sharedDaemon } from './shared-daemon.ts'

const shared = sharedDaemon()

const SCENARIO = `
conversations:
  - match: sleep long
    turns:
      - text: I sleep.
        tools: [{ Bash: { command: "echo 1 > asleep; setsid sleep 600 & sleep 600", description: Sleep, timeout: 600000 } }]
    otherwise: { text: Awake. }
  - match: remove it
    turns:
      - tools: [{ Bash: { command: rm README.md, description: Remove } }]
      - text: Removed.
  - match: work on and on
    turns:
      - { text: A step., tools: [{ Read: { file_path: "{{cwd}}/README.md" } }], repeat: 600, latency: 100 }
      - text: Done.
  - match: take your time
    turns:
      - { text: A step., tools: [{ Read: { file_path: "{{cwd}}/README.md" } }], repeat: 60, latency: 2500 }
      - text: Done.
  - match: stall
    turns:
      - fault: stall
`

/** The marker of a session's agent, which only the session's row has. */
async function markerOf(world: AgentSessions, id: string): Promise<string> {
  await using store = await openStore({ file: world.daemon.paths.database })
  const row = await store.sessions.get(id)
  assert.ok(row?.marker && row.agent_pid, 'the row knows the marker and the process')
  return row.marker
}

/** Resolves once the file exists. */
async function made(file: string): Promise<void> {
  const watching = new AbortController()
  const changes = watch(dirname(file), { signal: watching.signal })
  if (existsSync(file)) return watching.abort()
  for await (const _ of changes) if (existsSync(file)) return
}

/** A session in the middle of a command, with a child that left its process group. */
async function sleeping(world: AgentSessions): Promise<{ id: string; marker: string }> {
  const { id } = await world.start('sleep long')
  const stream = await world.daemon.stream(`/events?session=${id}`)
  await stream.until(({ kind }) => kind === 'permission.decided')
  const marker = await markerOf(world, id)
  await made(join(world.project, 'asleep'))
  assert.ok((await findMarked(sessionMarker(marker))).length > 0)
  stream.close()
  return { id, marker }
}

test('a stopped session is stopped, its command and what that started included', async t => {
  const world = await agentSessions(t, SCENARIO, { shared })
  const { id, marker } = await sleeping(world)
  const { body } = await world.daemon.call<SessionView>('POST', `/sessions/${id}/stop`)
  assert.deepEqual([body.status, body.reason], ['stopped', 'stopped by a person'])
  assert.deepEqual(await findMarked(sessionMarker(marker)), [])
  assert.deepEqual(bodiesOf(await world.log(id), 'session.ended'), [
    { status: 'stopped', reason: 'stopped by a person' },
  ])
  for (const verb of ['stop', 'pause', 'interrupt']) {
    const again = await world.daemon.call('POST', `/sessions/${id}/${verb}`)
    assert.equal(again.body.error.code, 'session_over', verb)
  }
  const late = await world.daemon.call('POST', `/sessions/${id}/prompt`, { body: { text: 'more' } })
  assert.equal(late.body.error.code, 'session_over')
})

test('a session that is stopped while it asks stays stopped, and its ask is closed', async t => {
  const world = await agentSessions(t, SCENARIO, { shared })
  const { id } = await world.start('remove it', { attach: true })
  const stream = await world.daemon.stream(`/events?session=${id}&attach=1`)
  const [asked] = bodiesOf(await stream.until(({ kind }) => kind === 'permission.asked'), 'permission.asked')
  await world.daemon.call('POST', `/sessions/${id}/stop`)
  const answer = { ask_id: asked?.ask_id, verdict: 'allow' }
  const late = await world.daemon.call('POST', `/sessions/${id}/answers`, { body: answer })
  assert.equal(late.body.error.code, 'ask_unknown')
  const { body } = await world.daemon.call<SessionView>('GET', `/sessions/${id}`)
  assert.deepEqual([body.status, body.asks], ['stopped', []])
  const events = await world.log(id)
  assert.equal(events.at(-1)?.kind, 'session.ended')
  assert.equal(existsSync(join(world.project, 'README.md')), true)
  stream.close()
})

test('SIGTERM drains: agents gone, streams told, lock and socket released, exit 0; the session goes on with the next daemon', async t => {
  const world = await agentSessions(t, SCENARIO)
  const { id, marker } = await sleeping(world)
  const stream = await world.daemon.stream(`/events?session=${id}`)
  world.daemon.child.kill('SIGTERM')
  const told = await stream.until(isEnd)
  const [ended] = bodiesOf(told, 'session.ended')
  assert.deepEqual([ended?.status, ended?.reason], ['paused', CUT_OFF])
  assert.equal(await world.daemon.ended, 0)
  assert.deepEqual(await findMarked(sessionMarker(marker)), [])
  assert.equal(existsSync(world.daemon.paths.socket), false)
  const next = await startDaemon(t, { home: world.daemon.home })
  await viewWhen(next, id, ({ status }) => status === 'completed')
  assert.equal((await next.call<Health>('GET', '/health')).body.recovered, undefined, 'nothing had gone wrong')
})

const CUT_OFF = 'cut off: the daemon was stopped; it goes on when the daemon is back'

test('POST /daemon/stop drains too, even with an agent that waits for a model that never answers', async t => {
  const world = await agentSessions(t, SCENARIO)
  const { id } = await world.start('stall')
  await world.simulator.waitForRequest(() => true)
  const reply = await world.daemon.call('POST', '/daemon/stop')
  assert.equal(reply.status, 202)
  assert.equal(await world.daemon.ended, 0)
  await using store = await openStore({ file: world.daemon.paths.database })
  assert.equal((await store.sessions.get(id))?.ended_as, 'stopped')
  const events = await store.events({ subject: 'daemon' })
  assert.deepEqual(
    events.map(({ kind }) => kind),
    ['daemon.started', 'daemon.stopped'],
  )
})

test('a killed daemon takes its agents along, and the next one makes its sessions go on where they were', async t => {
  const world = await agentSessions(t, SCENARIO)
  const { id, marker } = await sleeping(world)
  world.daemon.child.kill('SIGKILL')
  await world.daemon.ended
  const next = await startDaemon(t, { home: world.daemon.home })
  assert.deepEqual(await findMarked(sessionMarker(marker)), [])
  await viewWhen(next, id, ({ status }) => status === 'completed')
  const { events } = (await next.call<{ events: StoredEvent[] }>('GET', `/sessions/${id}/events`)).body
  assert.deepEqual(
    bodiesOf(events, 'session.ended').map(({ status, reason }) => [status, reason]),
    [
      ['paused', 'interrupted: the daemon ended while it ran'],
      ['completed', ''],
    ],
  )
  const [first, again] = bodiesOf(events, 'agent.started')
  assert.deepEqual([again?.resumed, again?.vendor_id], [true, first?.vendor_id], 'in the same conversation')
  assert.equal(bodiesOf(events, 'task.finished').length, 1)
  assert.deepEqual(
    bodiesOf(events, 'task.finished')[0]?.attempt,
    2,
    'whoever held the first attempt can report nothing',
  )
  const { body: health } = await next.call<Health>('GET', '/health')
  assert.deepEqual([health.recovered?.goes_on, health.recovered?.waits], [1, 0])
})

test('what a person had asked for when the daemon died is done: a stop, a pause, no going on by itself', async t => {
  const world = await agentSessions(t, SCENARIO)
  const ids: string[] = []
  for (const more of [{}, {}, { auto_resume: false }]) ids.push((await world.start('take your time', more)).id)
  const [stop = '', pause = '', alone = ''] = ids
  for (const id of ids) await viewWhen(world.daemon, id, ({ status }) => status === 'processing')
  world.daemon.child.kill('SIGKILL')
  await world.daemon.ended
  {
    await using store = await openStore({ file: world.daemon.paths.database })
    await store.sessions.update(stop, { intent: 'stop' })
    await store.sessions.update(pause, { intent: 'pause' })
  }
  const next = await startDaemon(t, { home: world.daemon.home })
  const told = async (id: string) => {
    const { status, reason } = await viewWhen(next, id, ({ reason }) => !reason?.endsWith('while it ran'))
    return [status, reason]
  }
  assert.deepEqual(await told(stop), ['stopped', 'stopped by a person'])
  assert.deepEqual(await told(pause), ['paused', `paused by a person; go on with: pcc resume ${pause}`])
  const interrupted = `interrupted: the daemon ended while it ran; go on with: pcc resume ${alone}`
  assert.deepEqual(await told(alone), ['paused', interrupted])
})

test('a paused session stops after the tool in flight and can be resumed by its conversation', async t => {
  const world = await agentSessions(t, SCENARIO, { shared })
  const { id } = await world.start('work on and on')
  const stream = await world.daemon.stream(`/events?session=${id}`)
  await stream.until(({ kind }) => kind === 'tool.finished')
  assert.equal((await world.daemon.call('POST', `/sessions/${id}/pause`)).status, 200)
  await stream.until(isEnd)
  const { body } = await world.daemon.call<SessionView>('GET', `/sessions/${id}`)
  assert.equal(body.status, 'paused')
  assert.equal(body.reason, `paused by a person; go on with: pcc resume ${id}`)
  assert.ok(body.vendor_id)
  const resumed = await world.start('work on and on', { resume: { vendor_id: body.vendor_id, fork: false } })
  const again = await world.daemon.stream(`/events?session=${resumed.id}`)
  const [started] = bodiesOf(await again.until(({ kind }) => kind === 'tool.finished'), 'agent.started')
  assert.deepEqual([started?.resumed, started?.vendor_id], [true, body.vendor_id])
  const stopped = await world.daemon.call<SessionView>('POST', `/sessions/${id}/stop`)
  assert.equal(stopped.body.status, 'stopped')
  await world.daemon.call('POST', `/sessions/${resumed.id}/interrupt`)
  const view = await viewWhen(world.daemon, resumed.id, ({ ended_at }) => ended_at !== null)
  assert.deepEqual([view.status, view.reason?.startsWith('interrupted; go on with')], ['paused', true])
})

test('a prompt reaches the agent in the middle of its turn', async t => {
  const world = await agentSessions(t, SCENARIO, { shared })
  const { id } = await world.start('work on and on')
  const stream = await world.daemon.stream(`/events?session=${id}`)
  await stream.until(({ kind }) => kind === 'tool.finished')
  const reply = await world.daemon.call('POST', `/sessions/${id}/prompt`, { body: { text: 'and be quick about it' } })
  assert.equal(reply.status, 200)
  await world.simulator.waitForRequest(request => JSON.stringify(request).includes('and be quick about it'))
  assert.equal((await world.daemon.call('POST', `/sessions/${id}/stop`)).body.status, 'stopped')
})

test('no new session is started while the daemon stops', async t => {
  const world = await agentSessions(t, SCENARIO)
  await sleeping(world)
  world.daemon.child.kill('SIGTERM')
  const replies: (string | undefined)[] = []
  for (;;) {
    const body = { project: world.project, task: 'stall', env: world.env }
    const reply = await world.daemon.call('POST', '/sessions', { body }).catch(() => undefined)
    if (!reply) break
    replies.push(reply.body.error?.code ?? reply.body.status)
  }
  assert.equal(await world.daemon.ended, 0)
  await using store = await openStore({ file: world.daemon.paths.database })
  for (const row of await store.sessions.list()) assert.equal(row.state, 'ended', JSON.stringify(replies))
})

test('settings of an untrusted project are left out and the session says so', async t => {
  const world = await agentSessions(t, SCENARIO, { shared })
  writeFileSync(join(world.project, '.perpetualcc.toml'), '[agents]\npath = "/bin/false"\n')
  writeFileSync(join(world.project, '.mcp.json'), '{"mcpServers":{"x":{"command":"touch","args":["owned"]}}}')
  const { id } = await world.start('work on and on')
  const stream = await world.daemon.stream(`/events?session=${id}`)
  const seen = await stream.until(({ kind }) => kind === 'tool.finished')
  const notes = bodiesOf(seen, 'session.noted').map(({ text }) => text)
  assert.match(notes.join('\n'), /agents\.path/)
  assert.match(notes.join('\n'), /pcc trust/)
  assert.equal(existsSync(join(world.project, 'owned')), false)
  await world.daemon.call('POST', `/sessions/${id}/stop`)
})
