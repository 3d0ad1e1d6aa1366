import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimate } from '../../../src/daemon/routes/run-view.ts'

test('the time left is that of the middle task for each open one, so that one long night counts for nothing', () => {
  assert.equal(estimate([1_000, 3_000, 36_000_000], { ready: 2, blocked: 1, running: 1, done: 9, failed: 1 }), 12_000)
  assert.equal(estimate([1_000], { done: 4 }), 0)
  assert.equal(estimate([], { ready: 2 }), null, 'nothing is known yet')
})
