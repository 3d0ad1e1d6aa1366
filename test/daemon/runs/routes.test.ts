import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTasks } from '../../../src/tasks/tasks.ts'
import { scriptedAgent, type Turn } from '../../supervisor/session/scripted-agent.ts'
import { gitProject } from '../../support/world.ts'
import { runWorld } from './run-world.ts'

const FAILED: Turn = { failure: { kind: 'refusal', message: 'it will not' } }

/** The agent gets the outcomes listed under the task's name, in order; then it does the task. */
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
  assert.deepEqual((await world.call('GET', '/runs?open=true')).body, { runs: [], total: 0 })
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
  assert.match(body.error.next, /^Start another one with: pcc run \/\S+$/)
})

for (const limit of [undefined, 1]) {
  test(`a run that goes on before its pause has taken effect does not stand still, nor end (limit: ${limit})`, async t => {
    const agent = meeting({})
    const world = await runWorld(t, agent)
    await world.add('one')
    const held = agent.holdAt('tool')
    const { id } = await world.run({ limit })
    const goOn = await held
    await world.call('POST', `/runs/${id}/pause`, {})
    const { body: resumed } = await world.call('POST', `/runs/${id}/resume`, {})
    assert.equal(resumed.state, 'running')
    goOn()
    const { outcome, tasks } = await world.over(id)
    assert.deepEqual([outcome, tasks], ['complete', { done: 1 }])
  })
}

test('a paused run goes on from a shell without its login, also with work that was sent back; what cannot is named', async t => {
  const agent = meeting({})
  const world = await runWorld(t, agent)
  for (const name of ['one', 'two']) await world.add(name)
  const held = agent.holdAt('tool')
  const { id } = await world.run({ env: { ANTHROPIC_API_KEY: 'sk-ant-simulated' } })
  const goOn = await held
  await world.call('POST', `/runs/${id}/pause`, {})
  goOn()
  const session = (await world.since(id, ({ kind }) => kind === 'session.ended')).attempts[0]?.session_id ?? ''
  const row = await world.store.sessions.get(session)
  assert.ok(row)
  const landing = { verified: 1, failed: 1, conflicts: 0, told: 'The tests fail.' }
  await world.store.sessions.update(session, { retries: 1, options: { ...row.options, landing } })
  const shell = { env: { HOME: '/home/elsewhere' } }

  await world.store.sessions.update(session, { account: 'of another day' })
  const { body: stays } = await world.call('POST', `/runs/${id}/resume`, shell)
  assert.deepEqual(
    stays.not_resumed.map(({ session: named, why }: { session: string; why: string }) => [
      named,
      /another login/.test(why),
    ]),
    [[session, true]],
  )
  await world.call('POST', `/runs/${id}/pause`, {})
  await world.store.sessions.update(session, { account: row.account })

  const { body: resumed } = await world.call('POST', `/runs/${id}/resume`, shell)
  assert.equal(resumed.not_resumed, undefined)
  const { outcome, tasks, attempts } = await world.over(id)
  assert.deepEqual([outcome, tasks], ['complete', { done: 2 }])
  const accounts = await Promise.all(
    attempts.map(async each => (await world.store.sessions.get(each.session_id))?.account),
  )
  assert.deepEqual(accounts, [row.account, row.account], 'the next task has the login of the run, not of that shell')
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

test('a budget is one for the whole run: when it is spent nothing more begins, and nothing is left hanging', async t => {
  const counts = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }
  const agent = scriptedAgent(() => ({ tells: [{ kind: 'usage', ...counts }] }))
  const world = await runWorld(t, agent)
  for (const name of ['one', 'two', 'three']) await world.add(name)
  const { id } = await world.run({ budget: { tokens: 3 } })
  const { outcome, reason, tasks, attempts } = await world.over(id)
  assert.deepEqual([outcome, reason], ['limit_reached', 'its budget of 3 tokens is spent'])
  assert.deepEqual(tasks, { done: 1, ready: 2 }, 'the second met the bound in the middle and is given back')
  assert.deepEqual(
    attempts.map(attempt => attempt.outcome),
    ['done', 'interrupted'],
  )
  const why = "the run's budget of 3 tokens is spent"
  assert.equal(attempts[1]?.reason, why)
  const session = attempts[1]?.session_id ?? ''
  assert.deepEqual([(await world.view(session)).status, (await world.view(session)).reason], ['stopped', why])
  const last = (await world.events(session)).findLast(({ kind }) => kind === 'session.ended')
  assert.deepEqual([last?.actor, last?.body], ['daemon', { status: 'stopped', reason: why }], 'no person did that')
})

test('what keeps a task from being begun ends the run with the reason, and nobody waits for ever', async t => {
  const world = await runWorld(t, meeting({}))
  await world.add('one')
  world.settings['PCC_AGENTS_PATH'] = '/no/such/program'
  const { outcome, reason } = await world.over((await world.run()).id)
  assert.equal(outcome, 'failure')
  assert.match(reason ?? '', /\/no\/such\/program/)
})

test('a run that is stopped now keeps the question of a task that waits for a person', async t => {
  const agent = meeting({ ask: [{ asks: true }] })
  const world = await runWorld(t, agent)
  await world.add('ask me')
  const { id } = await world.run()
  const waiting = await world.since(id, ({ kind }) => kind === 'session.ended')
  assert.deepEqual([waiting.attempts[0]?.now?.status, waiting.attempts[0]?.now?.decision], ['waiting_input', 1])
  await world.call('POST', `/runs/${id}/stop`, { now: true })
  const { outcome, tasks } = await world.over(id)
  assert.deepEqual([outcome, tasks], ['interrupted', { waiting: 1 }])
  const { escalations } = (await world.call('GET', '/escalations')).body
  assert.deepEqual([escalations.length, escalations[0].state], [1, 'open'])
})

test('guidance stands in the description from then on, and the agent at work is told', async t => {
  const agent = meeting({})
  const world = await runWorld(t, agent)
  const task = await world.add('wash up')
  const early = await world.call('POST', `/tasks/${task}/guidance`, { text: 'use the soft sponge' })
  assert.deepEqual(early.body, { id: task, title: 'wash up', told: false })
  const held = agent.holdAt('last request')
  const { id } = await world.run()
  const goOn = await held
  const { body } = await world.call('POST', `/tasks/${task}/guidance`, { text: 'and mind\nthe glasses' })
  assert.equal(body.told, true)
  goOn()
  await world.over(id)
  assert.match(agent.prompts[0] ?? '', /wash up\n\n\*\*User Guidance\*\*\n\nuse the soft sponge/)
  const detail = await world.call('GET', `/tasks/${task}`)
  assert.match(detail.body.task.description, /\*\*User Guidance\*\*\n\nuse the soft sponge\n\nand mind\nthe glasses$/)
})

test('the session of a task is found by the task', async t => {
  const world = await runWorld(t, meeting({}))
  const [task, other] = [await world.add('one'), await world.add('two', { feature: 'later' })]
  const { attempts } = await world.over((await world.run({ target: { kind: 'task', id: task } })).id)
  const session = await world.view(task)
  assert.deepEqual(
    [session.id, session.task],
    [attempts[0]?.session_id, 'one'],
    'in words of the person, not the brief',
  )
  const { status, body } = await world.call('GET', `/sessions/${other}`)
  assert.deepEqual([status, body.error.code], [409, 'task_without_session'])
  assert.match(body.error.next, new RegExp(`Start it with: pcc run ${other}$`))
})

test('whoever steers the session of a task that is done is told so, and nothing is advised that it refuses', async t => {
  const world = await runWorld(t, meeting({}), gitProject(t))
  const task = await world.add('one')
  await world.over((await world.run()).id)
  for (const verb of ['pause', 'stop', 'interrupt', 'resume', 'retry', 'takeover', 'handback']) {
    const { body } = await world.call('POST', `/sessions/${task}/${verb}`, {})
    assert.match(body.error.message, new RegExp(`its task ${task} is done|has failed; it is completed`), verb)
    const { project } = world
    assert.equal(
      body.error.next,
      `Add a task with: pcc task add "…" --project ${project}, then: pcc run ${project}`,
      verb,
    )
  }
})

test('a run of one task that comes after others is refused and names them; so is a session of that task', async t => {
  const world = await runWorld(t, meeting({ one: [FAILED] }))
  const one = await world.add('one', { max_retries: 0 })
  const two = await world.add('two', { after: ['one'] })
  const refused = async (path: string) => {
    const body = { project: world.project, env: {}, target: { kind: 'task', id: two } }
    return (await world.call('POST', path, body)).body.error
  }
  const waits = `Task ${two} cannot begin yet: it comes after ${one} (one).`
  const inOrder = `Run the tasks in their order with: pcc run ${world.project}`
  for (const path of ['/runs', '/runs/plan'])
    assert.deepEqual(await refused(path), { code: 'task_waits', message: waits, next: inOrder })
  const { body } = await world.call('POST', `/sessions/${two}/pause`)
  assert.match(body.error.next, new RegExp(`It comes after ${one} \\(one\\)\\. ${inOrder}$`))
  await world.over((await world.run()).id)
  assert.equal((await refused('/runs')).next, `Try ${one}, which failed, again with: pcc task reset ${one}`)
  await world.call('POST', `/tasks/${one}/cancel`)
  assert.equal(
    (await refused('/runs')).next,
    `Do it without ${one}, which was cancelled: pcc task deps rm ${one} ${two}`,
  )
})

test('an id without its letter finds a session, a task or a run; what could be several is named', async t => {
  const world = await runWorld(t, meeting({}))
  const { store, project } = world
  const tasks = openTasks({ store, clock: { now: Date.now } })
  const own = { session_id: 's-aaa111', project, text: 'Sort the cellar' }
  for (const id of ['s-aaa111', 's-ccc111'])
    await store.sessions.insert({ id, name: `of ${id}`, project, task: 'x', agent: 'none' })
  await store.sessions.insert({ id: 's-eee111', name: 'ccc', project, task: 'x', agent: 'none' })
  await store.transaction(async tx => {
    await tasks.submit({ ...own, id: 't-bbb111', alias: 'cellar' }, tx)
    await tasks.submit({ ...own, id: 't-ccc222' }, tx)
    await tasks.submit({ ...own, id: 't-ddd111' }, tx)
  })
  await world.add('one')
  const run = await world.over((await world.run()).id)
  for (const [ref, id] of [
    ['aaa', 's-aaa111'],
    ['bbb', 's-aaa111'],
    ['cellar', 's-aaa111'],
    ['ccc', 's-eee111'],
  ])
    assert.partialDeepStrictEqual((await world.call('GET', `/sessions/${ref}`)).body, { id }, ref)
  assert.equal((await world.call('GET', `/runs/${run.id.slice(2)}`)).body.id, run.id)
  for (const ref of [run.id, run.id.slice(2)])
    assert.equal((await world.call('GET', `/sessions/${ref}`)).body.error.code, 'run_not_session', ref)
  const tasksOfFile = [{ title: 'a', id: 'a', after: ['b'] }]
  const plan = await world.call('POST', '/tasks/import', { project, tasks: tasksOfFile, file: 'plan.md' })
  assert.match(plan.body.error.message, /plan\.md.*no task has the id or title "b"/)
  await store.transaction(tx => tasks.submit({ ...own, id: `t-${run.id.slice(2)}` }, tx))
  for (const path of [`/runs/${run.id.slice(2)}`, `/sessions/${run.id.slice(2)}`]) {
    const { body } = await world.call('GET', path)
    assert.deepEqual(
      [body.error.code, /t-.* \(Sort the cellar\), r-/.test(body.error.message)],
      ['session_ambiguous', true],
    )
  }
  const mixed = await world.call('GET', '/sessions/ccc1')
  assert.equal(mixed.body.id, 's-ccc111', 'one more digit is enough')
  assert.equal((await world.call('GET', '/runs/ddd')).body.error.code, 'run_unknown')
})

test('a run whose tasks only wait says so, and names all that waits for the person in it and nothing else', async t => {
  const agent = meeting({ wonder: [{ asks: true }], broken: [FAILED] })
  const world = await runWorld(t, agent)
  const broken = await world.add('broken', { max_retries: 0, priority: 2 })
  await world.add('after it', { after: ['broken'] })
  const asking = await world.add('wonder', { priority: 1 })
  const other = await world.call('POST', '/tasks', { project: '/elsewhere', title: 'other' })
  await world.call('POST', '/tasks', { project: '/elsewhere', title: 'later', after: [other.body.task.id] })
  await world.call('POST', `/tasks/${other.body.task.id}/fail`, {})
  const { id, stands } = await world.run({ settings: { PCC_EXECUTION_PARALLEL: '1' } })
  assert.equal(stands, false)
  const run = await world.since(
    id,
    ({ kind, body }) => kind === 'session.ended' && 'status' in body && body.status === 'waiting_input',
  )
  const kinds = (run.needs ?? []).map(({ kind, task_id }) => [kind, task_id]).sort()
  assert.deepEqual(kinds, [
    ['question', asking],
    ['task', broken],
  ])
  assert.equal(run.stands, true)
  const { body } = await world.call('GET', '/runs?open=true')
  assert.deepEqual(
    body.runs.map((each: { stands: boolean; held: number }) => [each.stands, each.held]),
    [[true, 0]],
  )
})

test('a limit that is not to be waited for ends the run, and its session can be resumed', async t => {
  const limit = { source: 'result', message: 'full', resetsAt: Date.now() + 3_600_000 } as const
  const agent = meeting({ one: [{ failure: { kind: 'limit', message: 'full', limit } }] })
  const world = await runWorld(t, agent)
  for (const name of ['one', 'two']) await world.add(name)
  const { outcome, reason, tasks, attempts } = await world.over((await world.run({ auto_resume: false })).id)
  const session = attempts[0]?.session_id
  assert.deepEqual([outcome, tasks], ['limit_reached', { waiting: 1, ready: 1 }])
  assert.equal(reason, `the account is limited, and ${session} does not go on by itself: pcc resume ${session}`)
})

test('the agent of a run gets what GET /tasks/:ref/brief shows before it begins, with the spec and the code too', async t => {
  // In a small index every word is a common one.
  const others = Array.from({ length: 30 }, (_, n) => [`src/part${n}.ts`, `export const part${n} = ${n}\n`])
  const project = gitProject(t, {
    ...Object.fromEntries(others),
    'src/cart.ts': 'export function checkCart(items: number): boolean {\n  return items > 0\n}\n',
    '.perpetualcc/features/shop/spec.md': '# Shop\n\nA cart holds at least one thing.\n',
  })
  const agent = scriptedAgent()
  const world = await runWorld(t, agent, project)
  world.settings['PCC_KNOWLEDGE_ENABLED'] = 'true'
  const task = await world.add('checkCart in src/cart.ts refuses an empty cart', { feature: 'shop' })
  const { body: shown } = await world.call('GET', `/tasks/${task}/brief`)
  await world.over((await world.run()).id)
  assert.equal(agent.prompts[0], shown.text)
  for (const part of ['A cart holds at least one thing', 'src/cart.ts:1-3', `on branch pcc/${task}`])
    assert.ok(shown.text.includes(part), `${part} is missing: ${shown.text}`)
})
