import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chainBrains } from '../../src/brain/chain.ts'
import type { Opinion, PermissionAsked } from '../../src/domain/brain.ts'
import { asked, brainOf, contextOf } from './contexts.ts'

const { signal } = new AbortController()
const context = contextOf()
const says = <T>(by: string, value: T, confidence: number): Opinion<T> => ({ value, confidence, reasoning: 'so', by })
const answers = (name: string, answer: string, confidence: number) =>
  brainOf(name, { answer: () => says(name, [answer], confidence) })
const request = (risk: PermissionAsked['risk']): PermissionAsked => ({ tool: 'Bash', input: {}, risk, reasons: [] })

test('the first brain that reaches the threshold answers, and no later one is asked', async () => {
  const askedBrains: string[] = []
  const noting = (name: string, confidence: number) =>
    brainOf(name, {
      answer: () => {
        askedBrains.push(name)
        return says(name, [name], confidence)
      },
    })
  const brain = chainBrains([noting('a', 0.5), noting('b', 0.7), noting('c', 1)], { threshold: 0.7 })
  const opinion = await brain.answerQuestion([asked('Which?')], context, signal)
  assert.deepEqual([opinion.by, opinion.value], ['b', ['b']])
  assert.deepEqual(askedBrains, ['a', 'b'])
})

test('below the threshold the best opinion comes back as a suggestion', async () => {
  const brain = chainBrains([answers('a', 'x', 0.4), answers('b', 'y', 0.6), answers('c', 'z', 0.6)], {
    threshold: 0.7,
  })
  const opinion = await brain.answerQuestion([asked('Which?')], context, signal)
  assert.deepEqual([opinion.by, opinion.value, opinion.confidence], ['b', ['y'], 0.6])
})

test('a brain that throws, or one with a confidence that is no number, does not stop the next', async () => {
  const brain = chainBrains(
    [
      brainOf('broken', { answer: () => Promise.reject(new Error('no key')) }),
      answers('odd', 'x', Number.NaN),
      answers('boast', 'y', 7),
    ],
    { threshold: 0.7 },
  )
  const opinion = await brain.answerQuestion([asked('Which?')], context, signal)
  assert.deepEqual([opinion.by, opinion.confidence], ['boast', 1])
})

test('when every brain fails the last reason is told', async () => {
  const brain = chainBrains([brainOf('broken', { answer: () => Promise.reject(new Error('no key')) })], {
    threshold: 0.7,
  })
  const opinion = await brain.answerQuestion([asked('Which?')], context, signal)
  assert.equal(opinion.value, undefined)
  assert.match(opinion.reasoning, /broken failed: no key/)
  assert.equal((await chainBrains([], { threshold: 0.7 }).summarize('x', context, signal)).value, undefined)
})

test('a request of HIGH risk is approved by no brain, and none is asked', async () => {
  let count = 0
  const yes = brainOf('yes', {
    permission: () => {
      count += 1
      return says('yes', true, 1)
    },
  })
  const brain = chainBrains([yes], { threshold: 0 })
  assert.equal((await brain.evaluatePermission(request('HIGH'), context, signal)).value, undefined)
  assert.equal(count, 0)
  assert.equal((await brain.evaluatePermission(request('MEDIUM'), context, signal)).value, true)
})

test('not even a suggestion is left of agreement to something grave, and a refusal of it stands', async () => {
  const question = asked('Should I drop the users table?', ['Yes', 'No'])
  const agree = await chainBrains([answers('a', 'Yes', 1)], { threshold: 0.7 }).answerQuestion(
    [question],
    context,
    signal,
  )
  assert.deepEqual([agree.value, agree.confidence], [undefined, 0])
  assert.match(agree.reasoning, /drop.*a person decides/)
  const refuse = await chainBrains([answers('a', 'No', 1)], { threshold: 0.7 }).answerQuestion(
    [question],
    context,
    signal,
  )
  assert.deepEqual(refuse.value, ['No'])
})

test('a choice is judged by what would be done and what is chosen, not by every word', async () => {
  const brain = (answer: string) => chainBrains([answers('a', answer, 1)], { threshold: 0.7 })
  const label = asked('What should the delete button say?', ['Confirm', 'Go'])
  assert.deepEqual((await brain('Go').answerQuestion([label], context, signal)).value, ['Go'])
  const start = asked('How do we start?', [['Clean', 'Deletes all existing data'], 'Incremental'])
  assert.equal((await brain('Clean').answerQuestion([start], context, signal)).value, undefined)
  assert.deepEqual((await brain('Incremental').answerQuestion([start], context, signal)).value, ['Incremental'])
  const where = asked('Which environment should I deploy to?', ['blue', 'green'])
  assert.equal((await brain('green').answerQuestion([where], context, signal)).value, undefined)
})

test('answers that are too few, or empty, are no answers', async () => {
  const brain = chainBrains([answers('a', ' ', 1)], { threshold: 0.7 })
  assert.equal((await brain.answerQuestion([asked('Which?')], context, signal)).value, undefined)
  const one = chainBrains([answers('a', 'x', 1)], { threshold: 0.7 })
  assert.match((await one.answerQuestion([asked('A?'), asked('B?')], context, signal)).reasoning, /1 answers for 2/)
})

test('a caller who gives up is not kept waiting by a brain that ignores the signal', async () => {
  const leaving = new AbortController()
  const hangs = brainOf('hangs', { answer: () => new Promise(() => {}) })
  const opinion = chainBrains([hangs], { threshold: 0.7 }).answerQuestion([asked('Which?')], context, leaving.signal)
  leaving.abort()
  assert.match((await opinion).reasoning, /nobody waits/)
})
