import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionStatus } from '../../src/domain/api.ts'
import { type Task, TaskView, type TaskWill } from '../../src/domain/task.ts'
import { predictTurn } from '../../src/tasks/view.ts'
import { queued } from '../cli/render/sample.ts'
import { DATABASES } from '../store/databases.ts'
import { openQueue, type Queue, SESSION } from './a-queue.ts'

for (const database of DATABASES) {
  test(`${database.name}: tasks are taken by priority, then by age, one at a time`, async t => {
    const queue = await openQueue(t, database)
    await queue.add('a')
    await queue.add('b')
    await queue.add('urgent', { priority: 10 })
    await queue.add('later', { priority: -5 })
    assert.deepEqual(await queue.titles(), ['urgent', 'a', 'b', 'later'])
    assert.deepEqual(await runAll(queue), ['urgent', 'a', 'b', 'later'])
    assert.deepEqual(await queue.titles(), [])
  })

  test(`${database.name}: the queues of two sessions know nothing of one another`, async t => {
    const queue = await openQueue(t, database)
    await queue.add('mine')
    await queue.add('theirs', { session: 's-other', priority: 9 })
    assert.equal((await queue.claim())?.title, 'mine')
    assert.equal((await queue.claim('s-other'))?.title, 'theirs')
  })

  test(`${database.name}: the database itself refuses a second task at work in one session`, async t => {
    const queue = await openQueue(t, database)
    const [first, second] = [await queue.add('a'), await queue.add('b')]
    await queue.move(first, 'running')
    await assert.rejects(queue.move(second, 'running'), /unique/i)
    assert.equal((await queue.get(second)).state, 'ready')
  })

  test(`${database.name}: of two that take the same task at once one wins, and the other gets the next or nothing`, async t => {
    const queue = await openQueue(t, database)
    await queue.add('only one')
    const taken = await Promise.all([queue.claim(), queue.claim()])
    assert.deepEqual(taken.map(task => task?.title).sort(), ['only one', undefined])
  })

  test(`${database.name}: what comes after a task is ready when that is done, whatever its priority`, async t => {
    const queue = await openQueue(t, database)
    const build = await queue.add('build')
    const test = await queue.add('test', { after: [build.id] })
    await queue.add('deploy', { priority: 10, after: ['test', 'build'] })
    await queue.add('tidy', { priority: -1 })
    assert.deepEqual([test.state, test.open_blockers], ['blocked', 1])
    assert.deepEqual(await queue.titles(), ['build', 'test', 'deploy', 'tidy'])
    assert.deepEqual(await runAll(queue), ['build', 'test', 'deploy', 'tidy'])
  })

  test(`${database.name}: a failed task holds up what comes after it and is named; tried again, it does not`, async t => {
    const queue = await openQueue(t, database)
    const build = await queue.add('build')
    const ship = await queue.add('ship', { after: ['build'] })
    await queue.add('other')
    await queue.claim()
    await queue.move(build, 'failed', { reason: 'the compiler is missing' })
    const held = await queue.get(ship)
    assert.deepEqual([held.state, held.reason], ['blocked', `comes after ${build.id} (build), which failed`])
    const late = await queue.add('announce', { after: ['build'] })
    assert.equal(late.reason, held.reason, 'one that is added later is held up by it too')
    assert.deepEqual(await queue.titles(), ['other', 'ship', 'announce'])
    assert.deepEqual(await runAll(queue), ['other'])

    await queue.move(build, 'ready')
    assert.equal((await queue.get(ship)).reason, null)
    assert.deepEqual(await runAll(queue), ['build', 'ship', 'announce'])
    assert.equal((await queue.get(build)).attempt, 2)
  })

  test(`${database.name}: of two failed blockers the other is named when one is tried again`, async t => {
    const queue = await openQueue(t, database)
    const [a, b] = [await queue.add('a'), await queue.add('b')]
    const both = await queue.add('both', { after: ['a', 'b'] })
    for (const task of [a, b]) {
      await queue.claim()
      await queue.move(task, 'failed')
    }
    assert.match((await queue.get(both)).reason ?? '', /\(b\), which failed$/)
    await queue.move(b, 'ready')
    assert.match((await queue.get(both)).reason ?? '', /\(a\), which failed$/)
  })

  test(`${database.name}: a cancelled task holds up what comes after it, and nothing new can come after it`, async t => {
    const queue = await openQueue(t, database)
    const plan = await queue.add('plan')
    const act = await queue.add('act', { after: [plan.id] })
    await queue.move(plan, 'cancelled')
    assert.equal((await queue.get(act)).reason, `comes after ${plan.id} (plan), which was cancelled`)
    await assert.rejects(queue.add('more', { after: [plan.id] }), { code: 'task_cancelled' })
    assert.equal((await queue.tasks.list({ session: SESSION })).length, 2, 'nothing is left of what was refused')
  })

  test(`${database.name}: a task that was set aside is gone on with before any other, as the same attempt`, async t => {
    const queue = await openQueue(t, database)
    await queue.add('long')
    const first = await queue.claim()
    assert.ok(first)
    await queue.store.transaction(tx =>
      queue.tasks.transition(first.id, { to: 'waiting', reason: 'limit', wakesAt: 99, attempt: 1 }, tx),
    )
    await queue.add('urgent', { priority: 100 })
    const waiting = await queue.get(first)
    assert.deepEqual([waiting.reason, waiting.wakes_at], ['limit', 99])
    assert.deepEqual(await queue.titles(), ['long', 'urgent'])
    const again = await queue.claim()
    assert.deepEqual([again?.title, again?.attempt, again?.wakes_at, again?.reason], ['long', 1, null, null])
  })

  test(`${database.name}: the task that a session was opened for comes before a more urgent one that is added meanwhile`, async t => {
    const queue = await openQueue(t, database)
    const first = await queue.add('first')
    const row = { id: SESSION, name: 'n', project: '/p', task: 'first', agent: 'claude' }
    await queue.store.sessions.insert({ ...row, task_id: first.id })
    await queue.add('urgent', { priority: 9 })
    assert.deepEqual(await queue.titles(), ['first', 'urgent'])
    assert.deepEqual(await runAll(queue), ['first', 'urgent'])
  })

  test(`${database.name}: two tasks after a done one, and one named twice, count once`, async t => {
    const queue = await openQueue(t, database)
    const done = await queue.add('done')
    await runAll(queue)
    assert.equal((await queue.add('follows', { after: [done.id] })).state, 'ready')
    const open = await queue.add('open')
    assert.equal((await queue.add('last', { after: [open.id, 'open', done.id] })).open_blockers, 1)
  })
}

test('the title is the first line, the prompt is all of it', async t => {
  const queue = await openQueue(t)
  const task = await queue.add(`\n  Fix the 日本 bug \nand say why\n`)
  assert.deepEqual([task.title, task.description], ['Fix the 日本 bug', 'Fix the 日本 bug \nand say why'])
  const long = await queue.add('😀'.repeat(300))
  assert.deepEqual([[...long.title].length, long.title.at(-1), long.title.isWellFormed()], [200, '…', true])
  await assert.rejects(queue.add(' \n\t'), { code: 'task_empty' })
})

test('a view shows what comes before it, and is what the API promises', async t => {
  const queue = await openQueue(t)
  const a = await queue.add('a')
  await queue.add('b', { after: ['a'] })
  const [first, second] = await queue.tasks.queue(SESSION)
  assert.deepEqual([first?.after, second?.after], [[], [a.id]])
  assert.deepEqual(TaskView.strict().parse(second), second)
})

test('last words are kept, but not a book of them', async t => {
  const queue = await openQueue(t)
  await queue.add('talk')
  const task = await queue.claim()
  assert.ok(task)
  const done = await queue.move(task, 'done', { result: 'x'.repeat(100_000) })
  assert.equal(done.result?.length, 4_000)
})

async function runAll(queue: Queue): Promise<string[]> {
  const taken: Task[] = []
  for (let task = await queue.claim(); task; task = await queue.claim()) {
    assert.equal(await queue.claim(), undefined, 'one at a time')
    taken.push(await queue.move(task, 'done', { result: `did ${task.title}` }))
  }
  assert.ok(taken.every(({ result, title, ended_at }) => result === `did ${title}` && ended_at !== null))
  return taken.map(({ title }) => title)
}

const QUEUE = ['t-1', 't-2', 't-3'].map(id => queued({ id }))

const ROWS: [SessionStatus, { ended: boolean; resumes?: number }, TaskWill[]][] = [
  ['processing', { ended: false }, ['next', 'next', 'in_line']],
  ['idle', { ended: false }, ['next', 'next', 'in_line']],
  ['waiting_input', { ended: false }, ['next', 'next', 'in_line']],
  ['waiting_input', { ended: true }, ['on_answer', 'on_answer', 'on_answer']],
  ['completed', { ended: true }, ['now', 'in_line', 'in_line']],
  ['rate_limited', { ended: true, resumes: 5 }, ['on_reset', 'on_reset', 'on_reset']],
  ['rate_limited', { ended: true }, ['on_resume', 'on_resume', 'on_resume']],
  ['paused', { ended: true }, ['on_resume', 'on_resume', 'on_resume']],
  ['stopped', { ended: true }, ['on_resume', 'on_resume', 'on_resume']],
  ['error', { ended: true }, ['on_resume', 'on_resume', 'on_resume']],
  ['error', { ended: false }, ['on_resume', 'on_resume', 'on_resume']],
]

for (const [status, { ended, resumes }, wills] of ROWS) {
  const what = `${status}${ended ? ', ended' : ''}${resumes ? ' with a reset' : ''}`
  test(`when a task runs that is added to a session that is ${what}`, () => {
    const session = { status, ended, resumes_at: resumes ?? null }
    assert.deepEqual(
      QUEUE.map(({ id }) => predictTurn(id, QUEUE, session)),
      wills.map((will, ahead) => ({ will, ahead })),
    )
  })
}

test('what comes after another task says so, whatever the session does', () => {
  const queue = [...QUEUE, queued({ id: 't-4', state: 'blocked', after: ['t-1'] })]
  for (const status of ['completed', 'processing', 'stopped'] as const) {
    const session = { status, ended: status !== 'processing', resumes_at: null }
    assert.deepEqual(predictTurn('t-4', queue, session), { will: 'after', ahead: 3 })
  }
})
