import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PastAttempt } from '../../../src/domain/attempt.ts'
import { retryPlan } from '../../../src/supervisor/runs/next-step.ts'
import { past } from './past-attempts.ts'

/** Failed attempts: `work` is the agent's own failure, anything else the kind of the vendor's failure. */
function attempts(...words: string[]): PastAttempt[] {
  return words.map((word, index) => {
    const number = index + 1
    if (word === 'interrupted') return past({ number, outcome: 'interrupted' })
    const failure = word === 'work' ? null : (word as PastAttempt['failure'])
    return past({ number, outcome: 'failed', failure, reason: `${word} ${number}`, model: 'sonnet' })
  })
}

test('a failed attempt goes back at once, up to the retries that are allowed', () => {
  assert.deepEqual(retryPlan(attempts('work'), { maxRetries: 2 }), { again: true, afterMs: 0 })
  assert.equal(retryPlan(attempts('work', 'work'), { maxRetries: 2 }).again, true)
  assert.equal(retryPlan(attempts('work', 'work', 'work'), { maxRetries: 2 }).again, false)
  assert.deepEqual(retryPlan(attempts('work'), { maxRetries: 0 }), {
    again: false,
    why: 'no retries are allowed',
    story: 'attempt 1 (sonnet): work 1',
  })
})

test('from the second failure of the work on a different approach is asked for', () => {
  const note = (...words: string[]) => {
    const plan = retryPlan(attempts(...words), { maxRetries: 9 })
    return plan.again ? plan.note : undefined
  }
  assert.equal(note('work'), undefined)
  assert.match(note('work', 'work') ?? '', /different approach/)
  assert.match(note('work', 'work', 'work') ?? '', /different approach/)
  assert.equal(note('overloaded', 'work'), undefined)
  assert.equal(note('interrupted', 'work'), undefined)
})

test('causes that may pass wait longer with each in a row, and a failure of the work begins anew', () => {
  const waits = (...words: string[]) => {
    const plan = retryPlan(attempts(...words), { maxRetries: 9, retryMs: [1, 6, 24] })
    return plan.again ? plan.afterMs : undefined
  }
  assert.equal(waits('overloaded'), 1)
  assert.equal(waits('overloaded', 'network'), 6)
  assert.equal(waits('server', 'network', 'agent_crashed'), 24)
  assert.equal(waits('server', 'network', 'agent_crashed', 'server'), 24)
  assert.equal(waits('overloaded', 'work'), 0)
  assert.equal(waits('overloaded', 'work', 'overloaded'), 1)
})

test('failures of the vendor and the network use no retry, however many there are; those of the work and crashes do', () => {
  const outage = Array.from({ length: 40 }, (_, index) => ['network', 'server', 'overloaded'][index % 3] ?? '')
  const plan = (words: string[], maxRetries: number) =>
    retryPlan(attempts(...words), { maxRetries, retryMs: [1, 6, 24] })
  assert.deepEqual(plan(outage, 0), { again: true, afterMs: 24 })
  assert.deepEqual(plan(['work', ...outage], 1), { again: true, afterMs: 24 })
  assert.equal(plan([...outage, 'work'], 1).again, true)
  assert.equal(plan(['work', ...outage, 'work'], 1).again, false)
  assert.equal(plan(['agent_crashed', 'agent_crashed'], 1).again, false)
})

test('what only a person can mend is not tried again', () => {
  for (const kind of ['auth', 'billing']) {
    const plan = retryPlan(attempts(kind), { maxRetries: 5 })
    assert.equal(plan.again, false, kind)
  }
  assert.equal(retryPlan(attempts('refusal'), { maxRetries: 5 }).again, true)
})

test('a program that is not there and an unknown model use no retry: they are tried again until they are mended', () => {
  for (const kind of ['agent_missing', 'model_not_found']) {
    const plan = retryPlan(attempts(kind, kind, kind), { maxRetries: 0, retryMs: [1, 6, 24] })
    assert.deepEqual(plan, { again: true, afterMs: 24 }, kind)
  }
})

test('an interruption is no failure: it is neither counted nor waited for', () => {
  const plan = retryPlan(attempts('work', 'interrupted', 'interrupted', 'interrupted'), { maxRetries: 1 })
  assert.deepEqual(plan, { again: true, afterMs: 0 })
  assert.deepEqual(retryPlan([], { maxRetries: 0 }), { again: true, afterMs: 0 })
})

test('the whole story is told when it is given up, each reason on a line of its own', () => {
  const plan = retryPlan(
    [
      past({ number: 1, outcome: 'failed', model: 'haiku', reason: 'two tests\nfail' }),
      past({ number: 2, outcome: 'interrupted' }),
      past({ number: 3, outcome: 'failed', result: 'I could not find it.' }),
      past({ number: 4, outcome: 'failed' }),
    ],
    { maxRetries: 2 },
  )
  assert.deepEqual(plan, {
    again: false,
    why: 'tried 3 times',
    story: [
      'attempt 1 (haiku): two tests fail',
      'attempt 3: I could not find it.',
      'attempt 4: no reason was given',
    ].join('\n'),
  })
})

test('a long story is told from both ends, and a long reason is cut', () => {
  const many = Array.from({ length: 40 }, (_, index) =>
    past({ number: index + 1, outcome: 'failed', reason: 'x'.repeat(10_000) }),
  )
  const plan = retryPlan(many, { maxRetries: 3 })
  const lines = plan.again ? [] : plan.story.split('\n')
  assert.equal(lines.length, 11)
  assert.equal(lines[5], '(30 more)')
  assert.ok(lines.every(line => line.length < 530))
})
