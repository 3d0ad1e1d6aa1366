import assert from 'node:assert/strict'
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type RunWorld, runWorld } from '../../daemon/runs/run-world.ts'
import { gitProject } from '../../support/world.ts'
import { scriptedAgent, type Turn } from '../session/scripted-agent.ts'
import { FAILED, meeting, named } from './scripts.ts'

const OVERLOADED: Turn = { refused: { kind: 'overloaded', message: 'too many at once' } }
const MINUTE = 60_000

/** Lets the session of the run retry as often as it does by itself, without the waits. */
async function untilGivenUp(world: RunWorld, run: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const { attempts } = await world.since(run, ({ kind }) => kind === 'session.ended')
    const session = attempts.at(-1)?.session_id ?? ''
    await world.ended(session, tries + 1)
    if ((await world.store.sessions.get(session))?.resumes_at == null) return
    world.pass(3 * MINUTE)
  }
}

test('a cause that may pass is tried again by a fresh session, after a wait that stands in the row of the run', async t => {
  const agent = scriptedAgent((_, call) => (call < 4 ? OVERLOADED : {}))
  const world = await runWorld(t, agent)
  const task = await world.add('a')
  await world.add('b')
  const { id } = await world.run()
  await untilGivenUp(world, id)
  const { reason, attempts } = await waiting(world, id)
  assert.match(reason ?? '', new RegExp(`^${task} is tried again at (\\S+ )?\\d\\d:\\d\\d: too many at once`))
  assert.deepEqual(
    attempts.map(({ outcome }) => outcome),
    ['failed'],
  )
  assert.equal(agent.calls(), 4, 'the other task is not begun: it would meet the same')
  world.pass(MINUTE)
  world.supervisor.runs.look(id)
  const over = await world.over(id)
  assert.deepEqual(
    [over.outcome, over.attempts.map(({ task_id }) => task_id === task)],
    ['complete', [true, true, false]],
  )
  assert.deepEqual((await world.store.tasks.get(task))?.retries, 1)
})

/** Resolves with the run when its reason says what it waits for. */
async function waiting(world: RunWorld, id: string) {
  for (;;) {
    const detail = await world.detail(id)
    if (detail.reason !== null || detail.state === 'ended') return detail
    await new Promise(resolve => setImmediate(resolve))
  }
}

test("a task's own number of retries counts before the setting, and what was said of the run before both", async t => {
  const failing = () => Array.from({ length: 9 }, () => FAILED)
  const agent = meeting({ a: failing(), b: failing(), c: failing() })
  const world = await runWorld(t, agent)
  await world.add('a', { max_retries: 0 })
  await world.add('b', { max_retries: 4 })
  await world.add('c')
  const settings = { PCC_EXECUTION_MAX_RETRIES: '1' }
  const first = await world.over((await world.run({ settings })).id)
  assert.equal(first.outcome, 'failure')
  assert.deepEqual(counts(agent.prompts), { a: 1, b: 5, c: 2 })
  for (const { id } of await world.store.tasks.list({ project: world.project }))
    await world.call('POST', `/tasks/${id}/reset`, {})
  agent.prompts.length = 0
  await world.over((await world.run({ settings, max_retries: 2 })).id)
  assert.deepEqual(counts(agent.prompts), { a: 3, b: 3, c: 3 }, 'what failed before the reset is not counted')
})

function counts(prompts: readonly string[]): Record<string, number> {
  const counted: Record<string, number> = {}
  for (const name of prompts.map(named)) counted[name] = (counted[name] ?? 0) + 1
  return counted
}

test('a task that asks for the default number of retries keeps it when the setting differs', async t => {
  const agent = meeting({ a: Array.from({ length: 9 }, () => FAILED), b: Array.from({ length: 9 }, () => FAILED) })
  const world = await runWorld(t, agent)
  const task = await world.add('a', { max_retries: 3 })
  await world.add('b')
  await world.over((await world.run({ settings: { PCC_EXECUTION_MAX_RETRIES: '1' } })).id)
  assert.deepEqual(counts(agent.prompts), { a: 4, b: 2 })
  await world.call('POST', `/tasks/${task}`, { max_retries: null })
  assert.equal((await world.store.tasks.get(task))?.max_retries, null, 'null gives it back to the settings')
})

test('a sigil at the end of a long report counts, and one that the report only quotes does not', async t => {
  const long = 'It was a long way. '.repeat(3_000)
  const agent = meeting({
    a: [{ says: () => `${long}\n\n<next-model>opus</next-model>` }],
    b: [{ says: () => `\`\`\`\n${long}\n<promise>FAILURE: quoted</promise>\n\`\`\`\n` }],
    c: [{ says: () => `${long}\n\n<promise>FAILURE: the ground is rock</promise>` }],
  })
  const world = await runWorld(t, agent)
  for (const name of ['a', 'b', 'c', 'd']) await world.add(name)
  const { outcome, reason, attempts } = await world.over((await world.run()).id)
  assert.deepEqual([outcome, reason], ['failure', 'the ground is rock'])
  assert.deepEqual(
    attempts.map(({ model, outcome }) => [model, outcome]),
    [
      ['sonnet', 'done'],
      ['opus', 'done'],
      ['haiku', 'failed'],
    ],
  )
})

const FAULTS: Turn[] = [
  { refused: { kind: 'auth', message: 'The login was refused (403).', status: 403 } },
  { failure: { kind: 'auth', message: 'Claude Code is not logged in.' } },
  { failure: { kind: 'billing', message: 'Your credit balance is too low' } },
]

const WAYS = [
  ...(['it is resumed', 'it is resumed while the old key is tried'] as const),
  ...(['the same run is typed again', 'the same run is typed again after a stop'] as const),
]

for (const how of WAYS)
  test(`a run whose key was refused goes on with another key when ${how}, in a new conversation and without a retry`, t =>
    goesOnWithNewKey(t, how))

async function goesOnWithNewKey(t: TestContext, how: (typeof WAYS)[number]): Promise<void> {
  const typedAgain = how.startsWith('the same run')
  const [fault = {}] = FAULTS
  const keys: (string | undefined)[] = []
  const agent = scriptedAgent(() => (keys.at(-1) === 'old' ? fault : {}))
  const { open } = agent.driver
  const [tries, isAsked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  agent.driver.open = async options => {
    keys.push(options.env['ANTHROPIC_API_KEY'])
    if (keys.length === 2 && how === 'it is resumed while the old key is tried') {
      tries.resolve()
      await isAsked.promise
    }
    return open(options)
  }
  const world = await runWorld(t, agent)
  for (const title of ['a', 'b']) await world.add(title)
  const { id } = await world.run({ env: { ANTHROPIC_API_KEY: 'old' }, max_retries: 0 })
  const { attempts } = await world.since(id, ({ kind, body }) => kind === 'session.ended' && body.status === 'paused')
  const session = attempts[0]?.session_id ?? ''
  const { reason } = await world.when(session, ({ ended_at }) => ended_at !== null)
  const typed = `export ANTHROPIC_API_KEY=<new key> && pcc resume ${id} --detach`
  assert.ok(reason?.includes(`\n${typed}\n`), reason ?? '')
  assert.equal((await world.store.gates.list())[0]?.reason?.split('\n')[1], typed, 'the row says what to type')
  if (how === 'it is resumed while the old key is tried') {
    await world.call('POST', '/accounts/try', {})
    await tries.promise
    setTimeout(isAsked.resolve, 100) // the request below is there by then; if not, the try is over before it
  }
  if (how.endsWith('after a stop')) await world.store.runs.update(id, { stopping: true })
  const env = { ANTHROPIC_API_KEY: 'new' }
  const again = { project: world.project, target: { kind: 'project' }, env }
  const { status, body } = typedAgain
    ? await world.call('POST', '/runs', again)
    : await world.call('POST', `/runs/${id}/resume`, { env })
  assert.deepEqual([status, body.id, body.mended], [200, id, typedAgain || undefined])
  const over = await world.over(id)
  assert.deepEqual([over.outcome, over.attempts.map(({ outcome }) => outcome)], ['complete', ['done', 'done']])
  assert.deepEqual([keys[0], keys.at(-2), keys.at(-1)], ['old', 'new', 'new'], 'the next task has the new key too')
  for (const { retries, attempt } of await world.store.tasks.list({})) assert.deepEqual([retries, attempt], [0, 1])
  assert.match(agent.prompts[0] ?? '', /^## Your task: /m)
  assert.equal(agent.prompts.at(-2), agent.prompts[0], 'nothing had begun: the new conversation gets the whole brief')
}

for (const fault of FAULTS) {
  const { message } = fault.refused ?? fault.failure ?? {}
  test(`a fault of the account fails no task, uses no retry, and ends by itself: ${message}`, async t => {
    let isMended = false
    let isFirst = true
    const agent = scriptedAgent(() => {
      const turn = isFirst || isMended ? {} : fault
      isFirst = false
      return turn
    })
    const world = await runWorld(t, agent)
    for (const title of ['a', 'b', 'c']) await world.add(title)
    const { id } = await world.run({ max_retries: 0 })
    const { attempts } = await world.since(id, ({ kind, body }) => kind === 'session.ended' && body.status === 'paused')
    const session = attempts.at(-1)?.session_id ?? ''
    const waits = await world.when(session, ({ ended_at }) => ended_at !== null)
    assert.match(waits.reason ?? '', /(Log in with: .*|balance and plan\.)\nThe work goes on by itself then\.$/)
    const [gate] = await world.store.gates.list()
    assert.ok(gate?.source === (fault.failure?.kind === 'billing' ? 'credit' : 'login') && gate.closed_at !== null)
    assert.match(gate.reason ?? '', /\n(Log in with|Look at)/, 'cause and remedy are stored')
    // The tries that fail come later and later, and cost neither an attempt nor a retry.
    for (let times = 2; times < 5; times += 1) {
      world.pass(20 * MINUTE)
      await world.ended(session, times)
    }
    const counts = await world.store.tasks.counts({ project: world.project })
    assert.deepEqual(counts, { done: 1, waiting: 1, ready: 1 })
    isMended = true
    assert.equal((await world.call('POST', '/accounts/try')).status, 200)
    const over = await world.over(id)
    assert.deepEqual(
      [over.outcome, over.attempts.map(({ outcome }) => outcome)],
      ['complete', ['done', 'done', 'done']],
    )
    for (const { retries, attempt } of await world.store.tasks.list({})) assert.deepEqual([retries, attempt], [0, 1])
    assert.equal((await world.store.gates.list())[0]?.source, null, 'nothing waits for a person any more')
  })
}

test('a new login is found by its file, and a person who resumes or starts anything has the account tried', async t => {
  let isMended = false
  const agent = scriptedAgent(() => (isMended ? {} : (FAULTS[0] ?? {})))
  const world = await runWorld(t, agent)
  const home = world.settings['HOME'] ?? ''
  const start = () => world.start('x', { env: { HOME: home } })
  const id = await start()
  await world.ended(id, 1)
  await world.call('POST', `/sessions/${id}/resume`, { env: { HOME: home } })
  await world.ended(id, 2)
  isMended = true
  mkdirSync(join(home, '.claude'), { recursive: true })
  writeFileSync(join(home, '.claude', '.credentials.json'), '{}')
  utimesSync(join(home, '.claude', '.credentials.json'), new Date(), new Date(Date.now() + 5_000))
  world.supervisor.wakeWaiting()
  await world.when(id, ({ status }) => status === 'completed')
})

test('a task of a run whose conversation is lost in the middle gets its brief again behind what was kept', async t => {
  const [, fault = {}] = FAULTS
  let isMended = false
  const agent = scriptedAgent(() => (isMended ? {} : fault))
  const world = await runWorld(t, agent)
  await world.add('a')
  const { id } = await world.run()
  await world.since(id, ({ kind, body }) => kind === 'session.ended' && body.status === 'paused')
  isMended = true
  agent.lose()
  await world.call('POST', `/runs/${id}/resume`, {})
  assert.equal((await world.over(id)).outcome, 'complete')
  const [brief, restored] = agent.prompts
  assert.match(restored ?? '', /^CONTEXT RESTORATION/)
  assert.ok(restored?.endsWith(`The whole brief of that task:\n${brief}`), restored)
})

test('a task that failed in an earlier run does not fail the next one, which names it; cancelled under a run, it is no failure', async t => {
  const agent = meeting({ a: [FAILED] })
  const world = await runWorld(t, agent)
  const task = await world.add('a')
  const once = async () => {
    const { outcome, reason, tasks } = await world.over((await world.run({ max_retries: 0 })).id)
    return [outcome, reason?.replace(/, \d of \d unverified \(.*?\)(?=;|$)/, ''), tasks]
  }
  assert.deepEqual(await once(), ['failure', '1 task failed', { failed: 1 }])
  const earlier = `1 task failed earlier: pcc task reset ${task}`
  assert.deepEqual(await once(), ['no_plan', `no task is ready; ${earlier}`, { failed: 1 }])
  await world.add('b')
  assert.deepEqual(await once(), ['complete', `every other task is done; ${earlier}`, { done: 1, failed: 1 }])
  await world.add('c', { after: ['a'] })
  assert.deepEqual(await once(), ['blocked', `1 task cannot run; ${earlier}`, { done: 1, failed: 1, blocked: 1 }])
  await world.call('POST', `/tasks/${task}/reset`, {})
  assert.deepEqual(await once(), ['complete', 'every task is done', { done: 3 }])

  const last = await world.add('d')
  const held = agent.holdAt('tool')
  const { id } = await world.run({ target: { kind: 'task', id: last } })
  const goOn = await held
  await world.call('POST', `/tasks/${last}/cancel`, {})
  goOn()
  const { outcome, reason } = await world.over(id)
  assert.deepEqual([outcome, reason], ['complete', 'its tasks were cancelled'])
})

test('what nobody can allow in a task is not tried again and again: two attempts that fail over it are enough', async t => {
  const refused = (command: string): Turn => ({ wants: command, ...FAILED })
  const agent = meeting({
    a: Array.from({ length: 9 }, () => refused('git push --force origin main')),
    b: Array.from({ length: 9 }, (_, at) => refused(`git switch other-${at}`)),
  })
  const world = await runWorld(t, agent, gitProject(t))
  const [a, b] = [await world.add('a'), await world.add('b')]
  const { outcome, attempts } = await world.over((await world.run({ max_retries: 3 })).id)
  assert.equal(outcome, 'failure')
  const made = (task: string) => attempts.filter(({ task_id }) => task_id === task).length
  assert.deepEqual([made(a), made(b)], [2, 4], 'another request each time is another try')
  const { reason } = (await world.store.tasks.get(a)) ?? {}
  assert.match(
    reason ?? '',
    /^two attempts were refused Bash git push .*, which nobody can allow in a task \(git push is left/,
  )
})
