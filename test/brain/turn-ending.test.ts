import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerInProse, questionInProse } from '../../src/brain/rules/turn-ending.ts'
import { contextOf } from './contexts.ts'
import { measureEndings, readEndings } from './measure-endings.ts'

const context = contextOf({
  entries: ['src/', 'test/', 'docs/'],
  requirements: {
    tasks: [],
    preferences: [
      { key: 'Database', value: 'PostgreSQL' },
      { key: 'Style', value: 'functional' },
    ],
    constraints: ['Use websockets for live updates'],
  },
})
const answer = (text: string) => {
  const question = questionInProse(text)
  return question && answerInProse(question, context)
}

test('at least 150 endings are labelled, two thirds of them no questions, none of them twice', () => {
  const rows = readEndings()
  assert.ok(rows.length >= 150)
  assert.ok(rows.filter(({ kind }) => kind === null).length >= (rows.length * 2) / 3)
  assert.equal(new Set(rows.map(({ text }) => text)).size, rows.length)
})

test('questions are told from reports with a precision and a recall of at least 0.97', t => {
  const { precision, recall, kinds, falseAlarms, missed } = measureEndings(readEndings())
  t.diagnostic(`precision ${precision.toFixed(3)}, recall ${recall.toFixed(3)}, kind ${kinds.toFixed(3)}`)
  assert.ok(precision >= 0.97, falseAlarms.join('\n'))
  assert.ok(recall >= 0.97, missed.join('\n'))
  assert.ok(kinds >= 0.9)
})

test('the question comes back as it was written, with its code and quotations', () => {
  const text =
    'Tests pass.\n\nShould I rename `getUser` to "fetchUser" everywhere?\n\nLet me know if you have questions.'
  assert.equal(questionInProse(text)?.question, 'Should I rename `getUser` to "fetchUser" everywhere?')
  assert.equal(questionInProse(text)?.about, text)
})

test('when an agent asks and says that it waits, the question is what it asked', () => {
  const found = questionInProse('I see the cause. Should I fix it now?\n\nI will wait for your answer.')
  assert.deepEqual([found?.question, found?.kind], ['Should I fix it now?', 'proceed'])
})

test('a question that the agent answers itself is none, and courtesies behind one do not hide it', () => {
  assert.equal(questionInProse('Should I use a map here? I went with an array.'), undefined)
  assert.equal(questionInProse('Should I use a map here? It is used once.'), undefined)
  const polite =
    'Should I fix it?\n\nFeel free to ask. Happy to help with anything. Thanks for reading. Enjoy your day!'
  assert.equal(questionInProse(polite)?.question, 'Should I fix it?')
})

test('nothing is asked in nothing, in code alone, or in a turn as long as a book', () => {
  assert.equal(questionInProse(''), undefined)
  assert.equal(questionInProse('```\nShould I proceed?\n```'), undefined)
  assert.equal(questionInProse('```\nShould I proceed?'), undefined)
  assert.equal(questionInProse('word '.repeat(200_000)), undefined)
  assert.equal(questionInProse(`${'('.repeat(50_000)}?`), undefined)
})

test('permission to go on is given so that the work goes on', () => {
  for (const text of [
    'The plan is ready.\n\nShall I proceed?',
    'Step 1 is done. Ready to continue with step 2?',
    'Let me know if you would like me to proceed.',
    "I'll wait for your go-ahead before making the changes.",
    'Should I add tests for the parser as well?',
    'Does this plan look right to you?',
  ]) {
    const said = answer(text)
    assert.equal(said?.value, 'Yes, go ahead.', text)
    assert.ok((said?.confidence ?? 0) >= 0.7, text)
  }
})

test('what stands before a bare "Shall I proceed?" decides whether a machine may say yes', () => {
  assert.equal(answer('Next I delete the old tables.\n\nShall I proceed?')?.value, undefined)
  assert.equal(answer('```sh\nrm -rf data\n```\n\nShall I proceed?')?.value, undefined)
  assert.equal(answer('Now the switch to the new server.\n\nShall I proceed?')?.value, undefined)
  assert.equal(answer('I need your permission to write to the hosts file before I continue.')?.value, undefined)
})

test('a choice in prose is answered from the requirements, by the list or by the sentence', () => {
  assert.equal(answer('Should I use PostgreSQL or SQLite for the store?')?.value, 'PostgreSQL. Go on with that.')
  assert.equal(
    answer('Which of these would you like?\n\n- **Option A**: polling\n- **Option B**: websockets')?.value,
    'websockets. Go on with that.',
  )
  assert.equal(answer("Please let me know which database you'd like to use.")?.value, 'PostgreSQL. Go on with that.')
  assert.equal(answer('Should I use tabs or spaces?')?.value, undefined)
})

test('what only somebody else knows, and what is asked in another language, is left to others', () => {
  for (const text of [
    'What should happen when the upload is too large?',
    'How should I proceed?',
    'Soll ich fortfahren?',
  ])
    assert.equal(answer(text)?.value, undefined, text)
})
