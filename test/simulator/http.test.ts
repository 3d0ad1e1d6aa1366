import assert from 'node:assert/strict'
import { existsSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { AppError } from '../../src/base/errors.ts'
import { openSimulator } from '../../src/simulator/open.ts'
import { tempDir } from '../support/world.ts'
import { assistant, post, result, say, user } from './client.ts'

const ONE = 'conversations: [{ name: one, match: go, turns: [{ text: fine }] }]'

test('GET and HEAD of the root are tolerated; every other path is refused in words', async () => {
  await using simulator = await openSimulator({ text: ONE })
  assert.equal((await fetch(simulator.url)).status, 200)
  assert.equal((await fetch(simulator.url, { method: 'HEAD' })).status, 200)
  const other = await fetch(`${simulator.url}/v1/models`)
  assert.equal(other.status, 404)
  const body = (await other.json()) as { type: string; error: { type: string; message: string } }
  assert.equal(body.error.type, 'not_found_error')
  assert.match(body.error.message, /GET \/v1\/models; it serves POST \/v1\/messages/)
  assert.deepEqual(
    simulator.requests.map(request => request.response),
    ['hello', 'hello', 'refused'],
  )
})

test('a web page is refused, by its Origin and by a Host that is not this machine', async () => {
  await using simulator = await openSimulator({ text: ONE })
  const ask = (headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      const body = JSON.stringify({ model: 'm', max_tokens: 9, messages: [user('go')] })
      const sent = request(`${simulator.url}/v1/messages`, { method: 'POST', headers }, reply => {
        reply.resume()
        resolve(reply.statusCode)
      })
      sent.on('error', reject).end(body)
    })
  assert.equal(await ask({}), 200)
  assert.equal(await ask({ host: `localhost:${simulator.port}` }), 200)
  assert.equal(await ask({ host: 'evil.example' }), 421)
  assert.equal(await ask({ host: `127.0.0.1.evil.example:${simulator.port}` }), 421)
  assert.equal(await ask({ origin: 'https://evil.example' }), 421)
  assert.equal(await ask({ origin: simulator.url }), 421)
})

test('a body that is no request is refused and the simulator goes on', async () => {
  await using simulator = await openSimulator({ text: ONE })
  const bodies = ['{', '[]', '{"model":"m","messages":[]}', '{"model":"m","messages":[{"role":"user"}]}', '']
  for (const body of bodies) {
    const response = await fetch(`${simulator.url}/v1/messages`, { method: 'POST', body })
    assert.equal(response.status, 400, body)
    const { error } = (await response.json()) as { error: { type: string } }
    assert.equal(error.type, 'invalid_request_error')
  }
  assert.equal((await say(simulator.url, [user('go')])).text, 'fine')
})

test('a body past the vendor’s limit is refused with 413', async () => {
  await using simulator = await openSimulator({ text: ONE })
  const body = Buffer.alloc(33_000_000, 'x')
  const response = await fetch(`${simulator.url}/v1/messages`, { method: 'POST', body }).catch((error: Error) => error)
  // The refusal may arrive before the last byte left; a client then sees either the status or a closed connection.
  if (response instanceof Response) assert.equal(response.status, 413)
  await simulator.waitForRequest(request => request.status === 413)
})

test('tokens are counted without a scenario', async () => {
  await using simulator = await openSimulator({ text: ONE })
  const body = JSON.stringify({ model: 'm', messages: [user('unknown to the scenario')] })
  const response = await fetch(`${simulator.url}/v1/messages/count_tokens?beta=true`, { method: 'POST', body })
  assert.deepEqual(await response.json(), { input_tokens: Math.ceil(body.length / 4) })
})

test('an unknown prompt is a 400 that forbids a retry', async () => {
  await using simulator = await openSimulator({ text: ONE })
  const response = await post(simulator.url, [user('what?')])
  assert.equal(response.status, 400)
  assert.equal(response.headers.get('x-should-retry'), 'false')
  assert.equal(simulator.requests[0]?.response, 'unmatched')
  assert.equal((await say(simulator.url, [user('go'), assistant('fine'), user('on')])).status, 400)
  assert.deepEqual([simulator.requests[1]?.response, simulator.requests[1]?.conversation], ['exhausted', 'one'])
})

test('nothing but loopback is listened on', async t => {
  await using simulator = await openSimulator({ text: ONE })
  const outside = Object.values(networkInterfaces()).flatMap(list => (list ?? []).filter(one => !one.internal))
  t.diagnostic(`${outside.length} addresses that are not loopback`)
  for (const { address, family } of outside) {
    const host = family === 'IPv6' ? `[${address.replace(/%.*/, '')}]` : address
    await assert.rejects(fetch(`http://${host}:${simulator.port}/`), host)
  }
  assert.match(simulator.url, /^http:\/\/127\.0\.0\.1:\d+$/)
})

test('templates are filled from the request, once, and other braces stay', async () => {
  const text = `
conversations:
  - match: go
    turns:
      - text: "{{cwd}} | {{prompt}} | {{last_tool_result}} | {{model}} | {{first_prompt}} | {{constructor}} | \${{ matrix.os }}"
        tools: [{ Write: { file_path: "{{cwd}}/a", lines: ["{{prompt}}", 3] } }]
`
  await using simulator = await openSimulator({ text })
  const reply = await say(
    simulator.url,
    [
      user([
        { type: 'text', text: 'go {{model}}' },
        { type: 'tool_result', content: 'ok' },
      ]),
    ],
    {
      system: 'Primary working directory: /tmp/p\nmore',
    },
  )
  const first = 'go {{model}}'
  assert.equal(reply.text, `/tmp/p | ${first} | ok | claude-test | ${first} | {{constructor}} | \${{ matrix.os }}`)
  assert.deepEqual(reply.content?.[1]?.input, { file_path: '/tmp/p/a', lines: [first, 3] })
})

test('a name with a star calls the first tool on offer that fits it', async () => {
  const text =
    'conversations: [{ match: go, turns: [{ tools: [{ mcp__pcc_*__log: {} }, { mcp__x-*__log: {} }, { Read: {} }] }] }]'
  await using simulator = await openSimulator({ text })
  const tools = ['mcp__other__log', 'mcp__pcc_1a__add', 'mcp__pcc_1a__log', 'mcp__pcc_2b__log'].map(name => ({ name }))
  const reply = await say(simulator.url, [user('go')], { tools })
  assert.deepEqual(
    reply.content?.map(({ name }: { name?: string }) => name),
    ['mcp__pcc_1a__log', 'mcp__x-__log', 'Read'],
    'one that nobody offers is called all the same',
  )
})

test('expectations that do not hold are logged with their keys and the answer is given all the same', async () => {
  const text = `
conversations:
  - match: go
    turns:
      - expect:
          prompt_contains: go
          prompt_regex: "^stop"
          note_contains: hook says
          system_contains: You are
          offers_tool: Bash
          tool_failed: false
          history_contains: elsewhere
          not: { prompt_contains: go }
        text: fine
      - expect: { tool_failed: false, tool_result_contains: ok, tool_result_regex: "k$", history_contains: fine }
        text: good
`
  await using simulator = await openSimulator({ text })
  const messages = [user('go'), { role: 'system' as const, content: 'the hook says no' }]
  assert.equal((await say(simulator.url, messages)).text, 'fine')
  assert.deepEqual(simulator.requests[0]?.unexpected, [
    'prompt_regex',
    'tool_failed',
    'system_contains',
    'offers_tool',
    'history_contains',
    'not',
  ])
  await say(simulator.url, messages, { system: 'You are', tools: [{ name: 'Bash' }] })
  assert.deepEqual(simulator.requests[1]?.unexpected, ['prompt_regex', 'tool_failed', 'history_contains', 'not'])
  await say(simulator.url, [user('go'), assistant('fine'), result('ok')])
  assert.deepEqual(simulator.requests[2]?.unexpected, [])
})

test('a hundred conversations at once each get their own turns', async () => {
  const turns = Array.from({ length: 5 }, (_, at) => ({ text: `turn ${at} for {{first_prompt}}` }))
  const text = JSON.stringify({ conversations: [{ match: 'job', turns }] })
  await using simulator = await openSimulator({ text })
  const talk = async (name: string) => {
    const messages = [user(name)]
    for (let at = 0; at < turns.length; at++) {
      const reply = await say(simulator.url, messages)
      assert.equal(reply.text, `turn ${at} for ${name}`)
      messages.push(assistant(reply.content), user('on'))
    }
  }
  await Promise.all(Array.from({ length: 100 }, (_, at) => talk(`job ${at}`)))
  assert.equal(new Set(simulator.requests.map(request => request.id)).size, 500)
})

test('memory keeps the latest requests only, and a wait can be given up', async () => {
  await using simulator = await openSimulator({ text: ONE, keep: 2 })
  for (const prompt of ['go 1', 'go 2', 'go 3']) await say(simulator.url, [user(prompt)])
  assert.deepEqual(
    simulator.requests.map(request => request.prompt),
    ['go 2', 'go 3'],
  )
  const patience = new AbortController()
  const waiting = simulator.waitForRequest(() => false, patience.signal)
  patience.abort(new Error('enough'))
  await assert.rejects(waiting, /enough/)
  await assert.rejects(
    simulator.waitForRequest(() => false, AbortSignal.abort(new Error('before'))),
    /before/,
  )
})

test('the log is readable by its owner only, and one that cannot be written is refused before anything is served', async t => {
  const dir = tempDir(t)
  const log = join(dir, 'log.jsonl')
  await using simulator = await openSimulator({ text: ONE, log })
  assert.ok(existsSync(log))
  assert.equal(statSync(log).mode & 0o777, 0o600)
  await simulator.close()
  await assert.rejects(openSimulator({ text: ONE, log: join(dir, 'absent', 'log.jsonl') }), (error: unknown) => {
    assert.ok(error instanceof AppError && error.code === 'usage')
    assert.match(error.message, /log file .*absent/)
    return true
  })
})

test('pieces are paced: the next one is not sent before its time, and closing ends the wait', async () => {
  const text = 'conversations: [{ match: go, turns: [{ text: fine, latency: { delta_ms: 3600000 } }] }]'
  await using simulator = await openSimulator({ text })
  const response = await post(simulator.url, [user('go')], { stream: true })
  let seen = ''
  const reading = (async () => {
    for await (const chunk of response.body ?? []) {
      seen += new TextDecoder().decode(chunk)
      if (seen.includes('content_block_delta')) void simulator.close()
    }
  })()
  await assert.rejects(reading)
  assert.ok(seen.includes('"text":"fine"'))
  assert.ok(!seen.includes('content_block_stop'))
})
