import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  betaCdf,
  betaQuantile,
  differenceOfMeans,
  differenceOfShares,
  studentBound,
  wilson,
} from '../../../src/memory/learn/statistics.ts'

const near = (actual: number | undefined, expected: number, within = 1e-3) =>
  assert.ok(actual !== undefined && Math.abs(actual - expected) <= within, `${actual} is not ${expected}`)

test('Beta and Student agree with closed forms and published tables', () => {
  near(betaCdf(0.5, 2, 3), 0.6875, 1e-9)
  near(betaCdf(0.3, 1, 1), 0.3, 1e-9)
  near(betaQuantile(0.2, 3, 1), 0.2 ** (1 / 3), 1e-9)
  near(betaQuantile(0.5, 0.5, 0.5), 0.5, 1e-9)
  for (const [freedom, bound] of [
    [1, 12.706],
    [4, 2.776],
    [10, 2.228],
    [120, 1.98],
  ] as const)
    near(studentBound(freedom), bound)
})

test('intervals of shares are those of Wilson and Newcombe', () => {
  const share = wilson(81, 263)
  near(share.low, 0.2553)
  near(share.high, 0.3662)
  // Newcombe 1998, method 10, example (a): 56/70 against 48/80.
  const difference = differenceOfShares([56, 70], [48, 80])
  near(difference.low, 0.0524)
  near(difference.high, 0.3339)
  assert.deepEqual([wilson(0, 0).low, wilson(0, 0).high], [0, 1])
})

test('the interval of a difference of means is that of Welch', () => {
  const difference = differenceOfMeans([27.5, 21, 19, 23.6, 17, 17.9], [27.1, 22, 20.8, 23.4, 23.4, 23.5])
  near(difference?.estimate, -2.3667)
  near(difference?.low, -6.634, 0.01)
  assert.equal(differenceOfMeans([1], [1, 2]), undefined)
  assert.deepEqual(differenceOfMeans([2, 2], [1, 1]), { estimate: 1, low: 1, high: 1 })
})
