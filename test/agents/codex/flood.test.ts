import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { stage } from './stage.ts'

const MEGABYTE = 1_000_000
const COUNT = 20_000

/** The memory that is really held, after garbage collection. */
function held(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

test('of a flood that nobody reads Codex keeps most to itself, none is lost, and little is remembered', async t => {
  const done = {
    type: 'commandExecution',
    id: 'c-{at}',
    command: 'x',
    status: 'declined',
    aggregatedOutput: 'x'.repeat(400),
  }
  const before = held()
  const { talk, heard } = await stage(t, { turn: [{ flood: COUNT, done }, { over: 'completed' }] })
  await talk.until('tool_result')
  const sent = () => Number(heard().findLast(one => one.method === 'flooded')?.params?.['at'] ?? 0)
  for (let last = -1; sent() !== last && sent() < COUNT; await sleep(1000)) last = sent()
  assert.ok(sent() < COUNT / 2, `it had said ${sent()} before anybody read them`)
  const unread = held() - before
  let results = 1
  let most = 0
  for await (const event of talk.session.events) {
    if (event.kind === 'tool_result') results++
    if (results % 5000 === 0) most = Math.max(most, held() - before)
    if (event.kind === 'turn_ended') break
  }
  assert.equal(results, COUNT)
  assert.ok(unread < 20 * MEGABYTE, `${unread} bytes more while nobody read`)
  assert.ok(most < 20 * MEGABYTE, `${most} bytes more while it was read`)
  t.diagnostic(`held: ${(unread / MEGABYTE).toFixed(1)} MB unread, ${(most / MEGABYTE).toFixed(1)} MB while reading`)
})
