import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import type { Log } from '../../src/base/log.ts'
import { type AnswerHook, openHookListener, readListener, reserveListener } from '../../src/daemon/hook-listener.ts'
import { tempDir } from '../support/world.ts'

const log = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} } as unknown as Log

async function listening(t: TestContext, answer: AnswerHook) {
  const paths = { home: tempDir(t) }
  const place = await reserveListener(paths)
  const listener = openHookListener(paths, { answer, log })
  t.after(() => listener[Symbol.asyncDispose]())
  assert.equal(await listener.open(), place.port)
  const ask = (change: { path?: string; method?: string; headers?: Record<string, string>; body?: string } = {}) =>
    new Promise<{ status: number; body: string }>((resolve, reject) => {
      const { path = '/hooks/claude/PreToolUse', method = 'POST', body = '{"tool_name":"Bash"}' } = change
      const standard = { authorization: `Bearer ${place.key}`, 'content-type': 'application/json' }
      const call = request({
        ...{ host: '127.0.0.1', port: place.port, path, method, agent: false },
        headers: { ...standard, ...change.headers },
      })
      call.once('error', reject)
      call.once('response', async reply => resolve({ status: reply.statusCode ?? 0, body: await text(reply) }))
      call.end(body)
    })
  return { ask, listener, paths, place }
}

const output = (stdout: string, exit = 0) => ({ stdout, stderr: exit === 0 ? '' : 'no', exit })

test('a hook gets its answer, silence is an empty reply, and a refusal is an error, which blocks the call', async t => {
  const answers = [output('{"a":1}'), output(''), output('', 2)]
  const asked: unknown[] = []
  const { ask } = await listening(t, async ({ native, body }) => {
    asked.push(native, body)
    return answers.shift() ?? assert.fail()
  })
  assert.deepEqual(await ask(), { status: 200, body: '{"a":1}' })
  assert.deepEqual(await ask(), { status: 204, body: '' })
  assert.deepEqual(await ask(), { status: 500, body: 'no' })
  assert.deepEqual(asked.slice(0, 2), ['PreToolUse', { tool_name: 'Bash' }])
})

test('whatever is not plainly a hook of Claude Code is refused and never judged', async t => {
  const { ask, place } = await listening(t, async () => assert.fail('it was judged'))
  const refused: [Parameters<typeof ask>[0], number][] = [
    [{ headers: { authorization: '' } }, 401],
    [{ headers: { authorization: `Bearer ${place.key}x` } }, 401],
    [{ headers: { host: `localhost:${place.port}` } }, 403],
    [{ headers: { host: 'evil.example' } }, 403],
    [{ headers: { origin: 'https://evil.example' } }, 403],
    [{ method: 'GET' }, 405],
    [{ headers: { 'content-type': 'text/plain' } }, 415],
    [{ path: '/health' }, 404],
    [{ path: '/sessions' }, 404],
    [{ path: '/hooks/codex/PreToolUse' }, 404],
    [{ path: '/hooks/claude/../../sessions' }, 404],
    [{ body: 'no json' }, 500],
    [{ body: JSON.stringify('x'.repeat(8_000_000)) }, 413],
  ]
  for (const [change, status] of refused)
    assert.equal((await ask(change)).status, status, JSON.stringify(change).slice(0, 80))
})

test('the port and the key stay, a taken port is reported, and a file that others could read does not count', async t => {
  const { listener, paths, place } = await listening(t, async () => output(''))
  assert.deepEqual(await reserveListener(paths), place)
  await listener[Symbol.asyncDispose]()
  const squatter = createServer().listen(place.port, '127.0.0.1')
  t.after(() => squatter.close())
  const next = openHookListener(paths, { answer: async () => output(''), log })
  assert.equal(await next.open(), undefined)
  await next[Symbol.asyncDispose]()
  chmodSync(join(paths.home, 'hooks/listener.json'), 0o644)
  assert.equal(readListener(paths), undefined)
})

test('a daemon that stops ends a hook that is being judged', async t => {
  const { promise: begun, resolve } = Promise.withResolvers<AbortSignal>()
  const { ask, listener } = await listening(t, ({ signal }) => {
    resolve(signal)
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
  })
  const asked = ask().catch((error: Error) => error)
  const signal = await begun
  await listener[Symbol.asyncDispose]()
  assert.ok(signal.aborted)
  assert.ok((await asked) instanceof Error)
})
