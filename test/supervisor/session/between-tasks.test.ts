import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextRound } from 'node:timers/promises'
import { type ScriptedAgent, scriptedAgent } from './scripted-agent.ts'
import { type ScriptedWorld, scriptedWorld } from './scripted-world.ts'

const HOUR = 3_600_000
/** After how many rounds of the event loop from the end of the first task somebody acts: the session loop takes about eight. */
const ROUNDS = [0, 1, 2, 3, 4, 6, 8, 12, 16]

/** Starts the session `other` and holds it in the middle of the request that will be refused. */
async function aboutToBeRefused(agent: ScriptedAgent, world: ScriptedWorld): Promise<() => void> {
  const there = agent.holdAt('last request')
  await world.start('other')
  return there
}

for (const what of ['pause', 'stop', 'limit'] as const) {
  test(`${what} at any moment between two tasks loses neither of them`, { timeout: 60_000 }, async t => {
    for (const rounds of ROUNDS) {
      const limit = { source: 'event', message: 'full', resetsAt: Date.now() + HOUR } as const
      const refused = { failure: { kind: 'limit', message: 'full', limit } } as const
      const agent = scriptedAgent((prompt, calls) => (prompt === 'other' && calls < 5 ? refused : {}))
      const world = await scriptedWorld(t, agent)
      const refuse = what === 'limit' ? await aboutToBeRefused(agent, world) : undefined
      const over = agent.holdAt('turn over')
      const id = await world.start('first')
      assert.equal((await world.call('POST', `/sessions/${id}/tasks`, { task: 'second' })).status, 201)
      const goOn = await over
      void agent.holdAt('request').then(release => setImmediate(release))
      goOn()
      for (let round = 0; round < rounds; round++) await nextRound()
      const code = refuse ? refuse() : (await world.call('POST', `/sessions/${id}/${what}`, {})).status
      const { status } = await world.when(id, ({ ended_at }) => ended_at !== null)
      if (!refuse) assert.ok(code === 200 || (code === 409 && status === 'completed'), `round ${rounds}: ${code}`)
      if (what === 'limit') {
        assert.ok(['rate_limited', 'completed'].includes(status), `round ${rounds}: ${status}`)
        world.time.ahead = 2 * HOUR
        world.supervisor.wakeWaiting()
      } else if (status !== 'completed') {
        assert.equal(status, { pause: 'paused', stop: 'stopped' }[what], `round ${rounds}`)
        assert.equal((await world.call('POST', `/sessions/${id}/resume`, {})).status, 200)
      }
      await world.when(id, view => view.status === 'completed')
      const log = await world.events(id)
      assert.equal(log.filter(({ kind }) => kind === 'task.finished').length, 2, `round ${rounds}`)
      const ends = log.filter(({ kind }) => kind === 'session.ended').length
      assert.equal(ends, 1 + log.filter(({ kind }) => kind === 'session.resumed').length, `round ${rounds}`)
    }
  })
}
