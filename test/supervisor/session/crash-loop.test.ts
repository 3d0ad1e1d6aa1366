import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Life, type Lives, openLives } from '../runs/lives.ts'
import { type Point, type ScriptedAgent, scriptedAgent } from './scripted-agent.ts'

interface Crashing extends Lives {
  agent: ScriptedAgent
  id: string
  /** Lets the daemon die once more, with the session at that point. */
  dieAt(point: Point): Promise<void>
  /** The daemon that follows the last death. */
  life(): Life
}

const turn = () => new Promise(resolve => setImmediate(resolve))

/** One session that goes from one daemon to the next. */
async function crashing(t: TestContext, agent: ScriptedAgent, first: Point): Promise<Crashing> {
  const lives = await openLives(t, agent)
  let life = await lives.begin()
  const { project } = lives
  let there = agent.holdAt(first)
  const { body } = await life.call('POST', '/sessions', { project, task: 'build it', env: {} })
  return {
    ...{ ...lives, agent, id: body.id, life: () => life },
    async dieAt(next) {
      const goOn = await there
      // The events of the agent up to here are stored.
      while ((await lives.store.sessions.get(body.id))?.state !== 'running') await turn()
      while (life.supervisor.run(body.id)?.agent.isHandlingEvent) await turn()
      await life.die()
      goOn()
      there = agent.holdAt(next)
      life = await lives.begin()
    },
  }
}

test('a session during which one daemon after the other dies goes on five times, and then only a person resumes it', async t => {
  const { agent, store, id, dieAt, life } = await crashing(t, scriptedAgent(), 'request')
  for (let recovered = 1; recovered <= 5; recovered++) {
    await dieAt('request')
    assert.equal((await store.sessions.get(id))?.recoveries, recovered)
  }
  await dieAt('request')
  const { body: view } = await life().call('GET', `/sessions/${id}`)
  assert.deepEqual([view.status, view.resumes_at], ['paused', null])
  assert.match(view.reason, new RegExp(`died 5 times in a row while it ran; go on with: pcc resume ${id}`))
  const [asked, ...others] = (await life().call('GET', '/escalations?state=open')).body.escalations
  assert.deepEqual([asked.kind, asked.session_id, others], ['error', id, []])
  assert.equal(agent.calls(), 0)
  const incidents = async () => (await life().call('GET', '/incidents')).body.incidents
  const [incident, ...more] = await incidents()
  assert.deepEqual([incident.number, incident.session_id, incident.over, more], [asked.number, id, null, []])
  assert.match(incident.reason, /died 5 times/)
  assert.equal((await store.figures.read()).incidents, 1)

  // A person's yes allows one more try, and is no sign that the session works.
  const yes = await life().call('POST', `/escalations/${asked.number}/answer`, { verdict: 'allow', env: {} })
  assert.equal(yes.status, 200, JSON.stringify(yes.body))
  await dieAt('request')
  const [again] = (await life().call('GET', '/escalations?state=open')).body.escalations
  assert.match(again.reason, /died 5 times/)
  assert.deepEqual(
    (await incidents()).map(({ number, over }: { number: number; over: string | null }) => [number, over]),
    [
      [again.number, null],
      [asked.number, 'tried again, by human'],
    ],
    'what is over stays listed',
  )
})

test('a session that hears the model in each of its lives goes on however often its daemon dies', async t => {
  const { store, id, dieAt } = await crashing(t, scriptedAgent(), 'tool')
  for (let deaths = 1; deaths <= 7; deaths++) {
    await dieAt('tool')
    assert.ok(((await store.sessions.get(id))?.recoveries ?? 9) <= 1, `after ${deaths} deaths`)
  }
})
