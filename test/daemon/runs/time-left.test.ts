import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimate, standsStill } from '../../../src/daemon/routes/run-view.ts'

test('the time left is that of the middle task for each open one, so that one long night counts for nothing', () => {
  assert.equal(estimate([1_000, 3_000, 36_000_000], { ready: 2, blocked: 1, running: 1, done: 9, failed: 1 }), 12_000)
  assert.equal(estimate([1_000], { done: 4 }), 0)
  assert.equal(estimate([], { ready: 2 }), null, 'nothing is known yet')
  assert.equal(estimate([1_000], { ready: 2, waiting: 3, verifying: 1 }, 1), 2_000, 'what waits is left out')
  assert.equal(estimate([1_000], { waiting: 3 }), null, 'all of it waits')
})

test('nothing is said of the time left while every open task waits for a person, an account or the project', () => {
  const now = { status: 'completed', landing: 'verifying', last_line: null, resumes_at: null, decision: 2 } as const
  const heldUp = { ...now, landing: 'merging', decision: null, held_up: 'the checkout has changes' } as const
  const asking = { ...now, status: 'waiting_input', landing: null } as const
  assert.equal(standsStill([{ now }, { now: heldUp }, { now: asking }, { now: null }]), true)
  assert.equal(standsStill([{ now }, { now: { ...now, decision: null } }]), false, 'one is being verified')
  assert.equal(standsStill([]), false)
})
