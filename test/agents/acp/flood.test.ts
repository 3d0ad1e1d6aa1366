import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { stage } from './stage.ts'

const MEGABYTE = 1_000_000
const END = { answer: { stopReason: 'end_turn' } }

/** The memory that is really held, after garbage collection. */
function held(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

test('of a hundred thousand updates that nobody reads the agent keeps most to itself, and none is lost', async t => {
  const rawOutput = 'x'.repeat(400)
  const update = { sessionUpdate: 'tool_call', toolCallId: 'call-{at}', kind: 'execute', status: 'failed', rawOutput }
  const before = held()
  const { talk, heard } = await stage(t, { prompt: [{ flood: 100_000, update }, END] })
  await talk.until('tool_result')
  // Nobody reads any more: the agent blocks, and unsent messages stay in its own memory.
  const sent = () => Number(heard().findLast(one => one.method === 'flooded')?.params?.['at'] ?? 0)
  for (let last = -1; sent() !== last && sent() < 100_000; await sleep(1500)) last = sent()
  assert.ok(sent() < 20_000, `it had said ${sent()} before anybody read them`)
  const unread = held() - before
  let results = 1
  let most = 0
  for await (const event of talk.session.events) {
    if (event.kind === 'tool_result') results++
    if (results % 20_000 === 0) most = Math.max(most, held() - before)
    if (event.kind === 'turn_ended') break
  }
  assert.equal(results, 100_000)
  assert.ok(unread < 20 * MEGABYTE, `${unread} bytes more while nobody read`)
  assert.ok(most < 20 * MEGABYTE, `${most} bytes more while it was read`)
  t.diagnostic(`held: ${(unread / MEGABYTE).toFixed(1)} MB unread, ${(most / MEGABYTE).toFixed(1)} MB while reading`)
})

test('a text in a hundred thousand pieces is told in a few events', async t => {
  const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'abcdefghij' } }
  const { talk } = await stage(t, { prompt: [{ flood: 100_000, update }, END] })
  assert.equal((await talk.turn()).outcome, 'completed')
  const texts = talk.all('text')
  assert.equal(
    texts.reduce((sum, { text }) => sum + text.length, 0),
    1_000_000,
  )
  assert.ok(texts.length < 200, `${texts.length} events`)
})

test('a flood does not keep a session from being closed', async t => {
  const update = { sessionUpdate: 'tool_call', toolCallId: 'call-{at}', kind: 'execute', status: 'failed' }
  const { talk } = await stage(t, { prompt: [{ flood: 1_000_000, update }, END] })
  await talk.until('tool_result')
  await talk.close()
  assert.equal(talk.all('ended')[0]?.reason, 'closed')
  assert.equal(talk.all('turn_ended')[0]?.outcome, 'interrupted')
})
