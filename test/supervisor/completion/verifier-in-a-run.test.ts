import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { scriptedAgent, type Turn } from '../session/scripted-agent.ts'
import { landWorld, write } from './completion-world.ts'

const USAGE = { inputTokens: 900, outputTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0.5 }

/** An agent that works on a task, and judges as the script says. */
function worker(...opinions: (string | Turn)[]) {
  return scriptedAgent((prompt, _call, cwd): Turn => {
    const worked = [{ kind: 'usage', ...USAGE, inputTokens: 2_000, costUsd: 2 }] as const
    if (!/Another agent says|cannot be used/.test(prompt))
      return { says: () => write(cwd, 'a.txt', 'a\n'), tells: [...worked] }
    const next = opinions.shift() ?? '<verify-pass/>'
    return typeof next === 'string' ? { says: () => next, tells: [{ kind: 'usage', ...USAGE }] } : next
  })
}

const FAIL =
  '{"verdict":"fail","criteria":[{"number":1,"met":false,"reason":"a.txt says too little"}],"remarks":"say more"}'

test('what a verifier finds goes back in its words, its word alone proves a task, and its cost is the task’s', async t => {
  const agent = worker(FAIL, '<verify-pass/>')
  const world = await landWorld(t, agent)
  const task = await world.add('make a.txt', { acceptance: ['a.txt is worth reading'] } as object)
  const { id } = await world.run()
  assert.equal((await world.over(id)).outcome, 'complete')
  const { state, verification } = await world.task(task)
  assert.deepEqual([state, verification], ['done', 'passed'])
  assert.match(agent.prompts[2] ?? '', /does not hold yet[\s\S]*a\.txt says too little/)
  const [spent] = await world.store.spending.of([{ scope: 'task', key: task }])
  assert.equal(spent?.cost_usd, 5)
  const by_purpose = {
    work: { tokens: 2_100, cost_usd: 2 },
    verifier: { tokens: 2_000, cost_usd: 1 },
    brain: { tokens: 0, cost_usd: 0 },
    retries: { tokens: 2_100, cost_usd: 2 },
    limits: { tokens: 0, cost_usd: 0 },
  }
  const { scopes } = (await world.call('GET', '/budget')).body
  assert.deepEqual(scopes[0].by_purpose, by_purpose, 'the budget of the day')
  const { spent: reported } = (await world.call('GET', '/report?since=1h&zone=UTC')).body
  assert.deepEqual([reported.by_purpose, reported.cost_usd], [by_purpose, 5], 'the report')
})

test('a verifier that says nothing usable twice has passed nothing: a person is asked', async t => {
  const agent = worker('Looks fine!', 'I said so.')
  const world = await landWorld(t, agent)
  const task = await world.add('make a.txt', { acceptance: ['a.txt is worth reading'], paths: ['a.txt'] } as object)
  const other = await world.add('make a.txt longer', { paths: ['a.txt'] })
  const { id } = await world.run({ parallel: 2 })
  for await (const { kind } of world.store.follow(0)) if (kind === 'task.verified') break
  const [asked] = (await world.call('GET', '/escalations')).body.escalations
  assert.equal(asked.kind, 'error')
  assert.match(asked.reason, /^verifier could not run\. The verifier gave no opinion that counts: (?!.*opinion)/)
  assert.equal((await world.task(task)).state, 'verifying')
  await world.since(id, ({ kind, body }) => kind === 'task.started' && body.task_id === other)
  assert.deepEqual((await world.detail(id)).kept_apart, [], 'work that waits for a person keeps no other task apart')
  assert.throws(() => world.git('show', 'main:a.txt'))
})

test('tasks whose checks could not run for one reason are one row, and one yes tries all of them again', async t => {
  const agent = worker('Fine.', 'Fine.', 'Fine.', 'Fine.')
  const world = await landWorld(t, agent)
  for (const name of ['one', 'two'])
    await world.add(`make a.txt, ${name}`, { acceptance: ['a.txt is there'] } as object)
  const { id } = await world.run()
  const needs = async () => (await world.call('GET', '/needs')).body
  let page = await needs()
  while (page.needs[0]?.count !== 2) {
    await sleep(10)
    page = await needs()
  }
  assert.deepEqual([page.needs.length, page.needs[0].kind, page.escalations.length], [1, 'gate', 1])
  const answer = { verdict: 'allow' }
  assert.equal((await world.call('POST', `/escalations/${page.needs[0].number}/answer`, answer)).status, 200)
  assert.equal((await world.over(id)).outcome, 'complete')
  assert.deepEqual((await needs()).needs, [])
})

test('a verifier whose account is limited is asked again later, and nobody is bothered', async t => {
  const failure = { kind: 'limit', message: 'limit', limit: { source: 'result', message: 'limit' } } as const
  const agent = worker({ refused: failure })
  const world = await landWorld(t, agent)
  const task = await world.add('make a.txt', { acceptance: ['a.txt is worth reading'] } as object)
  const { id } = await world.run()
  while ((await world.store.gates.list()).length === 0) await sleep(10)
  assert.equal((await world.call('GET', '/escalations')).body.escalations.length, 0)
  assert.equal((await world.task(task)).state, 'verifying')
  world.pass(7 * 3_600_000)
  await world.supervisor.completion.checkAgain()
  assert.equal((await world.over(id)).outcome, 'complete')
})

test('work that changed nothing because something was refused waits for the person at once, on no stronger model', async t => {
  for (const { verdict, prompts } of [
    { verdict: FAIL, prompts: 2 },
    { verdict: 'I cannot say.', prompts: 3 },
  ]) {
    const agent = scriptedAgent((prompt): Turn => {
      if (/Another agent says|cannot be used/.test(prompt)) return { says: () => verdict }
      return { wants: 'rm -rf legacy', says: () => 'I was not allowed to.' }
    })
    const world = await landWorld(t, agent)
    const task = await world.add('remove legacy', { acceptance: ['legacy is gone'] } as object)
    const { id } = await world.run()
    for await (const { kind, body } of world.store.follow(0))
      if (kind === 'session.ended' && body.status === 'paused') break
    const { state, reason } = await world.task(task)
    assert.deepEqual([state, reason?.split(':')[0]], ['waiting', 'waits for your yes to Bash rm -rf legacy'])
    const { attempts } = (await world.call('GET', `/runs/${id}`)).body
    assert.deepEqual([attempts.length, agent.prompts.length], [1, prompts], 'one attempt and one verifier')
    const rows = (await world.call('GET', '/escalations')).body.escalations
    assert.deepEqual(
      rows.map((row: { state: string }) => row.state).filter((row: string) => row === 'open'),
      [],
    )
  }
})
