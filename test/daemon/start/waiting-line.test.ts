import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findMarked } from '../../../src/base/process/sweep.ts'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'
import { inProcess } from '../in-process.ts'
import { sharedDaemon } from '../shared-daemon.ts'
import { warmProcess } from './warm-process.ts'

const SCENARIO = `
conversations:
  - match: the long one
    turns:
      - { text: Working., latency: 4000 }
  - match: the next one
    turns:
      - tools: [{ Write: { file_path: "{{cwd}}/next.txt", content: "next" } }]
      - text: Done.
  - match: the last one
    turns: [{ text: Done. }]
`

const ONE_AT_A_TIME = { PCC_SESSIONS_MAX_CONCURRENT: '1', PCC_LOGS_LEVEL: 'debug' }
const shared = sharedDaemon({ env: ONE_AT_A_TIME })

test('sessions.max_concurrent: the next session waits, its agent is started meanwhile, and it runs when there is a place', async t => {
  const world = await agentSessions(t, SCENARIO, { shared })
  const long = await world.start('Do the long one')
  const next = await world.start('Do the next one')
  const waiting = await viewWhen(world.daemon, next.id, ({ reason }) => reason !== null)
  assert.deepEqual([waiting.status, waiting.reason], ['idle', 'waits for a free slot'])
  await viewWhen(world.daemon, next.id, ({ status }) => status === 'completed')
  assert.equal((await viewWhen(world.daemon, long.id, () => true)).status, 'completed')
  assert.ok(existsSync(join(world.project, 'next.txt')))
  const notes = bodiesOf(await world.log(next.id), 'session.noted').map(({ text }) => text)
  assert.deepEqual(notes, [
    `Session ${long.id} (${long.name}) works in this directory too: they may get in each other's way.`,
    'Waits for a free slot: 1 at once (sessions.max_concurrent).',
  ])
  const log = readFileSync(join(world.daemon.paths.logs, 'agents.log'), 'utf8')
  assert.match(log, new RegExp(`session ${next.id}: takes a warm process`))
  assert.match(log, new RegExp(`session ${long.id}: starts cold`))
})

test('a session that is stopped while it waits never starts, its warm process ends, and the one behind it moves up', async t => {
  const world = await agentSessions(t, SCENARIO, { shared })
  await world.start('Do the long one')
  const next = await world.start('Do the next one')
  const last = await world.start('Do the last one')
  await viewWhen(world.daemon, next.id, ({ reason }) => reason !== null)
  const marker = await warmProcess(world.daemon.paths.database, next.id)
  const stopped = await world.daemon.call<{ status: string }>('POST', `/sessions/${next.id}/stop`)
  assert.equal(stopped.body.status, 'stopped')
  await viewWhen(world.daemon, last.id, ({ status }) => status === 'completed')
  assert.equal(existsSync(join(world.project, 'next.txt')), false)
  const prompts = world.simulator.requests.map(({ prompt }) => prompt)
  assert.deepEqual(
    ['long', 'next', 'last'].map(name => prompts.some(prompt => prompt.includes(name))),
    [true, false, true],
  )
  assert.deepEqual(await findMarked(marker), [])
})

test('a session that is paused while it waits in line leaves the line, and a resume puts it back', async t => {
  const world = await inProcess(t, SCENARIO, { env: ONE_AT_A_TIME })
  await world.start('Do the long one')
  const next = await world.start('Do the next one')
  const paused = await world.daemon.call('POST', `/sessions/${next.id}/pause`)
  assert.deepEqual([paused.status, paused.body.status], [200, 'paused'])
  const again = await world.daemon.call('POST', `/sessions/${next.id}/pause`)
  assert.deepEqual([again.status, again.body.status], [200, 'paused'], 'pausing twice changes nothing')
  const resumed = await world.daemon.call('POST', `/sessions/${next.id}/resume`)
  assert.deepEqual([resumed.status, resumed.body.status, resumed.body.queued], [200, 'idle', true])
  await viewWhen(world.daemon, next.id, ({ status }) => status === 'completed')
})
