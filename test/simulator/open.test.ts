import assert from 'node:assert/strict'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AppError } from '../../src/base/errors.ts'
import { openSimulator } from '../../src/simulator/open.ts'
import { type LoggedRequest, openRequestLog } from '../../src/simulator/request-log.ts'
import { tempDir } from '../support/world.ts'
import { assistant, post, result, say, user } from './client.ts'

const SCENARIO = `
conversations:
  - name: greeting
    match: say hello
    turns:
      - text: Hello.
        tools:
          - Bash: { command: date }
      - text: It is late.
`

test('a conversation is answered turn by turn, the turn read from the request alone', async () => {
  await using simulator = await openSimulator({ text: SCENARIO })
  const first = await say(simulator.url, [user('please say hello')])
  assert.equal(first.stop_reason, 'tool_use')
  assert.deepEqual(
    first.content?.map(({ type, name, input }) => ({ type, name, input })),
    [
      { type: 'text', name: undefined, input: undefined },
      { type: 'tool_use', name: 'Bash', input: { command: 'date' } },
    ],
  )
  const second = await say(simulator.url, [user('please say hello'), assistant(first.content), result('late')])
  assert.equal(second.text, 'It is late.')
  assert.equal(second.stop_reason, 'end_turn')
})

test('the same request gets the same turn from another simulator, with ids of its own', async () => {
  const messages = [user('say hello'), assistant('Hello.'), result('late')]
  const replies = []
  for (let round = 0; round < 2; round++) {
    await using simulator = await openSimulator({ text: SCENARIO })
    replies.push(await say(simulator.url, messages))
  }
  assert.deepEqual(
    replies.map(reply => reply.text),
    ['It is late.', 'It is late.'],
  )
  assert.notEqual(replies[0]?.id, replies[1]?.id)
})

test('every request is logged in memory and in the file, without the key', async t => {
  const log = join(tempDir(t), 'log.jsonl')
  await using simulator = await openSimulator({ text: SCENARIO, log })
  const waiting = simulator.waitForRequest(request => request.turn === 'greeting.turns[1]')
  await say(simulator.url, [user('say hello')])
  await say(simulator.url, [user('say hello'), assistant('Hello.'), result('late', true)])
  const seen = await waiting
  assert.deepEqual(seen.tool_results, [{ text: 'late', failed: true }])
  assert.equal(seen.conversation, 'greeting')
  const lines = readFileSync(log, 'utf8').trim().split('\n')
  assert.equal(lines.length, 2)
  assert.deepEqual(
    lines.map(line => JSON.parse(line).turn),
    ['greeting.turns[0]', 'greeting.turns[1]'],
  )
  assert.ok(!lines.join().includes('sk-ant-fake'))
  assert.match(seen.headers['x-api-key'] ?? '', /^sha256:[0-9a-f]{12}$/)
})

test('a port that is taken is refused with its number', async () => {
  await using simulator = await openSimulator({ text: SCENARIO })
  await assert.rejects(openSimulator({ text: SCENARIO, port: simulator.port }), (error: unknown) => {
    assert.ok(error instanceof AppError)
    assert.equal(error.code, 'port_taken')
    assert.equal(error.detail['port'], simulator.port)
    return true
  })
})

test('closing ends the listener, and a simulator on the same port goes on', async () => {
  const first = await openSimulator({ text: SCENARIO })
  await say(first.url, [user('say hello')])
  await first.close()
  await assert.rejects(post(first.url, [user('say hello')]))
  await using second = await openSimulator({ text: SCENARIO, port: first.port })
  const reply = await say(second.url, [user('say hello'), assistant('Hello.'), result('late')])
  assert.equal(reply.text, 'It is late.')
})

test('a request that comes after the log was closed is written to nobody else’s file', t => {
  const dir = tempDir(t)
  const log = openRequestLog({ file: join(dir, 'log'), keep: 1, onRequest: undefined })
  log.close()
  const next = openSync(join(dir, 'next'), 'a') // gets the descriptor that was just closed
  log.add({} as LoggedRequest)
  log.close()
  closeSync(next)
  assert.deepEqual([readFileSync(join(dir, 'log'), 'utf8'), readFileSync(join(dir, 'next'), 'utf8')], ['', ''])
})
