import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { StoredEvent } from '../../../src/domain/event.ts'
import { tempDir } from '../../support/world.ts'
import { type LandWorld, landWorld, write, writer } from './completion-world.ts'

const agentFor = () =>
  writer({
    'returns it': cwd => write(cwd, 'a.txt', 'better\n'),
    'make a.txt': cwd => write(cwd, 'a.txt', 'a\n'),
  })

/** Resolves with the first event that fits. */
async function first(world: LandWorld, fits: (event: StoredEvent) => boolean): Promise<StoredEvent> {
  for await (const event of world.store.follow(0)) if (fits(event)) return event
  throw new Error('it never came')
}

const pending = async (world: LandWorld) => (await world.call('GET', '/escalations')).body.escalations

test('where a review is required nothing is merged before a person has looked, and what they return goes to the same conversation', async t => {
  const agent = agentFor()
  const world = await landWorld(t, agent)
  world.settings['PCC_MERGE_REVIEW'] = 'required'
  world.settings['PCC_GATES_TEST'] = 'test -f a.txt'
  const task = await world.add('make a.txt')
  const { id } = await world.run()
  await first(world, ({ kind }) => kind === 'task.merging')
  const [asked] = await pending(world)
  assert.deepEqual([asked.kind, asked.input.task], ['review', task])
  assert.match(asked.reason, new RegExp(`pcc review ${task}`))
  assert.throws(() => world.git('show', 'main:a.txt'))
  const { body: said } = await world.call('POST', `/tasks/${task}/done`, {})
  assert.match(said.error.next, new RegExp(`^Let it in with: pcc review ${task} --approve`))
  const { body: diff } = await world.call('GET', `/tasks/${task}/diff`)
  assert.deepEqual([diff.source, diff.files[0].path], ['worktree', 'a.txt'])
  await world.call('POST', `/escalations/${asked.number}/answer`, { verdict: 'deny', reason: 'make it better' })
  await first(world, ({ kind, body }) => kind === 'task.returned' && 'cause' in body && body.cause === 'review')
  await first(world, ({ kind, id: at }) => kind === 'task.merging' && at > asked.number && agent.prompts.length > 1)
  assert.match(agent.prompts[1] ?? '', /make it better/)
  assert.equal((await world.detail(id)).attempts.length, 1)
  let [again] = await pending(world)
  while (!again) [again] = await pending(world)
  assert.notEqual(again.number, asked.number)
  await world.call('POST', `/escalations/${again.number}/answer`, { verdict: 'allow' })
  assert.equal((await world.over(id)).outcome, 'complete')
  assert.equal(world.git('show', 'main:a.txt'), 'better')
})

for (const [how, budget] of [
  ['stopped with --now', undefined],
  ['ended by its budget', { turns: 1 }],
] as const) {
  test(`a run that is ${how} leaves finished work that waits for a review, and a yes merges it`, async t => {
    const world = await landWorld(t, agentFor())
    world.settings['PCC_MERGE_REVIEW'] = 'required'
    world.settings['PCC_GATES_TEST'] = 'test -f a.txt'
    const task = await world.add('make a.txt')
    const { id } = await world.run(budget && { budget })
    await first(world, ({ kind }) => kind === 'task.merging')
    const [asked] = await pending(world)
    if (!budget) await world.call('POST', `/runs/${id}/stop`, { now: true })
    assert.equal((await world.over(id)).outcome, budget ? 'limit_reached' : 'interrupted')
    assert.deepEqual(
      (await pending(world)).map(({ number }: { number: number }) => number),
      [asked.number],
    )
    assert.equal((await world.task(task)).state, 'merging')
    await world.call('POST', `/escalations/${asked.number}/answer`, { verdict: 'allow' })
    await first(world, ({ kind }) => kind === 'task.finished')
    assert.equal(world.git('show', 'main:a.txt'), 'a')
  })
}

test('a gate that cannot run at all is nobody’s success: a person is asked, a yes looks again, a no gives it up', async t => {
  const world = await landWorld(t, agentFor())
  world.settings['PCC_GATES_TEST'] = '/no/such/program'
  const tasks = [await world.add('make a.txt'), await world.add('make a.txt too')]
  const { id } = await world.run()
  await first(
    world,
    ({ kind, body }) =>
      kind === 'session.noted' && 'text' in body && body.text.startsWith(`A person has to look at ${tasks[1]}`),
  )
  const rows = await pending(world)
  assert.deepEqual(
    rows.map(({ kind, input }: { kind: string; input: { task: string } }) => [kind, input.task]),
    tasks.map(task => ['error', task]),
  )
  for (const task of tasks)
    assert.equal((await world.task(task)).state, 'verifying', 'and the second has begun all the same')
  assert.deepEqual(
    (await world.detail(id)).attempts.map(({ now }) => now?.decision),
    [rows[0].number, rows[0].number],
    'the board names the row that pcc pending has for both',
  )
  world.settings['PCC_GATES_TEST'] = 'true'
  // A no is for one task; a yes is for all that wait for the same reason.
  await world.call('POST', `/escalations/${rows[1].number}/answer`, { verdict: 'deny', reason: 'not wanted' })
  await world.call('POST', `/escalations/${rows[0].number}/answer`, { verdict: 'allow' })
  assert.equal((await world.over(id)).outcome, 'failure')
  assert.deepEqual(await Promise.all(tasks.map(async task => (await world.task(task)).state)), ['done', 'failed'])
  assert.match((await world.task(tasks[1] ?? '')).reason ?? '', /not wanted/)
})

for (const [word, state] of [
  ['done', 'done'],
  ['fail', 'failed'],
  ['cancel', 'cancelled'],
] as const) {
  test(`pcc task ${word} while its gates run is the last word, and ends them`, async t => {
    const world = await landWorld(t, agentFor())
    const mark = join(tempDir(t), 'pid')
    world.settings['PCC_AGENTS_SANDBOX'] = 'off' // the gate writes outside of the project
    world.settings['PCC_GATES_TEST'] = `echo $$ > ${mark}; sleep 60`
    const task = await world.add('make a.txt')
    const { id } = await world.run()
    const pid = await gateAt(mark)
    const learns = new Promise<void>(resolve => {
      world.daemon.memory.poke = resolve
    })
    await world.call('POST', `/tasks/${task}/${word}`, {})
    await learns // long after the agent has ended
    await world.over(id)
    assert.equal((await world.task(task)).state, state)
    await gone(pid)
    assert.throws(() => world.git('show', 'main:a.txt'), 'nothing of it has landed')
  })
}

test('a run that is stopped now ends the gates that run for it, and gives the task back', async t => {
  const world = await landWorld(t, agentFor())
  const mark = join(tempDir(t), 'pid')
  world.settings['PCC_AGENTS_SANDBOX'] = 'off' // the gate writes outside of the project
  world.settings['PCC_GATES_TEST'] = `echo $$ > ${mark}; sleep 60`
  const task = await world.add('make a.txt')
  const { id } = await world.run()
  const pid = await gateAt(mark)
  await world.call('POST', `/runs/${id}/stop`, { now: true })
  const { outcome, attempts } = await world.over(id)
  assert.equal(outcome, 'interrupted')
  assert.equal(attempts[0]?.outcome, 'interrupted')
  assert.equal((await world.task(task)).state, 'ready')
  await gone(pid)
})

test('what fails while its run is paused goes back when the run goes on', async t => {
  const agent = agentFor()
  const world = await landWorld(t, agent)
  const mark = join(tempDir(t), 'pid')
  world.settings['PCC_AGENTS_SANDBOX'] = 'off' // the gate writes outside of the project
  world.settings['PCC_GATES_TEST'] = `if test -f ${mark}; then exit 0; fi; echo $$ > ${mark}; sleep 0.3; exit 1`
  await world.add('make a.txt')
  const { id } = await world.run()
  await gateAt(mark)
  await world.call('POST', `/runs/${id}/pause`, {})
  await first(world, ({ kind }) => kind === 'task.returned')
  const [attempt] = (await world.detail(id)).attempts
  const row = await world.store.sessions.get(attempt?.session_id ?? '')
  assert.deepEqual([row?.ended_as, row?.resumes_at, agent.prompts.length], ['paused', null, 1])
  await world.call('POST', `/runs/${id}/resume`, {})
  assert.equal((await world.over(id)).outcome, 'complete')
  assert.equal(agent.prompts.length, 2)
})

test('what fails while its account is shut waits for that, and no model is called meanwhile', async t => {
  const agent = agentFor()
  const world = await landWorld(t, agent)
  const mark = join(tempDir(t), 'pid')
  world.settings['PCC_AGENTS_SANDBOX'] = 'off' // the gate writes outside of the project
  world.settings['PCC_GATES_TEST'] = `if test -f ${mark}; then exit 0; fi; echo $$ > ${mark}; sleep 0.3; exit 1`
  await world.add('make a.txt')
  const { id } = await world.run()
  await gateAt(mark)
  await world.call('POST', '/quota/hold', {})
  await first(world, ({ kind }) => kind === 'task.returned')
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(agent.prompts.length, 1)
  await world.call('POST', '/quota/release', {})
  assert.equal((await world.over(id)).outcome, 'complete')
  assert.equal(agent.prompts.length, 2)
})

async function gateAt(mark: string): Promise<number> {
  while (!existsSync(mark) || readFileSync(mark, 'utf8').trim() === '')
    await new Promise(resolve => setTimeout(resolve, 10))
  return Number(readFileSync(mark, 'utf8'))
}

async function gone(pid: number): Promise<void> {
  while (existsSync(`/proc/${pid}/cwd`)) await new Promise(resolve => setTimeout(resolve, 10))
}
