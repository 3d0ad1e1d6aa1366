import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openSimulator } from '../../src/simulator/open.ts'
import { tempDir } from '../support/world.ts'
import { post, say, user } from './client.ts'

const scenario = (fault: string, more = '') => `conversations: [{ match: go, turns: [{ fault: ${fault} }${more}] }]`
const withAnswer = (fault: string) =>
  `conversations: [{ match: go, turns: [{ fault: ${fault}, text: "a text long enough to be sent in at least two pieces, see" }] }]`

test('faults that refuse come with the vendor’s status and type', async t => {
  const cases: [string, number, string, RegExp][] = [
    ['limit', 429, 'rate_limit_error', /rate limit/],
    ['rate_limit', 429, 'rate_limit_error', /rate limit/],
    ['overloaded', 529, 'overloaded_error', /Overloaded/],
    ['server_error', 500, 'api_error', /Internal server error/],
    ['unauthorized', 401, 'authentication_error', /x-api-key/],
    ['forbidden', 403, 'permission_error', /permission/],
    ['model_not_found', 404, 'not_found_error', /model: claude-test/],
    ['credit_too_low', 400, 'invalid_request_error', /credit balance is too low/],
    ['prompt_too_long', 400, 'invalid_request_error', /prompt is too long/],
    ['{ kind: http, status: 418, type: teapot, message: short }', 418, 'teapot', /short/],
  ]
  for (const [fault, status, type, message] of cases) {
    await t.test(fault, async () => {
      await using simulator = await openSimulator({ text: scenario(fault) })
      for (const stream of [true, false]) {
        const reply = await say(simulator.url, [user('go')], { stream })
        assert.equal(reply.status, status)
        assert.equal(reply.error?.type, type)
        assert.match(reply.error?.message ?? '', message)
      }
    })
  }
})

test('a subscription limit carries every header, with the reset as given', async () => {
  const now = Date.parse('2030-01-01T00:00:00Z')
  const text = scenario('{ kind: limit, window: seven_day, resets: 2030-01-01T05:00:00Z }')
  await using simulator = await openSimulator({ text, clock: { now: () => now } })
  const { headers } = await post(simulator.url, [user('go')])
  const unified = (name: string) => headers.get(`anthropic-ratelimit-unified-${name}`)
  const reset = String(now / 1000 + 5 * 3600)
  assert.equal(unified('status'), 'rejected')
  assert.equal(unified('representative-claim'), 'seven_day')
  assert.equal(unified('reset'), reset)
  assert.equal(unified('7d-status'), 'rejected')
  assert.equal(unified('7d-reset'), reset)
  assert.equal(unified('7d-utilization'), '1')
  assert.equal(unified('5h-status'), 'allowed')
  assert.equal(unified('overage-status'), 'rejected')
  assert.equal(headers.get('retry-after'), String(5 * 3600))
})

test('the reset of a limit may be relative, or seconds, or follow from until', async () => {
  const now = 1_900_000_000_000
  for (const [fault, reset] of [
    ['{ kind: limit, resets: +90s }', 1_900_000_090],
    ['{ kind: limit, resets: 1900000500 }', 1_900_000_500],
    ['{ kind: limit, until: 2030-06-01T00:00:00Z }', Date.parse('2030-06-01T00:00:00Z') / 1000],
    ['limit', 1_900_000_000 + 5 * 3600],
  ] as const) {
    await using simulator = await openSimulator({ text: scenario(fault), clock: { now: () => now } })
    const { headers } = await post(simulator.url, [user('go')])
    assert.equal(headers.get('anthropic-ratelimit-unified-5h-reset'), String(reset), fault)
  }
})

test('an API-key limit says when to come again', async () => {
  await using simulator = await openSimulator({ text: scenario('{ kind: rate_limit, retry_after: 7 }') })
  const { headers } = await post(simulator.url, [user('go')])
  assert.equal(headers.get('retry-after'), '7')
  assert.equal(headers.get('anthropic-ratelimit-requests-remaining'), '0')
  assert.equal(headers.get('anthropic-ratelimit-unified-status'), null)
})

test('headers on a good answer tell how much of the windows is used', async () => {
  const now = 1_900_000_000_000
  const text = `
defaults:
  rate_limits: { five_hour: { utilization: 0.2, resets: +1h } }
  headers: { x-from: defaults }
conversations:
  - match: low
    turns: [{ text: fine }]
  - match: high
    turns:
      - text: soon over
        rate_limits:
          status: allowed_warning
          five_hour: { utilization: 0.91, resets: +1h, status: allowed_warning, surpassed_threshold: 0.9 }
          seven_day: { utilization: 0.42, resets: +2d }
`
  await using simulator = await openSimulator({ text, clock: { now: () => now } })
  const low = (await post(simulator.url, [user('low')])).headers
  assert.equal(low.get('anthropic-ratelimit-unified-5h-utilization'), '0.2')
  assert.equal(low.get('anthropic-ratelimit-unified-5h-surpassed-threshold'), null)
  assert.equal(low.get('x-from'), 'defaults')
  const high = (await post(simulator.url, [user('high')])).headers
  assert.equal(high.get('anthropic-ratelimit-unified-status'), 'allowed_warning')
  assert.equal(high.get('anthropic-ratelimit-unified-5h-surpassed-threshold'), '0.9')
  assert.equal(high.get('anthropic-ratelimit-unified-7d-reset'), String(now / 1000 + 2 * 86_400))
})

test('a cut stream delivers so many events and then tears the connection', async () => {
  await using simulator = await openSimulator({ text: withAnswer('{ kind: cut_stream, after: 3, times: 1 }') })
  const { text, failed } = await readAll(await post(simulator.url, [user('go')], { stream: true }))
  assert.deepEqual(eventsIn(text), ['message_start', 'content_block_start', 'content_block_delta'])
  assert.ok(failed)
  const again = await readAll(await post(simulator.url, [user('go')], { stream: true }))
  assert.ok(!again.failed && eventsIn(again.text).includes('message_stop'))
})

test('a malformed event is not JSON, and an error event is an error in the stream', async () => {
  for (const [kind, last] of [
    ['malformed_event', /data: \{"type":"content_block_delta","index":0,"delta":\{"type":"te\n\n$/],
    ['error_event', /event: error\ndata: \{"type":"error","error":\{"type":"overloaded_error"/],
  ] as const) {
    await using simulator = await openSimulator({ text: withAnswer(`{ kind: ${kind}, times: 1 }`) })
    const { text } = await readAll(await post(simulator.url, [user('go')], { stream: true }))
    assert.match(text, last)
    assert.ok(!eventsIn(text).includes('message_stop'))
  }
})

test('without streaming the same faults spoil the body', async () => {
  for (const kind of ['cut_stream', 'malformed_event', 'error_event']) {
    await using simulator = await openSimulator({ text: withAnswer(`{ kind: ${kind}, times: 1 }`) })
    const response = await post(simulator.url, [user('go')])
    if (kind === 'error_event') assert.equal(response.status, 529)
    else await assert.rejects(response.json(), kind)
    assert.equal((await say(simulator.url, [user('go')])).stop_reason, 'end_turn')
  }
})

test('a reset connection gives no answer at all', async () => {
  await using simulator = await openSimulator({ text: scenario('reset') })
  await assert.rejects(post(simulator.url, [user('go')]), (error: Error) => {
    assert.equal((error.cause as NodeJS.ErrnoException).code, 'ECONNRESET')
    return true
  })
  assert.equal(simulator.requests[0]?.response, 'reset')
})

test('a stall lasts until the client leaves', async () => {
  await using simulator = await openSimulator({ text: scenario('{ kind: stall, after: 1 }') })
  const leaving = new AbortController()
  const response = await post(simulator.url, [user('go')], { stream: true, signal: leaving.signal })
  const reader = response.body?.getReader()
  const first = await reader?.read()
  assert.deepEqual(eventsIn(new TextDecoder().decode(first?.value)), ['message_start'])
  const next = reader?.read()
  leaving.abort()
  await assert.rejects(next ?? Promise.resolve(), { name: 'AbortError' })
})

test('closing ends a stall and a long latency at once', async () => {
  const slow = 'conversations: [{ match: go, turns: [{ text: late, latency: 3600000 }] }]'
  for (const text of [scenario('stall'), slow]) {
    const simulator = await openSimulator({ text })
    const waiting = post(simulator.url, [user('go')]).then(
      () => 'answered',
      () => 'ended',
    )
    await simulator.waitForRequest(request => request.prompt === 'go')
    await simulator.close()
    assert.equal(await waiting, 'ended')
  }
})

test('a refusal is an empty answer that stops with refusal', async () => {
  await using simulator = await openSimulator({ text: scenario('refusal') })
  const reply = await say(simulator.url, [user('go')])
  assert.deepEqual([reply.content, reply.stop_reason], [[], 'refusal'])
})

test('until a date: the fault ends by the clock, in a simulator that was restarted too', async () => {
  const text = scenario('{ kind: overloaded, until: 2030-01-01T00:00:00Z }', ', { text: fine }')
  const end = Date.parse('2030-01-01T00:00:00Z')
  let now = end - 1
  await using simulator = await openSimulator({ text, clock: { now: () => now } })
  assert.equal((await say(simulator.url, [user('go')])).status, 529)
  now = end
  assert.equal((await say(simulator.url, [user('go')])).text, 'fine')
  await using restarted = await openSimulator({ text, clock: { now: () => now } })
  assert.equal((await say(restarted.url, [user('go')])).text, 'fine')
})

test('until a time from the start counts from the start of the simulator', async () => {
  const text = scenario('{ kind: overloaded, until: +10s }', ', { text: fine }')
  let now = 1_000_000
  await using simulator = await openSimulator({ text, clock: { now: () => now } })
  now += 9_999
  assert.equal((await say(simulator.url, [user('go')])).status, 529)
  now += 1
  assert.equal((await say(simulator.url, [user('go')])).text, 'fine')
})

test('until a file exists: beside the scenario, or where the template says', async t => {
  const dir = tempDir(t)
  const file = join(dir, 'x.yaml')
  writeFileSync(
    file,
    `conversations:
  - match: go
    turns:
      - fault: { kind: limit, until_file: open }
      - fault: { kind: overloaded, until_file: "{{cwd}}/calm" }
      - text: fine
`,
  )
  await using simulator = await openSimulator({ file })
  const ask = () => say(simulator.url, [user('go')], { system: `Primary working directory: ${dir}\n` })
  assert.equal((await ask()).status, 429)
  writeFileSync(join(dir, 'open'), '')
  assert.equal((await ask()).status, 529)
  writeFileSync(join(dir, 'calm'), '')
  assert.equal((await ask()).text, 'fine')
})

test('times is counted for each session by itself', async () => {
  const text = scenario('{ kind: overloaded, times: 2 }', ', { text: fine }')
  await using simulator = await openSimulator({ text })
  const statuses = async (session: string) => {
    const seen = []
    for (let round = 0; round < 3; round++) {
      const headers = { 'x-claude-code-session-id': session }
      seen.push((await say(simulator.url, [user('go')], { headers })).status)
    }
    return seen
  }
  assert.deepEqual(await Promise.all([statuses('a'), statuses('b')]), [
    [529, 529, 200],
    [529, 529, 200],
  ])
})

async function readAll(response: Response): Promise<{ text: string; failed: boolean }> {
  let text = ''
  try {
    for await (const chunk of response.body ?? []) text += new TextDecoder().decode(chunk)
  } catch {
    return { text, failed: true }
  }
  return { text, failed: false }
}

function eventsIn(text: string): string[] {
  return [...text.matchAll(/^event: (.*)$/gm)].map(match => match[1] ?? '')
}
