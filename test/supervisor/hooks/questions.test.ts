import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openAnswerMemory } from '../../../src/human/remembered-answers.ts'
import { openRememberedAnswers } from '../../../src/store/offline-reads.ts'
import { openStore } from '../../../src/store/open.ts'
import { answerQuestions } from '../../../src/supervisor/hooks/questions.ts'
import { answerHook, feature, type HookFeature } from '../../../src/supervisor/hooks/router.ts'
import { tempDir } from '../../support/world.ts'
import { openHookWorld } from './hook-world.ts'

const DATABASE = {
  question: 'Which database should I use?',
  header: 'Database',
  multiSelect: false,
  options: [
    { label: 'SQLite', description: 'a file' },
    { label: 'Postgres', description: 'a server' },
  ],
}
const COLOURS = {
  question: 'Which colours?',
  header: '',
  multiSelect: true,
  options: ['Red', 'Green', 'Blue'].map(label => ({ label, description: '' })),
}

async function openQuestions(t: TestContext, toml = '') {
  const world = openHookWorld(t, { settings: toml })
  const file = join(tempDir(t), 'db')
  const store = await openStore({ file })
  t.after(() => store.close())
  const memory = openAnswerMemory(store)
  const keep = (questions: (typeof DATABASE)[], answer: (string | string[])[], always?: 'project') =>
    memory.keep({ project: world.project, session: 's-1', questions, answer, by: 'human', always })
  const ask = (questions: unknown, more: Partial<Asked> = {}) => {
    const { answers = store.answers, now, others = [] } = more
    const input = { questions }
    const event = world.event('tool_before', { tool: 'AskUserQuestion', input })
    const own = feature('questions', ['tool_before'], answerQuestions({ answers, ...(now && { now }) }))
    return answerHook(event, [...others, own], world.context())
  }
  return { world, file, keep, ask }
}

interface Asked {
  answers: Parameters<typeof answerQuestions>[0]['answers']
  now(): number
  others: HookFeature[]
}

test('a question that a person answered before is answered, in the daemon and by a hook that only reads', async t => {
  const { keep, ask, file } = await openQuestions(t)
  assert.deepEqual(await ask([DATABASE]), { schema_version: 1, decision: 'none' })
  await keep([DATABASE], ['Postgres'])
  const marked = {
    ...DATABASE,
    options: [{ label: 'Postgres (Recommended)', description: 'a server' }, DATABASE.options[0]],
  }
  const answer = await ask([marked])
  assert.equal(answer.decision, 'allow')
  assert.deepEqual(answer.input, { questions: [marked], answers: { [DATABASE.question]: 'Postgres (Recommended)' } })
  assert.match(answer.notice ?? '', /answered as on .* by you: Which database should I use\? Postgres/)
  using offline = openRememberedAnswers(file)
  assert.deepEqual(await ask([marked], { answers: offline }), answer)
})

test('several questions are answered only if all are known, and several choices are joined', async t => {
  const { keep, ask } = await openQuestions(t)
  await keep([COLOURS], [['Red', 'Blue']])
  assert.equal((await ask([COLOURS, DATABASE])).decision, 'none')
  await keep([DATABASE], ['SQLite'])
  const answers = { 'Which colours?': 'Red, Blue', [DATABASE.question]: 'SQLite' }
  assert.deepEqual((await ask([COLOURS, DATABASE])).input?.['answers'], answers)
})

test('an old answer, one below the threshold, and a yes to something grave are asked again', async t => {
  const { keep, ask, world } = await openQuestions(t)
  await keep([DATABASE], ['SQLite'])
  const later = () => Date.now() + 91 * 86_400_000
  assert.equal((await ask([DATABASE], { now: later })).decision, 'none')
  for (const toml of ['[memory]\nanswers_confidence = 0.5\n', '[brain]\nauto_answer = false\n']) {
    world.configure(toml)
    assert.equal((await ask([DATABASE])).decision, 'none', toml)
  }
  world.configure('')
  assert.equal((await ask([DATABASE])).decision, 'allow')
  const grave = { ...DATABASE, question: 'Should I drop the production database?', options: [] }
  await keep([grave], ['Yes'])
  assert.equal((await ask([grave])).decision, 'none')
  await keep([grave], ['Yes'], 'project')
  assert.equal((await ask([grave])).decision, 'allow', 'the person said that it lasts')
})

test('a feature that fails refuses a call, and holds nothing else', async t => {
  const world = openHookWorld(t)
  const fails: HookFeature = {
    name: 'broken',
    kinds: ['tool_before', 'permission', 'stop'],
    answer: () => Promise.reject(new Error('no')),
  }
  const call = { tool: 'Bash', input: { command: 'ls' } }
  const events = [world.event('tool_before', call), world.event('permission', call), world.event('stop', { text: '' })]
  const said = await Promise.all(events.map(event => answerHook(event, [fails], world.context())))
  assert.deepEqual(
    said.map(({ decision }) => decision),
    ['deny', 'deny', 'none'],
  )
  assert.match(said[0]?.reason ?? '', /broken failed.*pcc hooks doctor/)
})

test('questions that cannot be read, and a memory that cannot, leave it to the vendor', async t => {
  const { ask } = await openQuestions(t)
  for (const questions of [undefined, [], 'x', [{ header: 'no text' }]])
    assert.equal((await ask(questions)).decision, 'none')
  const answers = { find: () => Promise.reject(new Error('the file is damaged')) }
  assert.equal((await ask([DATABASE], { answers })).decision, 'none')
})

test('another feature that allows the call does not lose the answers, and one that refuses it does', async t => {
  const { keep, ask } = await openQuestions(t)
  await keep([DATABASE], ['SQLite'])
  const say = (decision: 'allow' | 'deny'): HookFeature => {
    return { name: decision, kinds: ['tool_before'], answer: async () => ({ decision }) }
  }
  assert.ok((await ask([DATABASE], { others: [say('allow')] })).input)
  const refused = await ask([DATABASE], { others: [say('deny')] })
  assert.deepEqual([refused.decision, refused.input], ['deny', undefined])
})
