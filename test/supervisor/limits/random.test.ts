import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Turn } from '../session/scripted-agent.ts'
import { HOUR, limit, MINUTE, ORDER, severalAgents } from './several-agents.ts'

type Fate = 'done' | 'long' | 'short' | 'outage' | 'crash' | 'login'

const FATES: Record<Fate, () => Turn> = {
  done: () => ({}),
  long: () => ({ failure: limit(5 * HOUR) }),
  short: () => ({ refused: limit(5 * MINUTE) }),
  outage: () => ({ failure: { kind: 'overloaded', message: 'overloaded' } }),
  crash: () => ({ failure: { kind: 'agent_crashed', message: 'it died' } }),
  login: () => ({ refused: { kind: 'auth', message: 'not logged in' } }),
}

const fate = fc.constantFrom<Fate>('done', 'long', 'short', 'outage', 'outage', 'long', 'crash', 'login')
const fates = fc.record({
  claude: fc.array(fate, { maxLength: 4 }),
  codex: fc.array(fate, { maxLength: 4 }),
  opencode: fc.array(fate, { maxLength: 4 }),
})

test('whatever three agents meet, one is open at a time, and the task is done once or waits for somebody', async t => {
  await fc.assert(
    fc.asyncProperty(fates, async given => {
      const left = structuredClone(given)
      const turns = Object.fromEntries(ORDER.map(name => [name, () => FATES[left[name].shift() ?? 'done']()]))
      const world = await severalAgents(t, turns)
      const id = await world.begin()
      for (let round = 0; round < 30; round++) {
        await world.ended(id, (await endings(world, id)) + (round === 0 ? 1 : 0))
        const { status, resumes_at } = await quiet(world, id)
        if (status === 'completed' || resumes_at === null) break
        world.pass(Math.max(0, resumes_at - (Date.now() + world.time.ahead)) + MINUTE)
      }
      const view = await quiet(world, id)
      assert.deepEqual(world.together, [])
      assert.ok(view.status === 'completed' || view.resumes_at === null, JSON.stringify(view))
      const done = (await world.events(id)).filter(({ kind }) => kind === 'task.finished')
      assert.equal(done.length, view.status === 'completed' ? 1 : 0)
      if (view.status !== 'completed')
        assert.equal(view.status, 'paused', 'it waits for a person after too many failures')
      await world.supervisor.close('over')
    }),
    { numRuns: 5 },
  )
})

type World = Awaited<ReturnType<typeof severalAgents>>

async function endings(world: World, id: string): Promise<number> {
  return (await world.events(id)).filter(({ kind }) => kind === 'session.ended').length
}

/** Resolves with the session when it neither runs nor is due. */
async function quiet(world: World, id: string) {
  for (;;) {
    const view = await world.view(id)
    const isDue = view.resumes_at !== null && view.resumes_at <= Date.now() + world.time.ahead
    if (!world.supervisor.run(id) && !isDue) return view
    await new Promise(resolve => setImmediate(resolve))
  }
}
