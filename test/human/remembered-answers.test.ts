import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { QuestionItem } from '../../src/domain/session.ts'
import { isSelfContained, normaliseQuestion } from '../../src/human/questions.ts'
import { formatDay, openAnswerMemory } from '../../src/human/remembered-answers.ts'
import { DATABASES } from '../store/databases.ts'

const DAY_MS = 86_400_000
const NOW = Date.UTC(2026, 10, 15, 12)
const [database] = DATABASES
if (!database) throw new Error('there is a database')

test('the same question in the same project is answered as a person answered it, and says who and when', async t => {
  const store = await database.open(t)
  const [then, now] = [
    openAnswerMemory(store, { clock: at(NOW - 3 * DAY_MS) }),
    openAnswerMemory(store, { clock: at(NOW) }),
  ]
  const asked = { project: '/p', questions: [item('Which database?', ['PostgreSQL', 'SQLite'])] }
  assert.equal(await then.find(asked), undefined)
  assert.equal(await then.keep({ ...asked, session: 's-1', answer: ['SQLite'], by: 'human' }), true)
  assert.deepEqual(await now.find(asked), {
    value: ['SQLite'],
    confidence: 0.95,
    reasoning: 'answered as on 12 Nov by you',
    by: 'memory',
    said_by: 'human',
    at: NOW - 3 * DAY_MS,
    lasting: false,
  })
  assert.equal(await now.find({ ...asked, project: '/q' }), undefined, 'another project is another matter')
  const other = [item('Which database?', ['PostgreSQL', 'MySQL'])]
  assert.equal(await now.find({ project: '/p', questions: other }), undefined, 'other options are another question')
})

test('case, blanks, full stops, the order of options and the mark of a favourite do not make another question', async t => {
  const store = await database.open(t)
  const memory = openAnswerMemory(store, { clock: at(NOW) })
  const asked = { project: '/p', session: 's-1', by: 'ann' }
  await memory.keep({ ...asked, questions: [item('Which database?', ['PostgreSQL', 'SQLite'])], answer: ['SQLite'] })
  const again = [item('  which\u200b DATABASE ', ['SQLite (Recommended)', 'PostgreSQL'])]
  const found = await memory.find({ project: '/p', questions: again })
  assert.deepEqual([found?.value, found?.reasoning], [['SQLite (Recommended)'], 'answered as on 15 Nov by ann'])
  const many = [{ ...item('Which database?', ['PostgreSQL', 'SQLite']), multiSelect: true }]
  assert.equal(
    await memory.find({ project: '/p', questions: many }),
    undefined,
    'several may be chosen: another question',
  )
})

test('every part is remembered by itself, and there is an answer only where there is one to each', async t => {
  const store = await database.open(t)
  const memory = openAnswerMemory(store, { clock: at(NOW) })
  const [one, two, three] = [
    item('Colour of the bar?', ['red', 'blue']),
    item('Language?', []),
    item('Tabs?', ['yes', 'no']),
  ]
  const both = { project: '/p', session: 's-1', by: 'human', questions: [one, two], answer: ['blue', 'German'] }
  await memory.keep(both)
  assert.deepEqual((await memory.find({ project: '/p', questions: [two, one] }))?.value, ['German', 'blue'])
  assert.equal(await memory.find({ project: '/p', questions: [one, three] }), undefined)
})

test('an answer grows old, and one that is said to last does not; everywhere is every project', async t => {
  const store = await database.open(t)
  const questions = [item('Which licence?', ['MIT', 'GPL'])]
  const said = { project: '/p', session: 's-1', by: 'human', questions }
  const then = openAnswerMemory(store, { clock: at(NOW - 40 * DAY_MS) })
  const now = (ttlDays: number) => openAnswerMemory(store, { clock: at(NOW), ttlMs: ttlDays * DAY_MS })
  await then.keep({ ...said, answer: ['MIT'] })
  assert.deepEqual((await now(41).find({ project: '/p', questions }))?.value, ['MIT'])
  assert.equal(await now(40).find({ project: '/p', questions }), undefined)
  await then.keep({ ...said, answer: ['GPL'], always: 'everywhere' })
  assert.deepEqual((await now(40).find({ project: '/q', questions }))?.value, ['GPL'])
  assert.deepEqual((await now(41).find({ project: '/p', questions }))?.value, ['MIT'], 'its own project comes first')
  await then.keep({ ...said, answer: ['GPL'], always: 'project' })
  const lasting = await now(1).find({ project: '/p', questions })
  assert.deepEqual([lasting?.value, lasting?.lasting], [['GPL'], true])
})

test('a question that points at something else is not remembered, unless a person says always', async t => {
  const store = await database.open(t)
  const memory = openAnswerMemory(store, { clock: at(NOW) })
  for (const [question, options] of [
    ['Should I proceed?', ['Yes', 'No']],
    ['Is this correct?', []],
    ['Shall I delete it?', ['Yes, delete', 'No']],
    ['Which of these?', ['Option A', 'Option B']],
  ] as const) {
    const said = { project: '/p', session: 's-1', questions: [item(question, options)], answer: ['Yes'], by: 'human' }
    assert.equal(await memory.keep(said), false, question)
    assert.equal(await memory.find(said), undefined, question)
    assert.equal(await memory.keep({ ...said, always: 'project' }), true, question)
    assert.deepEqual((await memory.find(said))?.value, ['Yes'], question)
  }
  for (const [question, options] of [
    ['Should I use PostgreSQL or SQLite?', []],
    ['How long should it live?', ['7 days', '30 days']],
    ['Do you want tests for the parser?', ['Yes', 'No']],
  ] as const) {
    assert.equal(isSelfContained(item(question, options)), true, question)
  }
})

test('what an option that has only a letter stands for is part of the question', () => {
  const asked = (description: string) =>
    normaliseQuestion({
      ...item('Which way?', []),
      options: [
        { label: 'Option A', description },
        { label: 'B', description: '' },
      ],
    })
  assert.notEqual(asked('rewrite it all'), asked('mend the one line'))
  const named = (description: string) =>
    normaliseQuestion({ ...item('Which way?', []), options: [{ label: 'Rewrite', description }] })
  assert.equal(named('all of it'), named('everything'))
})

test('near questions are told to a brain, nearest first and of this project or every one', async t => {
  const store = await database.open(t)
  const memory = openAnswerMemory(store, { clock: at(NOW) })
  const keep = (question: string, answer: string, project = '/p') =>
    memory.keep({ project, session: 's-1', questions: [item(question, [])], answer: [answer], by: 'human' })
  await keep('Which database should the tests use?', 'SQLite')
  await keep('Which database should the billing service use?', 'PostgreSQL')
  await keep('What is the name of the logo file?', 'logo.svg')
  await keep('Which database should the tests use?', 'MySQL', '/q')
  const near = await memory.similar({
    project: '/p',
    questions: [item('Which database do the billing tests use?', [])],
  })
  assert.deepEqual(near.map(({ answer }) => answer).sort(), ['PostgreSQL', 'SQLite'])
})

test('a day of another year has its year', () => {
  assert.deepEqual([formatDay(NOW, NOW), formatDay(NOW - 365 * DAY_MS, NOW)], ['15 Nov', '15 Nov 2025'])
})

function at(now: number) {
  return { now: () => now }
}

function item(question: string, labels: readonly string[]): QuestionItem {
  return { question, header: '', multiSelect: false, options: labels.map(label => ({ label, description: '' })) }
}
