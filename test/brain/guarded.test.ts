import assert from 'node:assert/strict'
import { beforeEach, mock, type TestContext, test } from 'node:test'
import { withGuard } from '../../src/brain/model-brain.ts'
import type { AnswerValue, Opinion } from '../../src/domain/brain.ts'
import { asked, brainOf, contextOf } from './contexts.ts'

const good: Opinion<AnswerValue> = { value: ['x'], confidence: 0.9, reasoning: 'so', by: 'model' }
const fails = () => Promise.reject(new Error('503'))
const hangs = () => new Promise<never>(() => {})

type Answer = (signal: AbortSignal) => Promise<Opinion<AnswerValue>>

/** A brain whose next answer the test sets, with a count of its calls. */
function scripted(deadlineMs = 60_000) {
  const state = { next: (async () => good) as Answer, calls: 0 }
  const brain = withGuard(
    brainOf('model', {
      answer: signal => {
        state.calls += 1
        return state.next(signal)
      },
    }),
    { deadlineMs, restMs: 60_000 },
  )
  const ask = (signal = new AbortController().signal) => brain.answerQuestion([asked('Which?')], contextOf(), signal)
  return { state, ask }
}

/** The breaker uses the wall clock; the test moves it. */
function clockAt(t: TestContext) {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  return (ms: number) => t.mock.timers.tick(ms)
}

beforeEach(() => mock.timers.reset())

test('a failure is "not confident", with the reason, and nothing is thrown', async () => {
  const { state, ask } = scripted()
  state.next = fails
  assert.deepEqual(await ask(), { value: undefined, confidence: 0, reasoning: 'model failed: 503', by: 'model' })
})

test('an opinion that takes longer than the deadline is none, and the model is told to stop', async () => {
  const { state, ask } = scripted(20)
  const told = Promise.withResolvers<void>()
  state.next = signal => {
    signal.addEventListener('abort', () => told.resolve())
    return hangs()
  }
  assert.match((await ask()).reasoning, /did not answer within 0.02 s/)
  await told.promise
})

test('after five failures in a row the brain is left alone for a minute, tried once, and used again', async t => {
  const tick = clockAt(t)
  const { state, ask } = scripted()
  state.next = fails
  for (let count = 0; count < 5; count++) await ask()
  assert.equal(state.calls, 5)
  assert.match((await ask()).reasoning, /is not asked for a while/)
  assert.equal(state.calls, 5)
  tick(59_000)
  await ask()
  assert.equal(state.calls, 5)
  tick(1_000)
  await ask()
  assert.equal(state.calls, 6, 'the trial')
  await ask()
  assert.equal(state.calls, 6, 'the trial failed: it rests again')
  tick(60_000)
  state.next = async () => good
  assert.deepEqual((await ask()).value, ['x'])
  assert.deepEqual((await ask()).value, ['x'])
  assert.equal(state.calls, 8)
})

test('while the trial is under way others are told at once', async t => {
  const tick = clockAt(t)
  const { state, ask } = scripted()
  state.next = fails
  for (let count = 0; count < 5; count++) await ask()
  tick(60_000)
  const answer = Promise.withResolvers<Opinion<AnswerValue>>()
  state.next = () => answer.promise
  const trial = ask()
  assert.match((await ask()).reasoning, /being tried again/)
  answer.resolve(good)
  assert.deepEqual((await trial).value, ['x'])
  state.next = async () => good
  assert.deepEqual((await ask()).value, ['x'])
})

test('one success between failures keeps the circuit closed', async () => {
  const { state, ask } = scripted()
  for (const next of [fails, fails, fails, fails, async () => good, fails, fails, fails, fails]) {
    state.next = next
    await ask()
  }
  state.next = async () => good
  assert.deepEqual((await ask()).value, ['x'])
})

test('a caller who gives up is no failure of the brain', async () => {
  const { state, ask } = scripted()
  for (let count = 0; count < 8; count++) {
    const leaving = new AbortController()
    state.next = () => {
      leaving.abort()
      return hangs()
    }
    assert.match((await ask(leaving.signal)).reasoning, /nobody waits/)
  }
  state.next = async () => good
  assert.deepEqual((await ask()).value, ['x'])
  assert.match((await ask(AbortSignal.abort())).reasoning, /nobody waits/)
})

test('not to be confident is an answer and no failure', async () => {
  const { state, ask } = scripted()
  state.next = async () => ({ value: undefined, confidence: 0, reasoning: 'no idea', by: 'model' })
  for (let count = 0; count < 6; count++) assert.equal((await ask()).reasoning, 'no idea')
  assert.equal(state.calls, 6)
})
