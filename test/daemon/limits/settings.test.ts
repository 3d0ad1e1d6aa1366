import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { CheckpointLine } from '../../../src/domain/checkpoint.ts'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { startDaemon, viewWhen } from '../daemon-process.ts'

const limitedUntil = (until: number) => `
conversations:
  - match: part
    turns:
      - fault: { kind: limit, window: five_hour, until: ${Math.ceil(until / 1000)} }
        text: Done.
      - text: Done.
`

test('sessions.auto_resume says whether a session goes on by itself after a limit; the session’s own word comes first', async t => {
  const world = await agentSessions(t, limitedUntil(Date.now() + 7_200_000), { auth: 'oauth' })
  const off = { PCC_SESSIONS_AUTO_RESUME: 'false' }
  const limited = async (more: Parameters<typeof world.start>[1]) => {
    const { id } = await world.start('Please do part one', more)
    return viewWhen(world.daemon, id, ({ status }) => status === 'rate_limited')
  }
  assert.ok((await limited({}))?.resumes_at)
  for (const more of [{ auto_resume: false }, { settings: off }]) {
    const { resumes_at, reason } = await limited(more)
    assert.equal(resumes_at, null)
    assert.match(reason ?? '', /pcc resume s-/)
  }
  assert.ok((await limited({ auto_resume: true, settings: off })).resumes_at)
})

test('sessions.keep_environment keeps what the agent was started with in a private file until the session is over', async t => {
  const reset = Date.now() + 50_000
  const world = await agentSessions(t, limitedUntil(reset), { auth: 'oauth' })
  const dir = join(world.daemon.paths.run, 'secrets')
  const kept = (id: string) => join(dir, `${id}.json`)
  const a = await world.start('Please do part one')
  const b = await world.start('Please do part two', { settings: { PCC_SESSIONS_KEEP_ENVIRONMENT: 'false' } })
  for (const { id } of [a, b]) await viewWhen(world.daemon, id, ({ status }) => status === 'rate_limited')
  assert.deepEqual(readdirSync(dir), [`${a.id}.json`])
  assert.equal(statSync(kept(a.id)).mode & 0o777, 0o600)
  assert.equal(statSync(dir).mode & 0o777, 0o700)
  const secret = 'fake-oauth-token'
  assert.ok(readFileSync(kept(a.id), 'utf8').includes(secret))
  const elsewhere = readdirSync(world.daemon.paths.home, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.parentPath !== dir)
    .map(entry => join(entry.parentPath, entry.name))
  assert.ok(elsewhere.includes(world.daemon.paths.database))
  assert.deepEqual(
    elsewhere.filter(file => readFileSync(file).includes(secret)),
    [],
    'neither in the database nor in a log',
  )
  // Without the file only this daemon knows it, which is enough while it lives.
  for (const { id } of [a, b]) await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  // The completion of a session is reported while its agent is still exiting; there is no event for the exit.
  while (readdirSync(dir).length > 0) await new Promise(resolve => setTimeout(resolve, 10))
})

test('after a restart only what was kept goes on by itself; the rest waits for a person and says so', async t => {
  const reset = Date.now() + 40_000
  const world = await agentSessions(t, limitedUntil(reset), { auth: 'oauth' })
  const a = await world.start('Please do part one')
  const b = await world.start('Please do part two', { settings: { PCC_SESSIONS_KEEP_ENVIRONMENT: 'false' } })
  for (const { id } of [a, b]) await viewWhen(world.daemon, id, ({ status }) => status === 'rate_limited')
  const stray = join(world.daemon.paths.run, 'secrets', 's-000000.json')
  writeFileSync(stray, '{}')
  world.daemon.child.kill('SIGKILL')
  await world.daemon.ended
  const daemon = await startDaemon(t, { home: world.daemon.home })
  assert.equal(existsSync(stray), false, 'what belongs to no session is forgotten')
  await viewWhen(daemon, a.id, ({ status }) => status === 'completed')
  const left = await viewWhen(daemon, b.id, ({ status }) => status === 'paused')
  assert.match(left.reason ?? '', new RegExp(`could not go on by itself: [^]*pcc resume ${b.id}`))
  const resumed = await daemon.call('POST', `/sessions/${b.id}/resume`, { body: { env: world.env } })
  assert.equal(resumed.status, 200, JSON.stringify(resumed.body))
  await viewWhen(daemon, b.id, ({ status }) => status === 'completed')
})

test('sessions.checkpoint_minutes says after how much work where a session stands is written down', async t => {
  const scenario = `
conversations:
  - match: part
    turns:
      - tools: [{ Bash: { command: "sleep 1.5", description: Work } }]
      - text: Done.
`
  const clock = new URL('./fast-clock.ts', import.meta.url).href
  const world = await agentSessions(t, scenario, { env: { NODE_OPTIONS: `--import=${clock}` } })
  const reasons = async (minutes: string) => {
    const { id } = await world.start('Please do part one', {
      settings: { PCC_SESSIONS_CHECKPOINT_MINUTES: minutes },
    })
    await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
    assert.equal(bodiesOf(await world.log(id), 'tool.finished').length, 1)
    const { body } = await world.daemon.call<{ checkpoints: CheckpointLine[] }>('GET', `/sessions/${id}/checkpoints`)
    return body.checkpoints.map(line => ('reason' in line ? line.reason : line.problem))
  }
  assert.ok((await reasons('1')).includes('interval'))
  assert.deepEqual(await reasons('10'), [])
})
