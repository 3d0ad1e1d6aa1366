import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { BudgetView } from '../../../src/domain/budget.ts'
import type { Need } from '../../../src/domain/needs.ts'
import type { SessionEvent } from '../../../src/domain/session.ts'
import { openStore } from '../../../src/store/open.ts'
import { bookNow } from '../../../src/supervisor/guards/spending.ts'
import { brainContext } from '../../../src/supervisor/session/brain.ts'
import { bodiesOf } from '../../daemon/agent-sessions.ts'
import { runWorld } from '../../daemon/runs/run-world.ts'
import { tempDir } from '../../support/world.ts'
import { named } from '../runs/scripts.ts'
import { aLiveSession } from '../session/live-session.ts'
import { scriptedAgent } from '../session/scripted-agent.ts'
import { scriptedWorld } from '../session/scripted-world.ts'
import { sessionDepsOn } from '../session/session-deps.ts'

const DAY = 24 * 3_600_000

const spends = (costUsd: number, tokens = 0): { tells: SessionEvent[] } => ({
  tells: [
    {
      kind: 'usage',
      inputTokens: tokens,
      outputTokens: 0,
      cacheReadTokens: 1_000_000,
      cacheWriteTokens: 0,
      costUsd,
      turns: 1,
    },
  ],
})

const isPaused = ({ status }: { status: string }) => status === 'paused'
const isComplete = ({ status }: { status: string }) => status === 'completed'

test('a session whose budget is spent pauses after the tool in flight, asks a person, and goes on when it is raised', async t => {
  const agent = scriptedAgent(prompt => (prompt === 'first' ? spends(5.5) : spends(0.25)))
  const world = await scriptedWorld(t, agent)
  const id = await world.start('first', { budget: { cost_usd: 5 } })
  const { reason } = await world.when(id, isPaused)
  assert.match(reason ?? '', /^The session's budget of 5\.00 usd is spent \(5\.50 usd\)/)
  assert.match(reason ?? '', new RegExp(`pcc resume ${id} --budget "10 usd"`))
  assert.equal(agent.calls(), 1, 'no other request follows')

  const { escalations } = (await world.call('GET', '/escalations')).body
  assert.deepEqual([escalations.length, escalations[0].kind, escalations[0].state], [1, 'error', 'open'])
  assert.match(escalations[0].reason, /is spent \(5\.50 usd\)\. Raise it with: pcc resume/)
  const spent = bodiesOf(await world.events(id), 'budget.spent')
  assert.deepEqual(spent, [{ scope: 'session', key: id, measure: 'cost_usd', spent: 5.5, limit: 5 }])

  const { scopes } = (await world.call('GET', '/budget')).body as BudgetView
  assert.deepEqual(
    scopes.map(({ scope, spent }) => [scope, spent.cost_usd, spent.turns]),
    [
      ['day', 5.5, 1],
      ['project', 5.5, 1],
      ['session', 5.5, 1],
      ['task', 5.5, 1],
    ],
  )
  assert.deepEqual(scopes.find(({ scope }) => scope === 'session')?.limits, { cost_usd: 5 })

  const refused = await world.call('POST', `/sessions/${id}/resume`, {})
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'budget_spent'])
  const answered = await world.call('POST', `/escalations/${escalations[0].number}/answer`, { verdict: 'allow' })
  assert.equal(answered.body.error.code, 'budget_spent')
  assert.equal((await world.call('GET', '/escalations?state=open')).body.escalations.length, 1, 'it is asked on')

  for (const cost_usd of [0, -1, Number.MAX_VALUE, '5']) {
    const wrong = await world.call('POST', `/sessions/${id}/resume`, { budget: { cost_usd } })
    assert.deepEqual([wrong.status, wrong.body.error.code], [400, 'bad_request'], `${cost_usd}`)
  }
  const raised = await world.call('POST', `/sessions/${id}/resume`, { budget: { cost_usd: 10 } })
  assert.equal(raised.status, 200, JSON.stringify(raised.body))
  await world.when(id, isComplete)
  const [row] = await world.store.spending.of([{ scope: 'session', key: id }])
  assert.equal(row?.cost_usd, 5.75, 'what the second life spent is added once')
  assert.equal((await world.call('GET', '/escalations?state=open')).body.escalations.length, 0)
})

test("a day's budget makes sessions wait for tomorrow, and nothing is begun before", async t => {
  const agent = scriptedAgent((_prompt, calls) => (calls === 0 ? spends(3) : {}))
  const world = await scriptedWorld(t, agent, { PCC_BUDGETS_DAY_COST_USD: '2' })
  const id = await world.start('first')
  const { resumes_at, reason } = await world.when(id, isPaused)
  const midnight = new Date(Date.now() + DAY).setHours(0, 0, 0, 0)
  assert.equal(resumes_at, midnight)
  assert.match(reason ?? '', /^The day's budget of 2\.00 usd is spent/)
  const other = await world.start('second')
  assert.equal((await world.when(other, isPaused)).resumes_at, midnight)
  assert.equal((await world.call('GET', '/escalations')).body.escalations.length, 0, 'nobody has to do anything')
  const third = await world.start('third', { auto_resume: false })
  assert.equal((await world.when(third, isPaused)).resumes_at, null, 'nobody agreed that it goes on by itself')
  assert.deepEqual(agent.prompts, ['first'], 'the others were not begun')
  assert.equal((await world.call('GET', '/escalations')).body.escalations.length, 1, 'so somebody is asked')
  world.pass(DAY)
  await world.when(id, isComplete)
  await world.when(other, isComplete)
})

test("a run that waits for the day's budget is one row that needs a person, and goes on by itself when it is raised", async t => {
  let turns = 0
  const agent = scriptedAgent(() => (turns++ === 1 ? spends(5.63) : {}))
  const world = await runWorld(t, agent)
  world.settings['PCC_BUDGETS_DAY_COST_USD'] = '1'
  for (const name of ['one', 'two', 'three']) await world.add(name)
  const { id } = await world.run()
  const { left_ms, attempts } = await world.since(
    id,
    ({ kind, body }) => kind === 'session.ended' && isPaused(body as never),
  )
  assert.equal(attempts.filter(({ outcome }) => outcome === 'done').length, 1)
  assert.equal(left_ms, null, 'how long its tasks take says nothing now')
  const needs = async () =>
    (await world.call('GET', '/needs')).body.needs.map((need: Need) => [need.kind, need.text, need.next])
  const text = "The day's budget of 1.00 usd is spent (5.63 usd): work waits until it is raised, or until tomorrow"
  assert.deepEqual(await needs(), [['budget', text, 'pcc config set budgets.day.cost_usd 8']])
  world.settings['PCC_BUDGETS_DAY_COST_USD'] = '8'
  world.pass(1)
  assert.equal((await world.over(id)).outcome, 'complete')
  assert.deepEqual(await needs(), [])
})

test("a task's own budget counts all its attempts: its task waits, others go on, and when it is raised it goes on by itself", async t => {
  let tries = 0
  const failure = { kind: 'other', message: 'it broke' } as const
  const agent = scriptedAgent(prompt => {
    if (named(prompt) === 'cheap') return spends(0.1)
    tries += 1
    return tries === 1 ? { ...spends(0.75), failure } : tries === 2 ? spends(0.5) : spends(0.25)
  })
  const world = await runWorld(t, agent)
  const dear = await world.add('dear', { priority: 1, budget: { cost_usd: 1, turns: 100 } })
  const cheap = await world.add('cheap')
  const { id } = await world.run()
  await world.since(id, ({ kind, body }) => kind === 'task.finished' && (body as { task_id: string }).task_id === cheap)
  const { attempts } = await world.detail(id)
  const ofDear = attempts.filter(({ task_id }) => task_id === dear)
  assert.deepEqual(
    ofDear.map(({ outcome }) => outcome),
    ['failed', null],
    'the second attempt is kept, and no third one follows',
  )
  const session = ofDear[1]?.session_id ?? ''
  const task = async () => (await world.call('GET', `/tasks/${dear}`)).body.task
  const words = "The task's budget of 1.00 usd is spent (1.25 usd)"
  assert.deepEqual([(await task()).state, (await task()).reason], ['waiting', words])
  assert.match((await world.view(session)).reason ?? '', /^The task's budget of 1\.00 usd is spent \(1\.25 usd\)\n/)
  const needs = async (): Promise<Need[]> => (await world.call('GET', '/needs')).body.needs
  const next = `pcc task update ${dear} --budget "2 usd, 100 turns"; it goes on by itself then`
  assert.deepEqual(
    (await needs()).map(need => [need.kind, need.text, need.next]),
    [['budget', words, next]],
  )
  const spent = bodiesOf(await world.events(session), 'budget.spent')
  assert.deepEqual(spent, [{ scope: 'task', key: dear, measure: 'cost_usd', spent: 1.25, limit: 1 }])
  const { scopes } = (await world.call('GET', '/budget')).body as BudgetView
  assert.deepEqual(scopes.find(({ key }) => key === dear)?.limits, { cost_usd: 1, turns: 100 })

  await world.call('POST', `/tasks/${dear}`, { budget: { cost_usd: 1.2 } })
  assert.deepEqual([(await task()).state, tries], ['waiting', 2], 'too little changes nothing')
  await world.call('POST', `/runs/${id}/pause`, {})
  await world.call('POST', `/tasks/${dear}`, { budget: { cost_usd: 1.9 } })
  assert.deepEqual([(await task()).state, tries], ['waiting', 2], 'nor does more while a person keeps the run paused')
  await world.call('POST', `/runs/${id}/resume`, {})
  await world.call('POST', `/tasks/${dear}`, { budget: { cost_usd: 2 } })
  assert.equal((await world.over(id)).outcome, 'complete')
  assert.deepEqual(await needs(), [])
})

test('a task whose own budget is spent is not begun again, and says what it waits for', async t => {
  const agent = scriptedAgent((_prompt, calls) => spends(calls === 0 ? 3 : 0.5))
  const world = await runWorld(t, agent)
  const id = await world.add('one', { budget: { cost_usd: 2 } })
  const begun = (run: string) =>
    world.since(run, ({ kind, body }) => kind === 'session.ended' && isPaused(body as never))
  const first = await world.run()
  const { attempts } = await begun(first.id)
  assert.equal((await world.call('POST', `/runs/${first.id}/stop`, {})).status, 200)
  await world.over(first.id)
  assert.equal((await world.call('GET', `/tasks/${id}`)).body.task.state, 'waiting', 'its session can still go on')
  assert.equal((await world.call('POST', `/tasks/${id}/reset`, {})).body.task.state, 'ready')
  const calls = agent.calls()
  const second = await world.run()
  const [again] = (
    await world.since(
      second.id,
      ({ kind, body, subject }) =>
        kind === 'session.ended' && isPaused(body as never) && subject !== attempts[0]?.session_id,
    )
  ).attempts
  assert.equal(agent.calls(), calls, 'no model was asked')
  assert.notEqual(again?.session_id, attempts[0]?.session_id)
  const { state, reason } = (await world.call('GET', `/tasks/${id}`)).body.task
  assert.deepEqual([state, reason], ['waiting', "The task's budget of 2.00 usd is spent (3.00 usd)"])
  const { needs } = (await world.call('GET', '/needs')).body
  assert.deepEqual(
    needs.map((need: Need) => need.next),
    [`pcc task update ${id} --budget "4 usd"; it goes on by itself then`],
  )
  const tasks = [{ id, title: 'one', budget: { cost_usd: 4 } }]
  const imported = await world.call('POST', '/tasks/import', { project: world.project, tasks, update: true })
  assert.deepEqual([imported.status, imported.body.updated.length], [200, 1], JSON.stringify(imported.body))
  assert.equal((await world.over(second.id)).outcome, 'complete')
})

test('a bound that a person raises while a session works holds for that session too', async t => {
  const agent = scriptedAgent(() => spends(3))
  const world = await scriptedWorld(t, agent, { PCC_BUDGETS_TASK_COST_USD: '2' })
  const there = agent.holdAt('request')
  const id = await world.start('first')
  const goOn = await there
  world.settings['PCC_BUDGETS_TASK_COST_USD'] = '9'
  goOn()
  await world.when(id, isComplete)
})

test('what could not be committed is booked with the next try, once', async t => {
  await using store = await openStore({ file: join(tempDir(t), 'db') })
  const live = aLiveSession({}, { session: {} as never })
  let isFull = true
  const failing: typeof store.transaction = work =>
    store.transaction(async tx => {
      const result = await work(tx)
      if (isFull) throw new Error('the disk is full')
      return result
    })
  const deps = sessionDepsOn(
    new Proxy(store, { get: (of, key) => (key === 'transaction' ? failing : Reflect.get(of, key)) }),
  )
  live.meters.meter.saw({ cost_usd: 2 })
  await assert.rejects(bookNow({ live, deps }), /the disk is full/)
  isFull = false
  await bookNow({ live, deps })
  await bookNow({ live, deps })
  const [row] = await store.spending.of([{ scope: 'session', key: live.id }])
  assert.equal(row?.cost_usd, 2)
})

test('what a brain uses for a session is counted as the brain’s, at the list price if nobody says another', async t => {
  await using store = await openStore({ file: join(tempDir(t), 'db') })
  const live = aLiveSession({})
  const deps = sessionDepsOn(store)
  const { used } = await brainContext(live, deps)
  const tokens = { inputTokens: 900_000, outputTokens: 20_000, cacheReadTokens: 0, cacheWriteTokens: 80_000 }
  await used?.({ model: 'claude-haiku-4-5', ...tokens })
  await used?.({ model: 'a-model-of-no-known-price', ...tokens })
  await used?.({ model: 'claude', ...tokens, costUsd: 0.5 })
  const [row] = await store.spending.of([{ scope: 'session', key: live.id }])
  const parts = await store.spending.parts([{ scope: 'session', key: live.id }])
  assert.deepEqual([row?.tokens, row?.cost_usd.toFixed(2)], [3_000_000, '1.60'])
  assert.deepEqual(
    parts.map(({ purpose, tokens, cost_usd }) => [purpose, tokens, cost_usd.toFixed(2)]),
    [['brain', 3_000_000, '1.60']],
  )
  const asked = bodiesOf(await store.events({ subject: live.id }), 'model.asked')
  assert.deepEqual(
    asked.map(({ purpose, model, cost_usd }) => [purpose, model, cost_usd.toFixed(2)]),
    [
      ['brain', 'claude-haiku-4-5', '1.10'],
      ['brain', 'a-model-of-no-known-price', '0.00'],
      ['brain', 'claude', '0.50'],
    ],
  )
})
