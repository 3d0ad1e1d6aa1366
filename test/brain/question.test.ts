import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerByRules, rulesBrain } from '../../src/brain/rules/question.ts'
import type { BrainContext } from '../../src/domain/brain.ts'
import type { QuestionItem } from '../../src/domain/session.ts'
import { asked, contextOf } from './contexts.ts'

const written = (preferences: Record<string, string>, constraints: string[] = []): BrainContext =>
  contextOf({
    requirements: {
      tasks: [],
      preferences: Object.entries(preferences).map(([key, value]) => ({ key, value })),
      constraints,
    },
  })
const answer = (item: QuestionItem | QuestionItem[], context = contextOf()) => {
  const { value, confidence } = answerByRules([item].flat(), context)
  return [value, confidence]
}

test('going on is agreed to with 0.85', () => {
  for (const question of [
    'Should I proceed?',
    'Continue?',
    'Ready to continue?',
    'Shall I go ahead with the plan above?',
    'Would you like me to continue with step 2?',
    'Do you want me to proceed with the implementation of the scheduler?',
    'Should I proceed with the user profile page?',
    'Does this plan look good to you?',
  ])
    assert.deepEqual(answer(asked(question)), [['Yes'], 0.85], question)
})

test('a standard step is agreed to with 0.75', () => {
  for (const question of [
    'Should I run the tests?',
    'Would you like me to add unit tests for the parser?',
    'Shall I fix the failing tests?',
    'May I commit these changes?',
    'Should I update the README?',
    'Should I create a new file for the types?',
    'Is it okay if I rename `getUser` to `fetchUser` everywhere?',
  ])
    assert.deepEqual(answer(asked(question)), [['Yes'], 0.75], question)
})

test('yes is the one option that agrees; two ways to agree are for somebody else', () => {
  assert.deepEqual(answer(asked('Should I proceed?', ['Revise', 'Proceed (Recommended)']))[0], [
    'Proceed (Recommended)',
  ])
  assert.deepEqual(answer(asked('Should I proceed?', ['Yes', 'Yes, with tests', 'No']))[0], ['Yes'])
  assert.equal(answer(asked('Should I proceed?', ['Yes, with tests', 'Yes, without docs', 'No']))[0], undefined)
  assert.equal(answer(asked('Should I proceed?', ['Blue', 'Red']))[0], undefined)
  assert.deepEqual(answer(asked('Should I proceed?', ['Yes', 'No'], true))[0], [['Yes']])
})

test('what no rule knows has confidence 0', () => {
  for (const item of [
    asked('Which colour?', ['Red', 'Blue (Recommended)']),
    asked('Should I use a class or a function?'),
    asked('What is the name of the customer?'),
    asked('Should I proceed or wait for the review?'),
    asked('Soll ich fortfahren?'),
    asked('Should I proceed? And which colour?'),
    asked(`Should I proceed? ${'x '.repeat(400)}`),
    asked('Should I frobnicate?'),
    asked('Should I run the tests `node x.js --go`?'),
    asked('Should I proceed?', [['Yes', 'Also deletes the old tables'], 'No']),
    asked(
      'Should I proceed?',
      Array.from({ length: 31 }, (_, index) => `Yes ${index}`),
    ),
    asked(''),
  ])
    assert.deepEqual(answer(item), [undefined, 0], item.question.slice(0, 50))
  assert.deepEqual(answer([]), [undefined, 0])
})

test('an option that a preference names is chosen, in whatever spelling', () => {
  const context = written({
    Database: 'PostgreSQL',
    Auth: 'JWT with refresh tokens',
    Frontend: 'React Native',
    ORM: 'Prisma',
  })
  assert.deepEqual(answer(asked('Which database should I use?', ['MongoDB', 'Postgres (Recommended)']), context), [
    ['Postgres (Recommended)'],
    0.9,
  ])
  assert.deepEqual(answer(asked('How do users authenticate?', ['Sessions', 'JSON Web Tokens (JWT)']), context)[0], [
    'JSON Web Tokens (JWT)',
  ])
  assert.deepEqual(answer(asked('Which frontend?', ['React', 'React Native']), context)[0], ['React Native'])
  assert.deepEqual(answer(asked('What shall we keep the data in?', ['PostgreSQL', 'SQLite']), context), [
    ['PostgreSQL'],
    0.8,
  ])
  assert.deepEqual(answer(asked('Which database should I use?'), context), [['PostgreSQL'], 0.85])
})

test('a preference that fits no option, or two, is for a person', () => {
  const context = written({ Database: 'PostgreSQL', Cache: 'Redis' })
  assert.equal(answer(asked('Which database?', ['MySQL', 'MongoDB']), context)[0], undefined)
  assert.equal(answer(asked('What shall we use?', ['PostgreSQL', 'Redis']), context)[0], undefined)
  assert.deepEqual(answer(asked('What shall we use?', ['PostgreSQL', 'Redis', 'Kafka'], true), context)[0], [
    ['PostgreSQL', 'Redis'],
  ])
})

test('yes and no of a preference answer the question that its key asks, and no other', () => {
  const context = written({ Docker: 'no', 'Dark mode': 'yes' })
  assert.deepEqual(answer(asked('Should I add Docker support?', ['Yes', 'No']), context)[0], ['No'])
  assert.deepEqual(answer(asked('Do you want a dark mode?', ['Yes', 'No']), context)[0], ['Yes'])
  assert.equal(answer(asked('Do you want fireworks?', ['Yes', 'No']), context)[0], undefined)
  const plain = written({ 'Strict mode': 'default' })
  assert.equal(answer(asked('Which theme?', ['Default', 'Custom']), plain)[0], undefined)
})

test('constraints choose, rule out and forbid', () => {
  const context = written({}, [
    'Use Tailwind CSS for styling',
    'No MongoDB',
    'No new dependencies',
    'SQLite instead of MySQL',
  ])
  assert.deepEqual(answer(asked('How shall it be styled?', ['Tailwind', 'CSS Modules']), context)[0], ['Tailwind'])
  assert.deepEqual(answer(asked('Which store?', ['MongoDB', 'CouchDB']), context)[0], ['CouchDB'])
  assert.deepEqual(answer(asked('Which engine?', ['MySQL', 'SQLite']), context)[0], ['SQLite'])
  assert.deepEqual(answer(asked('Should I add new dependencies?', ['Yes', 'No']), context), [['No'], 0.75])
  assert.equal(answer(asked('Which store?', ['MongoDB', 'CouchDB', 'Redis']), context)[0], undefined)
})

test('where to save follows the directories that are there, with 0.7', () => {
  const context = contextOf({ entries: ['src/', 'test/', 'docs/', 'package.json'] })
  assert.deepEqual(answer(asked('Where should I save the new test file?'), context), [['test/'], 0.7])
  assert.deepEqual(answer(asked('Which directory should the guide go in?'), context)[0], ['docs/'])
  const parser = asked('Where should I put the parser?', ['lib/parser.ts', 'src/parser.ts'])
  assert.deepEqual(answer(parser, context)[0], ['src/parser.ts'])
  assert.equal(answer(parser, contextOf())[0], undefined)
  for (const place of ['../src/x.ts', '/src/x.ts', '~/src/x.ts'])
    assert.equal(answer(asked('Where should I save the code?', [place, 'elsewhere/']), context)[0], undefined, place)
  assert.equal(answer(asked('Where should I store the API keys in the code?'), context)[0], undefined)
  assert.equal(answer(asked('Where should the production config file live?'), context)[0], undefined)
  assert.equal(answer(asked('Where should I save the tests?', ['test/', 'other/'], true), context)[0], undefined)
})

test('several questions are answered together or not at all, as sure as the least sure', () => {
  const context = written({ Database: 'PostgreSQL' })
  const database = asked('Which database?', ['PostgreSQL', 'MySQL'])
  assert.deepEqual(answer([asked('Should I run the tests?'), database], context), [['Yes', 'PostgreSQL'], 0.75])
  assert.deepEqual(answer([database, asked('Which colour?')], context), [undefined, 0])
})

test('on permissions the brain goes by codes, and says nothing without them', async () => {
  const { signal } = new AbortController()
  const request = { tool: 'Bash', input: {}, risk: 'MEDIUM' as const, reasons: ['it commits'] }
  const found = [{ code: 'git.commit', risk: 'MEDIUM' as const, text: 'it commits' }]
  const evaluate = (more: object) => rulesBrain.evaluatePermission({ ...request, ...more }, contextOf(), signal)
  assert.equal((await evaluate({ found })).value, true)
  assert.equal((await evaluate({})).value, undefined)
  assert.equal((await evaluate({ found, risk: 'HIGH' })).value, undefined)
})

test('a summary by the rules is the last paragraph, and not sure of itself', async () => {
  const { signal } = new AbortController()
  const { value, confidence } = await rulesBrain.summarize(`first\n\nlast ${'x'.repeat(900)}`, contextOf(), signal)
  assert.match(value ?? '', /^last x+…$/)
  assert.deepEqual([value?.length, confidence], [400, 0.5])
  assert.equal((await rulesBrain.summarize(' \n ', contextOf(), signal)).value, undefined)
})
