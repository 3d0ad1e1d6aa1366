import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scriptedAgent, type Turn } from '../../supervisor/steering/scripted-agent.ts'
import { runWorld } from './run-world.ts'

const FAILED: Turn = { failure: { kind: 'refusal', message: 'it will not' } }

/** The agent meets what stands under the task's name, in order; then it does the task. */
function meeting(script: Record<string, Turn[]>) {
  return scriptedAgent(
    prompt =>
      Object.entries(script)
        .find(([name]) => prompt.includes(name))?.[1]
        .shift() ?? {},
  )
}

test('a run tells how far it is: its attempts, what became of each, and how its tasks stand', async t => {
  const agent = meeting({ 'wash up': [FAILED] })
  const world = await runWorld(t, agent)
  await world.add('wash up')
  await world.add('dry up', { after: ['wash up'] })
  const held = agent.holdAt('last request')
  const { id } = await world.run()
  const goOn = await held
  const during = await world.detail(id)
  assert.deepEqual([during.state, during.outcome, during.tasks], ['running', null, { running: 1, blocked: 1 }])
  const [attempt] = during.attempts
  assert.equal(attempt?.title, 'wash up')
  assert.equal(attempt?.now?.status, 'processing')
  assert.match(attempt?.now?.last_line ?? '', /a$/, 'what the agent does right now')
  goOn()
  const after = await world.over(id)
  assert.deepEqual([after.state, after.outcome, after.iterations], ['ended', 'complete', 3])
  assert.deepEqual(
    after.attempts.map(({ title, number, outcome, verification }) => [title, number, outcome, verification]),
    [
      ['wash up', 1, 'failed', null],
      ['wash up', 2, 'done', 'unverified'],
      ['dry up', 1, 'done', 'unverified'],
    ],
  )
  assert.deepEqual([after.tasks, after.unverified], [{ done: 2 }, 2])
})

test('runs are listed newest first, each with its tasks as they stood when it ended', async t => {
  const world = await runWorld(t, meeting({}))
  await world.add('one', { feature: 'kitchen' })
  const first = await world.over((await world.run({ target: { kind: 'feature', name: 'kitchen' } })).id)
  await world.add('two', { feature: 'kitchen' })
  const second = await world.over((await world.run()).id)
  const { body } = await world.call('GET', `/runs?project=${encodeURIComponent(world.project)}`)
  assert.deepEqual(
    body.runs.map(({ id, tasks }: { id: string; tasks: object }) => [id, tasks]),
    [
      [second.id, { done: 2 }],
      [first.id, { done: 1 }],
    ],
  )
  const { body: one } = await world.call('GET', '/runs?limit=1')
  assert.deepEqual([one.runs.length, one.total], [1, 2])
  assert.equal((await world.detail(first.id.slice(2, 6))).id, first.id, 'the beginning of an id will do')
})

test('a run is paused, goes on, and is stopped after what is at work', async t => {
  const agent = meeting({})
  const world = await runWorld(t, agent)
  for (const name of ['one', 'two', 'three']) await world.add(name)
  const held = agent.holdAt('tool')
  const { id } = await world.run()
  const goOn = await held
  const { body: pausing } = await world.call('POST', `/runs/${id}/pause`, {})
  assert.equal(pausing.state, 'paused')
  goOn()
  await world.since(id, ({ kind }) => kind === 'session.ended')
  assert.equal((await world.detail(id)).attempts[0]?.now?.status, 'paused')
  const again = agent.holdAt('last request')
  await world.call('POST', `/runs/${id}/resume`, {})
  const finish = await again
  const { body: stopping } = await world.call('POST', `/runs/${id}/stop`, {})
  assert.deepEqual([stopping.state, stopping.stopping], ['running', true])
  finish()
  const { outcome, tasks } = await world.over(id)
  assert.deepEqual([outcome, tasks], ['interrupted', { done: 1, ready: 2 }])
  const { status, body } = await world.call('POST', `/runs/${id}/stop`, {})
  assert.deepEqual([status, body.error.code], [409, 'run_over'])
})

test('what is not a run, or not a request for one, is refused in words', async t => {
  const world = await runWorld(t, meeting({}))
  const unknown = await world.call('GET', '/runs/r-000000')
  assert.deepEqual([unknown.status, unknown.body.error.code], [404, 'run_unknown'])
  const odd = await world.call('POST', '/runs', { project: world.project, target: { kind: 'moon' }, env: {} })
  assert.deepEqual([odd.status, odd.body.error.code], [400, 'bad_request'])
  const missing = await world.call('POST', '/runs', { project: '/no/such', target: { kind: 'project' }, env: {} })
  assert.equal(missing.body.error.code, 'project_missing')
})

test('a dry run tells the order and the models, and starts nothing', async t => {
  const agent = meeting({})
  const world = await runWorld(t, agent)
  const [a, b, c, d] = [
    await world.add('a'),
    await world.add('b', { after: ['a'] }),
    await world.add('c', { after: ['a'], priority: 5 }),
    await world.add('d', { after: ['b', 'c'] }),
  ]
  const request = { project: world.project, target: { kind: 'project' }, env: {} }
  const { body } = await world.call('POST', '/runs/plan', request)
  assert.deepEqual(
    body.steps.map(({ id, model }: { id: string; model: string }) => [id, model]),
    [
      [a, 'sonnet'],
      [c, 'haiku'],
      [b, 'haiku'],
      [d, 'haiku'],
    ],
  )
  const { body: few } = await world.call('POST', '/runs/plan', { ...request, limit: 1, model: 'opus' })
  assert.deepEqual([few.steps.length, few.steps[0].model, few.beyond_limit], [1, 'opus', 3])
  assert.deepEqual((await world.call('GET', '/runs')).body.runs, [])
  assert.deepEqual(agent.prompts, [])
})
