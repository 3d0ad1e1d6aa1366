import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOTHING_SPENT } from '../../../src/domain/budget.ts'
import { scriptedAgent } from '../../supervisor/session/scripted-agent.ts'
import { scriptedWorld } from '../../supervisor/session/scripted-world.ts'
import { tempDir } from '../../support/world.ts'
import { bodiesOf } from '../agent-sessions.ts'

const HOUR = 3_600_000

test('a report ends where it is told to end, and now when nothing is told', async t => {
  const world = await scriptedWorld(t, scriptedAgent())
  const report = async (query: string) => (await world.call('GET', `/report?zone=UTC&${query}`)).body
  const { since, until } = await report('since=2026-01-05&until=2026-01-06')
  assert.deepEqual([since, until], [Date.UTC(2026, 0, 5), Date.UTC(2026, 0, 6)])
  const before = Date.now()
  const open = await report('since=1h')
  assert.ok(open.until >= before && open.until <= Date.now())
  assert.equal(open.until - open.since, HOUR)
})

test('a session that is at work is not resumed a second time', async t => {
  const agent = scriptedAgent()
  const world = await scriptedWorld(t, agent)
  const held = agent.holdAt('last request')
  const id = await world.start('paint it')
  const goOn = await held
  for (const how of ['resume', 'retry']) {
    const { status, body } = await world.call('POST', `/sessions/${id}/${how}`, {})
    assert.deepEqual([status, body.error.code], [409, 'session_running'])
  }
  goOn()
  await world.when(id, ({ status }) => status === 'completed')
  assert.equal(agent.prompts.length, 1)
})

test('the budget tells what was spent today, by the project, and by each open session and its task', async t => {
  const agent = scriptedAgent()
  const world = await scriptedWorld(t, agent)
  const held = agent.holdAt('last request')
  const id = await world.start('paint it')
  const goOn = await held
  const { body } = await world.call('GET', '/budget')
  assert.deepEqual(
    body.scopes.map(({ scope }: { scope: string }) => scope),
    ['day', 'project', 'session', 'task'],
  )
  assert.equal(body.scopes[2].key, id)
  assert.ok(body.day_ends_at > body.at)
  goOn()
  await world.when(id, ({ status }) => status === 'completed')
})

test('the budget of a project counts from zero again after a person resets it, which is noted; one that nobody used cannot be reset', async t => {
  const world = await scriptedWorld(t, scriptedAgent())
  const { project } = await world.when(await world.start('paint it'), ({ status }) => status === 'completed')
  const key = { scope: 'project', key: project } as const
  const reset = (path: string) => world.call('POST', '/budget/reset', { project: path })
  assert.equal((await reset('/nobody/was/here')).body.error?.code, 'budget_untouched')
  await world.store.transaction(tx =>
    world.store.spending.add([key], { amounts: { ...NOTHING_SPENT, turns: 3 }, at: 0 }, tx),
  )
  const { status, body } = await reset(project)
  const own = body.scopes.find(({ scope }: { scope: string }) => scope === 'project')
  assert.deepEqual([status, own.spent.turns], [200, 0])
  const [noted] = bodiesOf(await world.events('daemon'), 'session.noted')
  assert.match(noted?.text ?? '', /count from zero/)
})

test('a task that a person adds is recorded as added by a person', async t => {
  const world = await scriptedWorld(t, scriptedAgent())
  const { status } = await world.call('POST', '/tasks', { project: tempDir(t), title: 'paint it' })
  const [added] = await world.store.events({ kinds: ['task.submitted'] })
  assert.deepEqual([status, added?.actor], [201, 'human'])
})

test('a list of tasks that is asked for again is the same while nothing is written, and new as soon as something is', async t => {
  const world = await scriptedWorld(t, scriptedAgent())
  const project = tempDir(t)
  const list = async (query = '') => {
    const { body } = await world.call('GET', `/tasks${query}`)
    return (body as { tasks: { title: string }[] }).tasks.map(({ title }) => title)
  }
  const add = (title: string) => world.call('POST', '/tasks', { project, title })
  await add('one')
  for (const _ of [1, 2]) assert.deepEqual(await list(), ['one'])
  await add('two')
  for (const _ of [1, 2]) assert.deepEqual(await list(), ['one', 'two'])
  assert.deepEqual(await list('?text=two'), ['two'])
  assert.deepEqual(await list(), ['one', 'two'])
})

test('a session that a dead daemon left at work can be stopped, and stays so', async t => {
  const world = await scriptedWorld(t, scriptedAgent())
  const left = { id: 's-000001', name: 'left', project: '/p', task: 'paint it', agent: 'claude' }
  await world.store.sessions.insert({ ...left, owner: 'boot-0', state: 'running' })
  const { status, body } = await world.call('POST', '/sessions/s-000001/stop', {})
  assert.deepEqual([status, body.status], [200, 'stopped'])
  assert.equal((await world.store.sessions.get('s-000001'))?.ended_as, 'stopped')
})

test('accounts are held and released without a word on which', async t => {
  const world = await scriptedWorld(t, scriptedAgent())
  const { status, body } = await world.call('POST', '/quota/hold')
  assert.deepEqual([status, body.hold?.by], [200, 'human'])
  const released = await world.call('POST', '/quota/release')
  assert.deepEqual([released.status, released.body.hold], [200, null])
})
