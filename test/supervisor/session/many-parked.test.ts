import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { scriptedAgent } from './scripted-agent.ts'
import { type ScriptedWorld, scriptedWorld } from './scripted-world.ts'

/** Bytes per session; 8,300 to 9,100 were measured. A leaked live session would cost 11,000 more. */
const MOST_BYTES_EACH = 11_000
const PARKED = 200
const WARM_UP = 40
const AT_ONCE = 10

test('two hundred parked sessions leave memory flat: no agent, no live session, no ask', async t => {
  const agent = scriptedAgent(() => ({ asks: true }))
  const world = await scriptedWorld(t, agent, { PCC_SESSIONS_MAX_CONCURRENT: String(AT_ONCE) })
  // The first sessions load modules on use and fill caches.
  await park(world, WARM_UP)
  const before = await heap()
  await park(world, PARKED)
  const grown = (await heap()) - before
  t.diagnostic(`${PARKED} parked sessions: ${Math.round(grown / PARKED)} bytes each`)
  assert.ok(grown / PARKED < MOST_BYTES_EACH, `${grown} bytes more for ${PARKED} parked sessions`)
  assert.equal(agent.open(), 0)
  assert.deepEqual(world.terminals.attached(), [])
  const { body } = await world.call('GET', '/escalations')
  assert.deepEqual([body.escalations.length, body.escalations[0].sessions.length], [1, PARKED + WARM_UP])
})

/** Starts sessions in batches until `count` have parked and their agents have left. */
async function park(world: ScriptedWorld, count: number): Promise<void> {
  for (let made = 0; made < count; made += AT_ONCE) {
    const ids = await Promise.all(Array.from({ length: AT_ONCE }, () => world.start('ask something')))
    await Promise.all(ids.map(id => world.ended(id, 1)))
    for (const id of ids) {
      assert.equal((await world.view(id)).status, 'waiting_input')
      while (world.supervisor.run(id)) await new Promise(resolve => setImmediate(resolve))
    }
  }
}

/** The size of the reachable heap after several collections: the first ones free what finalizers hold. */
async function heap(): Promise<number> {
  setFlagsFromString('--expose-gc')
  setFlagsFromString('--no-flush-bytecode') // otherwise compiled code is discarded in between, which is megabytes
  const collect = runInNewContext('gc') as () => void
  for (let pass = 0; pass < 3; pass += 1) {
    await new Promise(resolve => setImmediate(resolve))
    collect()
  }
  return process.memoryUsage().heapUsed
}
