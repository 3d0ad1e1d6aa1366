import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import fastify from 'fastify'
import { silentLog } from '../../../src/base/log.ts'
import { healthRoutes } from '../../../src/daemon/api/health.ts'
import { metricsRoutes } from '../../../src/daemon/api/metrics.ts'
import { installErrors } from '../../../src/daemon/routes/errors.ts'
import type { EventBody } from '../../../src/domain/event.ts'
import { scriptedAgent } from '../../supervisor/session/scripted-agent.ts'
import { scriptedWorld } from '../../supervisor/session/scripted-world.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const RULES = join(ROOT, 'examples/prometheus')

/** Health and metrics on a port of loopback, as other programs reach them. */
async function listening(t: TestContext) {
  const agent = scriptedAgent()
  const world = await scriptedWorld(t, agent)
  const app = fastify({ forceCloseConnections: true })
  installErrors(app, silentLog)
  healthRoutes(app, world.daemon)
  metricsRoutes(app, world.daemon)
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const { secret } = await world.daemon.keys.create({ name: 'monitor', scope: 'read' })
  const get = async (path: string, bearer: string | undefined = secret) => {
    const headers = bearer === '' ? {} : { authorization: `Bearer ${bearer}` }
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
    return { status: reply.status, type: reply.headers.get('content-type'), text: await reply.text() }
  }
  return { world, agent, get }
}

/** The samples of a scrape, by name and labels. */
function samplesIn(text: string): Map<string, number> {
  const lines = text.split('\n').filter(line => line !== '' && !line.startsWith('#'))
  return new Map(lines.map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]))
}

test('without a key health is one word, and metrics and details are refused; the token of the socket is no key', async t => {
  const { get, world } = await listening(t)
  assert.deepEqual(JSON.parse((await get('/health', '')).text), { status: 'ok' })
  assert.deepEqual(JSON.parse((await get('/health/ready', '')).text), { status: 'ready' })
  for (const path of ['/metrics', '/health/store', '/health/tmux', '/health/agents'])
    for (const bearer of ['', 'pcc_000000_x', world.daemon.token])
      assert.equal((await get(path, bearer)).status, 401, `${path} with ${bearer}`)
  assert.deepEqual(JSON.parse((await get('/health', world.daemon.token)).text), { status: 'ok' })
  assert.equal(JSON.parse((await get('/health')).text).schema, world.store.schema)
})

test('with a key, health says how the store, tmux and the agents are', async t => {
  const { get, world } = await listening(t)
  const store = JSON.parse((await get('/health/store')).text)
  assert.deepEqual([store.status, store.schema], ['ok', world.store.schema])
  assert.ok(store.used_bytes > 0 && store.latency_ms >= 0)
  const tmux = await get('/health/tmux')
  assert.equal(tmux.status, 200, 'tmux is no must: without a session in it, nothing fails')
  assert.equal(JSON.parse(tmux.text).sessions, 0)
  const agents = JSON.parse((await get('/health/agents')).text)
  assert.deepEqual([agents.status, agents.live, agents.incidents], ['ok', 0, 0])
  t.mock.method(world.store.pruning, 'usedBytes', () => Promise.reject(new Error('gone')))
  assert.equal((await get('/health/store')).status, 503)
  const ready = await get('/health/ready')
  assert.deepEqual([ready.status, JSON.parse(ready.text).status], [503, 'not ready'])
})

test('a scrape says what there is and counts what happens, and every label is a word of ours', async t => {
  const { get, world } = await listening(t)
  const first = samplesIn((await get('/metrics')).text)
  assert.equal(first.get('pcc_sessions{status="completed"}'), 0)
  const id = await world.start('paint the bikeshed in a colour that nobody guesses')
  const { project, name } = await world.when(id, ({ status }) => status === 'completed')
  const decided: EventBody<'permission.decided'> = {
    ...{ call_id: 'c', tool: 'Bash', target: 'rm -rf /srv/secret', reason: 'no', confidence: 1, latency_ms: 1 },
    verdict: 'deny',
    risk: 'HIGH',
    by: 'brain:gemini',
  }
  const limit = { window: 'five_hour', message: 'wait' }
  await world.store.append([
    { actor: 'daemon', subject: id, kind: 'permission.decided', body: decided },
    { actor: 'daemon', subject: id, kind: 'permission.decided', body: { ...decided, by: 'ada', verdict: 'allow' } },
    { actor: 'daemon', subject: id, kind: 'limit.hit', body: limit },
    {
      ...{ actor: 'daemon', subject: id, kind: 'session.ended' },
      body: { status: 'error', reason: 'gone', failure: 'agent_missing' },
    },
  ])
  const window = {
    window: 'of a vendor that invents /names',
    utilization: 0.95,
    resets_at: null,
    source: 'vendor' as const,
  }
  await world.store.quota.put('0af3', { ...window, at: Date.now() })
  await world.store.quota.put('0af3', { ...window, window: 'one_day', utilization: 0.5, at: Date.now() })
  const { text, type } = await get('/metrics')
  const samples = samplesIn(text)
  const expected = {
    'pcc_sessions{status="completed"}': 1,
    'pcc_tasks{state="done"}': 1,
    'pcc_verdicts_total{verdict="deny",risk="HIGH",decider="brain"}': 1,
    'pcc_verdicts_total{verdict="allow",risk="HIGH",decider="person"}': 1,
    'pcc_verdicts_total{verdict="allow",risk="LOW",decider="rule"}': 0,
    pcc_limits_total: 1,
    'pcc_session_failures_total{failure="agent_missing"}': 1,
    'pcc_quota_used_ratio{account="0af3",window="other",source="vendor"}': 0.95,
    'pcc_quota_used_ratio{account="0af3",window="one_day",source="vendor"}': 0.5,
    'pcc_quota_level{account="0af3",level="critical"}': 1,
    'pcc_quota_level{account="0af3",level="ok"}': 0,
    pcc_escalation_oldest_age_seconds: 0,
    pcc_incidents_open: 0,
    pcc_orphan_processes: 0,
  }
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map(key => [key, samples.get(key)])), expected)
  assert.ok((samples.get('pcc_store_write_wait_seconds') ?? -1) >= 0)
  assert.ok((samples.get('pcc_event_loop_delay_seconds{percentile="100"}') ?? -1) >= 0)
  assert.match(type ?? '', /^text\/plain; version=0\.0\.4/)
  for (const word of [project, basename(project), name, id, 'bikeshed', 'secret', 'ada', 'gemini', 'invents'])
    assert.ok(!text.includes(word), `${word} is in the metrics`)
  const checked = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
  assert.equal(checked.status, 0, `${checked.stdout}${checked.stderr}`)
})

test('the shipped alerts are rules that promtool accepts, fire when they should, and use metrics that exist', async t => {
  const { get } = await listening(t)
  for (const args of [
    ['check', 'rules', 'pcc-alerts.yaml'],
    ['test', 'rules', 'pcc-alerts.test.yaml'],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: RULES, encoding: 'utf8' })
    assert.equal(status, 0, `${stdout}${stderr}`)
  }
  const { text } = await get('/metrics')
  const page = readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8')
  const names = new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name = '']) => name))
  for (const name of names) assert.ok(page.includes(`\`${name}\``), `docs/metrics.md does not name ${name}`)
  const used = readFileSync(join(RULES, 'pcc-alerts.yaml'), 'utf8').matchAll(/\bpcc_\w+/g)
  for (const [name] of used) assert.ok(names.has(name), `the alerts use ${name}, which there is not`)
  for (const [name] of page.matchAll(/\bpcc_\w+/g)) assert.ok(names.has(name), `docs/metrics.md names ${name}`)
})
