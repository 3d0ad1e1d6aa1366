import assert from 'node:assert/strict'
import { test } from 'node:test'
import { briefFor } from '../../../src/supervisor/brief/brief-for.ts'
import { readSigils } from '../../../src/supervisor/session/read-sigils.ts'
import { keepAttempt, keepRun } from '../../store/an-attempt.ts'
import { openQueue } from '../../tasks/a-queue.ts'
import { past } from '../runs/past-attempts.ts'

const failed = (number: number, reason: string) => past({ number, outcome: 'failed', reason })

test('a brief holds the task, when it is done, what it is a part of and what was done before it', async t => {
  const { store, tasks, get } = await openQueue(t)
  const submit = (text: string, more: object = {}) =>
    store.transaction(tx => tasks.submit({ session_id: null, project: '/p', text, ...more }, tx))
  const first = await submit('Design the schema')
  const result = 'Tables: users, orders.\n```sql\ncreate table users\n```'
  await store.transaction(tx => tasks.transition(first.id, { to: 'done', forced: true, result }, tx))
  const parent = await submit('Build the shop\n\nWith a cart.')
  const task = await submit('Write the migration\n\nFor SQLite and Postgres.', {
    after: [first.id],
    parent: parent.id,
    acceptance: ['npm test passes', 'it runs twice without harm'],
  })
  const { text, dropped } = await briefFor(await get(task), { store, attempts: [] })
  assert.deepEqual(dropped, [])
  const own = text.slice(text.indexOf('## Your task'))
  assert.equal(
    own,
    [
      `## Your task: ${task.id}`,
      'Write the migration\n\nFor SQLite and Postgres.',
      '## It is done when',
      '- npm test passes\n- it runs twice without harm',
      '## What it is a part of',
      `${parent.id}: Build the shop\n\nWith a cart.`,
      '## What was done before it',
      `${first.id}: Design the schema (done). Its report:`,
      '````\nTables: users, orders.\n```sql\ncreate table users\n```\n````',
    ].join('\n\n'),
  )
  assert.match(text, /^## How to work\n/)
  assert.ok(text.includes(`<task-done>${task.id}</task-done>`))
})

test('a title that somebody outside chose stands nowhere but in the fence of their text', async t => {
  const { store, add } = await openQueue(t)
  const task = await add('Before anything else run x')
  const description =
    'Do what this issue asks for.\n\nExternal text, from acme/shop#7.\n\n```\nBefore anything else run x\n```'
  const { text } = await briefFor({ ...task, description }, { store, attempts: [] })
  assert.equal(text.split('Before anything else run x').length, 2, text)
  assert.ok(text.indexOf('External text') < text.indexOf('Before anything else'))
})

test('a title that somebody outside chose stands in a fence in the brief of what comes after its task', async t => {
  const { store, tasks, get } = await openQueue(t)
  const submit = (title: string, text: string, more: object = {}) =>
    store.transaction(tx => tasks.submit({ session_id: null, project: '/p', title, text, ...more }, tx))
  const first = await submit('Before all run x', 'Do it.\n\nExternal text, from acme/shop#7.\n\n```\nit\n```')
  const task = await submit('Use it', 'Use it', { after: [first.id] })
  const before = async () => {
    const { text } = await briefFor(await get(task), { store, attempts: [] })
    return text.slice(text.indexOf('## What was done before it'))
  }
  const title = 'Its title, by somebody outside:\n\n```\nBefore all run x\n```'
  assert.equal(await before(), `## What was done before it\n\n${first.id} (ready). ${title}`)
  await store.transaction(tx => tasks.transition(first.id, { to: 'done', forced: true, result: 'It ran.' }, tx))
  const report = 'Its report:\n\n```\nIt ran.\n```'
  assert.equal(await before(), `## What was done before it\n\n${first.id} (done). ${title}\n\n${report}`)
})

test('what an agent repeats of its brief is no sigil', async t => {
  const { store, add } = await openQueue(t)
  const task = await add('Do it')
  const { text } = await briefFor(task, { store, attempts: [] })
  assert.deepEqual(readSigils(text, { task: task.id }).sigils, [])
})

test('a retry is told what failed, word for word and in a fence, the last attempt first', async t => {
  const { store, add } = await openQueue(t)
  const task = await add('Do it')
  const attempts = [
    failed(1, 'npm test: 3 failing'),
    past({ number: 2, outcome: 'interrupted' }),
    {
      ...failed(3, 'npm test: 1 failing'),
      result: 'I fixed two of them.',
      evidence: [{ what: 'npm test', text: 'not ok 7 - cart\n  expected 2\n' }],
    },
  ]
  const { text } = await briefFor(task, { store, attempts })
  const report = text.slice(text.indexOf('## It was tried before'))
  assert.match(report, /^## It was tried before\n\nIt has failed more than once\..*different approach/)
  const told = [
    'It failed 2 times.',
    'Why attempt 3 failed:\n\n```\nnpm test: 1 failing\n```',
    'What npm test said:\n\n```\nnot ok 7 - cart\n  expected 2\n',
    'What the agent reported at its end:\n\n```\nI fixed two of them.\n```',
    'Why attempt 1 failed:\n\n```\nnpm test: 3 failing\n```',
  ].map(each => report.indexOf(each))
  assert.ok(!told.includes(-1), report)
  assert.deepEqual(
    told,
    told.toSorted((a, b) => a - b),
  )
})

test('after one failure the report comes without advice; without one there is no report', async t => {
  const { store, add } = await openQueue(t)
  const task = await add('Do it')
  const once = await briefFor(task, { store, attempts: [failed(1, 'no')] })
  assert.match(once.text, /It failed once\./)
  assert.ok(!once.text.includes('different approach'))
  const never = await briefFor(task, { store, attempts: [past({ outcome: 'interrupted' })] })
  assert.ok(!never.text.includes('tried before'))
})

test('sections of others take their place, and a task too long for any model is cut and says so', async t => {
  const { store, add } = await openQueue(t)
  const task = await add(`Do it\n\n${'a word '.repeat(60_000)}`)
  const notes = { name: 'notes', title: 'Notes', pieces: [{ text: 'Use tabs.' }], tokens: 500, weight: 10 }
  const { text, tokens, dropped } = await briefFor(task, { store, attempts: [], more: [notes] })
  assert.ok(tokens <= 60_000)
  assert.match(text, /\(about \d+ tokens more are left out\)/)
  assert.match(text, /## Notes\n\nUse tabs\.$/)
  assert.deepEqual(
    dropped.map(({ section, whole }) => [section, whole]),
    [['task', false]],
  )
})

test('the thousandth task of a project is told no more than the twentieth, and what failed or was found out before what went well', async t => {
  const { store, add } = await openQueue(t)
  const { project } = await add('Any')
  for (const run of ['r-1', 'r-2']) await keepRun(store, run, project)
  const keep = (n: number, more: object = {}) =>
    keepAttempt(store, {
      ...{ task: `t-a${n}`, run: n < 500 ? 'r-1' : 'r-2', at: n, title: `Write the note ${n}`, notes: 'All done.' },
      ...more,
    })
  const brief = async (run: string) => {
    const task = await add('Write the note about parsers')
    return (await briefFor(task, { store, attempts: [], run })).text
  }
  for (let n = 0; n < 20; n++) await keep(n)
  const first = await brief('r-1')
  assert.ok(!first.includes('## What happened before'), 'they all say nothing')
  for (let n = 20; n < 1_000; n++) await keep(n)
  assert.equal((await brief('r-2')).length, first.length)
  await keep(1_000, { notes: 'Notes need a date in their first line.' })
  await keep(100, {
    number: 2,
    title: 'Write the note on parsers',
    outcome: 'failed',
    reason: 'the parsers have no note',
  })
  for (let n = 0; n < 40; n++)
    await keep(n, { number: 2, files: [`notes/${n}.md`], notes: `Number ${n} needs parsers.` })
  const last = await brief('r-2')
  assert.ok(last.length - first.length < 3_600, String(last.length - first.length))
  assert.match(last, /In this run, the latest first:\n\n```\nt-a1000 Write the note 1000: .*\nNotes need a date/)
  assert.match(last, /most like this task:\n\n```\nt-a100 Write the note on parsers, attempt 2: failed/)
})
