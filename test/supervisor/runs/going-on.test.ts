import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ScriptedAgent, Turn } from '../session/scripted-agent.ts'
import { type Life, type Lives, openLives } from './lives.ts'
import { meeting, named, watched } from './scripts.ts'

/** The agent is refused a call because nobody is there, and gives its task up. */
const REFUSED: Turn = { wants: 'git push --force', says: () => '<promise>FAILURE: the push was refused</promise>' }

interface Begun extends Lives {
  life: Life
  /** The run of the named tasks. */
  id: string
}

/** A run of tasks without an order; the agent of the first one is held at its last request. */
async function begun(t: TestContext, agent: ScriptedAgent, names: string[]): Promise<Begun & { goOn: () => void }> {
  const lives = await openLives(t, agent)
  const life = await lives.begin()
  const { project } = lives
  for (const title of names) await life.call('POST', '/tasks', { project, title })
  const held = agent.holdAt('last request')
  const { body } = await life.call('POST', '/runs', { project, target: { kind: 'project' }, env: {} })
  return { ...lives, life, id: body.id, goOn: await held }
}

async function over({ store, id }: Pick<Begun, 'store' | 'id'>) {
  for await (const { kind } of store.follow(0, { subject: id })) if (kind === 'run.ended') break
  const [run, attempts] = [await store.runs.get(id), await store.runs.attempts({ run: id })]
  return { outcome: run?.outcome, sessions: new Set(attempts.map(({ session_id }) => session_id)).size, attempts }
}

for (const [how, leave] of [
  ['is started anew', (life: Life) => life.end({ goOn: true })],
  ['is killed', (life: Life) => life.die()],
] as const) {
  test(`a run goes on by itself when its daemon ${how}, with the session that was at work`, async t => {
    const agent = meeting({})
    const { life, goOn, ...run } = await begun(t, agent, ['a', 'b'])
    await leave(life)
    goOn()
    assert.deepEqual([(await run.store.runs.get(run.id))?.state, agent.open()], ['running', 0])
    await run.begin()
    const { outcome, sessions } = await over(run)
    assert.deepEqual([outcome, sessions], ['complete', 2])
  })
}

test('a daemon that a person stops pauses its runs, and they go on with their sessions when the person says so', async t => {
  const agent = meeting({})
  const { life, goOn, ...run } = await begun(t, agent, ['a', 'b'])
  await life.end({ goOn: false })
  goOn()
  const next = await run.begin()
  const { body: paused } = await next.call('GET', `/runs/${run.id}`)
  assert.deepEqual([paused.state, paused.reason, paused.outcome], ['paused', 'the daemon was stopped', null])
  assert.deepEqual([paused.attempts[0].now.status, paused.tasks], ['paused', { waiting: 1, ready: 1 }])
  assert.equal(agent.calls(), 1, 'nothing goes on by itself')
  const { body: resumed } = await next.call('POST', `/runs/${run.id}/resume`, {})
  assert.deepEqual([resumed.state, resumed.reason], ['running', null])
  const { outcome, sessions } = await over(run)
  assert.deepEqual([outcome, sessions], ['complete', 2], 'no attempt was lost')
})

test('a paused run that is stopped after what is current comes to its end with the task that is verifying', async t => {
  const agent = meeting({})
  const { store, project, begin } = await openLives(t, agent)
  const first = await begin()
  for (const title of ['a', 'b']) await first.call('POST', '/tasks', { project, title })
  const held = agent.holdAt('turn over')
  const { body } = await first.call('POST', '/runs', { project, target: { kind: 'project' }, env: {} })
  const run = { store, id: body.id as string }
  const goOn = await held
  const states = async () => (await store.tasks.list({ project })).map(({ state }) => state)
  const left = first.end({ goOn: false })
  goOn()
  await left
  const next = await begin()
  // The task is checked and left as it is, without an event: these calls take longer than such a check.
  for (let asked = 0; asked < 50; asked += 1) await next.call('GET', `/runs/${run.id}`)
  assert.deepEqual([(await store.runs.get(run.id))?.state, await states()], ['paused', ['verifying', 'ready']])
  await next.call('POST', `/runs/${run.id}/stop`, { now: false })
  assert.equal((await over(run)).outcome, 'interrupted')
  assert.deepEqual(await states(), ['done', 'ready'])
})

test('an answer that comes while another task is at work waits for its turn, and then comes before any new task', async t => {
  const agent = meeting({ a: [{ asks: true }] })
  const lives = await openLives(t, agent)
  const life = await lives.begin()
  const { project, store } = lives
  for (const title of ['a', 'b', 'c']) await life.call('POST', '/tasks', { project, title })
  const parked = parkedNumber(store)
  const { body: run } = await life.call('POST', '/runs', { project, target: { kind: 'project' }, env: {} })
  const held = agent.holdAt('last request')
  const number = await parked
  const goOn = await held
  const { status } = await life.call('POST', `/escalations/${number}/answer`, { answer: ['red'], env: {} })
  assert.equal(status, 200)
  const { body: during } = await life.call('GET', `/runs/${run.id}`)
  assert.equal(agent.open(), 1, 'one agent in the directory')
  assert.match((await store.sessions.get(during.attempts[0].session_id))?.status_reason ?? '', /waits for its turn/)
  goOn()
  assert.equal((await over({ store, id: run.id })).outcome, 'complete')
  assert.deepEqual(agent.prompts.map(named), ['a', 'b', '(the parked call)', 'c'])
})

test('two runs in one directory take turns: no two agents at once', async t => {
  const { agent, most } = watched(meeting({}))
  const lives = await openLives(t, agent)
  const life = await lives.begin()
  const { project, store } = lives
  const run = async (name: string): Promise<string> => {
    for (const title of ['1', '2']) await life.call('POST', '/tasks', { project, title: name + title, feature: name })
    return (await life.call('POST', '/runs', { project, target: { kind: 'feature', name }, env: {} })).body.id
  }
  const held = agent.holdAt('last request')
  const first = await run('x')
  const goOn = await held
  const second = await run('y')
  for await (const { kind, body } of store.follow(0)) if (kind === 'session.noted' && /its turn/.test(body.text)) break
  goOn()
  for (const id of [first, second]) assert.equal((await over({ store, id })).outcome, 'complete')
  assert.equal(most(), 1)
})

test('a question that outlives its run still ends its attempt when it is answered', async t => {
  const agent = meeting({ a: [{ asks: true }] })
  const { life, goOn, ...run } = await begun(t, agent, ['a', 'b'])
  await life.call('POST', `/runs/${run.id}/stop`, {})
  goOn()
  assert.equal((await over(run)).outcome, 'interrupted')
  await life.end({ goOn: true })
  const next = await run.begin()
  const number = await parkedNumber(run.store)
  await next.call('POST', `/escalations/${number}/answer`, { answer: ['red'], env: {} })
  for await (const { kind, body } of run.store.follow(0)) if (kind === 'task.finished' && body.title === 'a') break
  for (;;) {
    const [attempt] = await run.store.runs.attempts({ run: run.id })
    if (attempt?.outcome === 'done') break
    await new Promise(resolve => setImmediate(resolve))
  }
})

test('a session that waits for a yes keeps waiting when its run is paused and goes on; the answer sends it on', async t => {
  const agent = meeting({ a: [REFUSED] })
  const lives = await openLives(t, agent)
  const life = await lives.begin()
  const { project, store } = lives
  await life.call('POST', '/tasks', { project, title: 'a' })
  const { body: run } = await life.call('POST', '/runs', { project, target: { kind: 'project' }, env: {} })
  for await (const { kind } of store.follow(0)) if (kind === 'session.ended') break
  const calls = agent.calls()
  await life.call('POST', `/runs/${run.id}/pause`, {})
  const { body: resumed } = await life.call('POST', `/runs/${run.id}/resume`, {})
  const session = resumed.attempts[0].session_id
  assert.equal(agent.calls(), calls, 'its agent is not sent on without an answer')
  assert.deepEqual(
    resumed.not_resumed.map(({ session, next }: { session: string; next: string }) => [session, next]),
    [[session, 'See the question with: pcc pending. Answer it with: pcc respond 1 --approve --again']],
  )
  const { body: pending } = await life.call('GET', '/needs')
  assert.deepEqual(
    pending.needs.map(({ kind, next }: { kind: string; next: string }) => [kind, next]),
    [['refused', 'pcc respond 1 --approve --again']],
  )
  assert.deepEqual([resumed.state, resumed.tasks], ['running', { waiting: 1 }])

  await life.end({ goOn: false })
  const next = await lives.begin()
  await next.call('POST', `/runs/${run.id}/resume`, {})
  assert.equal(agent.calls(), calls, 'nor after a stop of the daemon')
  const held = agent.holdAt('tool')
  const { body } = await next.call('POST', '/escalations/1/answer', { verdict: 'allow', again: true, env: {} })
  assert.equal(body.task, 'goes_on')
  const goOn = await held
  await next.call('POST', `/runs/${run.id}/pause`, {})
  goOn()
  for await (const { kind, body } of store.follow(0))
    if (kind === 'session.ended' && /by a person/.test(body.reason)) break
  const { body: again } = await next.call('POST', `/runs/${run.id}/resume`, {})
  assert.equal(again.not_resumed, undefined, 'it waits for nothing any more')
  assert.equal((await over({ store, id: run.id })).outcome, 'complete')
})

test('a run whose last attempt waits for a person ends at its limit, and the answer still finishes the task', async t => {
  for (const [turn, given] of [
    [REFUSED, { verdict: 'allow', again: true }],
    [{ asks: true }, { answer: ['red'] }],
  ] as const) {
    const lives = await openLives(t, meeting({ a: [turn] }))
    const life = await lives.begin()
    const { project, store } = lives
    await life.call('POST', '/tasks', { project, title: 'a' })
    const { body: run } = await life.call('POST', '/runs', { project, target: { kind: 'project' }, limit: 1, env: {} })
    assert.equal((await over({ store, id: run.id })).outcome, 'limit_reached')
    assert.equal((await store.runs.get(run.id))?.reason, '1 attempt was made; 1 task waits for you: pcc pending')
    const { body: pending } = await life.call('GET', '/needs')
    assert.equal(pending.needs.length, 1, 'the question is kept')
    const { number } = pending.needs[0]
    assert.equal((await life.call('POST', `/escalations/${number}/answer`, { ...given, env: {} })).status, 200)
    for await (const { kind } of store.follow(0)) if (kind === 'task.finished') break
  }
})

/** The number of the first question that a session waits with. */
async function parkedNumber(store: Lives['store']): Promise<number | undefined> {
  for await (const { kind, subject } of store.follow(0)) {
    if (kind === 'question.parked') return (await store.sessions.get(subject))?.parked?.number
  }
  return undefined
}
