import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { SessionStatus } from '../../../src/domain/api.ts'
import { type Point, scriptedAgent, type Turn } from './scripted-agent.ts'
import { type ScriptedWorld, scriptedWorld } from './scripted-world.ts'

type Act = 'pause' | 'stop' | 'add'

/** The outcome for a session with one task when somebody acts at that point of its turn and the agent may then go on. */
const TABLE: [Point, Act, SessionStatus][] = [
  ['opening', 'pause', 'paused'],
  ['starting', 'pause', 'paused'],
  ['request', 'pause', 'paused'],
  ['tool', 'pause', 'paused'],
  ['question', 'pause', 'paused'],
  // Nothing follows the last request, so there is nothing to pause.
  ['last request', 'pause', 'completed'],
  ['turn over', 'pause', 'completed'],
  ['opening', 'stop', 'stopped'],
  ['starting', 'stop', 'stopped'],
  ['request', 'stop', 'stopped'],
  ['tool', 'stop', 'stopped'],
  ['question', 'stop', 'stopped'],
  ['last request', 'stop', 'stopped'],
  ['opening', 'add', 'completed'],
  ['starting', 'add', 'completed'],
  ['request', 'add', 'completed'],
  ['tool', 'add', 'completed'],
  ['question', 'add', 'completed'],
  ['last request', 'add', 'completed'],
  ['turn over', 'add', 'completed'],
]

const ASKS: Turn = { asks: true }

/** A session that is held at a point of its first turn, with a terminal attached. */
async function sessionAt(t: TestContext, point: Point) {
  const agent = scriptedAgent(prompt => (point === 'question' && prompt === 'first' ? ASKS : {}))
  const world = await scriptedWorld(t, agent)
  const there = agent.holdAt(point)
  const id = await world.start('first', { attach: true })
  return { world, id, goOn: await there }
}

async function act(what: Act, world: ScriptedWorld, id: string): Promise<number> {
  if (what === 'add') return (await world.call('POST', `/sessions/${id}/tasks`, { task: 'second' })).status
  return (await world.call('POST', `/sessions/${id}/${what}`, {})).status
}

/** Resolves when the request has arrived and waits for the agent. */
async function waitUntilRequested(world: ScriptedWorld, id: string): Promise<void> {
  const live = world.supervisor.run(id)
  while (live?.control.pausing === undefined && live?.control.stopping === undefined)
    await new Promise(resolve => setImmediate(resolve))
}

async function answerQuestion(world: ScriptedWorld, id: string): Promise<void> {
  const { asks } = await world.when(id, view => view.asks.length > 0)
  world.terminals.answer(id, { ask_id: asks[0]?.ask_id ?? '', answers: { 'Which?': 'this' }, by: 'human' })
}

/** Every task of the session with its state, in the order in which they were added. */
async function taskStates(world: ScriptedWorld, id: string): Promise<Record<string, string>> {
  const { body } = await world.call('GET', `/sessions/${id}/tasks`)
  return Object.fromEntries(body.tasks.map((task: { title: string; state: string }) => [task.title, task.state]))
}

for (const [point, what, status] of TABLE) {
  test(`${what} at the point "${point}" ends in ${status}, once`, { timeout: 20_000 }, async t => {
    const { world, id, goOn } = await sessionAt(t, point)
    if (point === 'question') await world.when(id, view => view.asks.length > 0)
    const acted = act(what, world, id)
    // A request is answered only after the agent is open, so one at this point is not awaited yet.
    const code = point === 'opening' ? undefined : await acted
    if (point === 'opening' && what !== 'add') await waitUntilRequested(world, id)
    if (point === 'question' && what !== 'stop') await answerQuestion(world, id)
    goOn()
    const isLate = code === 409 && point === 'turn over'
    assert.ok((code ?? (await acted)) === (what === 'add' ? 201 : 200) || isLate, `${code}`)
    const isDone = async () => !Object.values(await taskStates(world, id)).some(state => state === 'ready')
    await world.when(id, view => view.status === status && view.ended_at !== null)
    if (what === 'add') {
      while (!(await isDone())) await world.when(id, view => view.status === status && view.ended_at !== null)
      assert.deepEqual(await taskStates(world, id), { first: 'done', second: 'done' })
    }
    await world.supervisor.close('looked at')
    const events = await world.events(id)
    const ends = events.filter(({ kind }) => kind === 'session.ended').length
    const resumed = events.filter(({ kind }) => kind === 'session.resumed').length
    assert.equal(ends, resumed + 1, 'each life has one end')
    const finished = events.filter(({ kind }) => kind === 'task.finished').map(({ body }) => JSON.stringify(body))
    assert.equal(new Set(finished).size, finished.length, 'no task ends twice')
    assert.equal(world.agent.open(), 0, 'no agent is left')
    assert.equal((await world.view(id)).status, status)
    if (status === 'paused')
      assert.equal((await world.view(id)).resumes_at, null, 'the session does not go on by itself')
  })
}
