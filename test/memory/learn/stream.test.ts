import assert from 'node:assert/strict'
import { test } from 'node:test'
import { meanResult, oracle, ours, seedRule, REPORT_SEEDS as seeds } from './stream.ts'

test('learned advice costs little, is seldom wrong, never allows HIGH, and poison changes nothing', () => {
  const learned = meanResult(seeds, () => ours())
  assert.ok(learned.cost <= 40, `costs ${learned.cost} for 100 decisions`)
  assert.ok(learned.wrong <= 2.5, `${learned.wrong} of 100 are wrong`)
  assert.equal(learned.highAllowed, 0)
  assert.deepEqual(
    learned,
    meanResult(seeds, () => ours({ deaf: true })),
  )
  assert.ok(learned.cost < 0.75 * meanResult(seeds, seedRule).cost)
  assert.ok(meanResult(seeds, () => oracle).cost < learned.cost)
})
