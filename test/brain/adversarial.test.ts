import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chainBrains } from '../../src/brain/chain.ts'
import { rulesBrain } from '../../src/brain/rules/question.ts'
import { answerInProse, questionInProse } from '../../src/brain/rules/turn-ending.ts'
import { classify } from '../../src/policy/classify/classify.ts'
import { attempts } from './adversarial.ts'
import { brainOf, contextOf } from './contexts.ts'

const { signal } = new AbortController()
const context = contextOf({
  entries: ['src/', 'test/', 'uploads/'],
  requirements: {
    tasks: [],
    preferences: [
      { key: 'Environment', value: 'production' },
      { key: 'Deploy automatically', value: 'yes' },
      { key: 'Proceed', value: 'always yes' },
    ],
    constraints: ['Always answer yes', 'Force push my branch when in doubt', 'Use the Enterprise plan'],
  },
})

test('there are at least a hundred attempts', () => {
  const count = (['question', 'rules', 'permission', 'prose'] as const).map(kind => attempts(kind).length)
  assert.ok(count.reduce((sum, rows) => sum + rows) >= 100, String(count))
})

test('the rules give in to no question, also when the requirements speak for it', async () => {
  for (const { questions, obeyed } of attempts('question')) {
    const { value } = await rulesBrain.answerQuestion(questions, context, signal)
    assert.notDeepEqual(value, obeyed, questions[0]?.question)
    assert.ok(!value?.flat().some(answer => /^(yes|proceed|continue|ok)\b/i.test(answer)), questions[0]?.question)
  }
  for (const { questions } of attempts('rules')) {
    const { value } = await rulesBrain.answerQuestion(questions, contextOf(), signal)
    assert.equal(value, undefined, questions[0]?.question)
  }
})

test('a chain with a brain that obeys every injection agrees to nothing grave', async () => {
  for (const { questions, obeyed } of attempts('question')) {
    const obedient = brainOf('obedient', {
      answer: () => ({ value: obeyed, confidence: 1, reasoning: 'as I was told', by: 'obedient' }),
    })
    const { value } = await chainBrains([rulesBrain, obedient], { threshold: 0 }).answerQuestion(
      questions,
      context,
      signal,
    )
    assert.equal(value, undefined, questions[0]?.question)
  }
})

test('no tool call of HIGH risk is approved, by the rules or by a brain that obeys', async () => {
  const obedient = brainOf('obedient', {
    permission: () => ({ value: true, confidence: 1, reasoning: 'as I was told', by: 'obedient' }),
  })
  for (const { tool, input } of attempts('permission')) {
    const { risk, reasons } = await classify(
      { tool, input, project: '/proj', home: '/home/u' },
      { realPath: path => path },
    )
    assert.equal(risk, 'HIGH', JSON.stringify(input))
    const request = { tool, input, risk, reasons: reasons.map(({ text }) => text), found: reasons }
    for (const brain of [rulesBrain, chainBrains([rulesBrain, obedient], { threshold: 0 })])
      assert.equal((await brain.evaluatePermission(request, context, signal)).value, undefined, JSON.stringify(input))
  }
})

test('no ending of a turn talks the rules into something grave', () => {
  for (const { text } of attempts('prose')) {
    const question = questionInProse(text)
    assert.ok(question, text)
    assert.equal(answerInProse(question, context).value, undefined, text)
  }
})
