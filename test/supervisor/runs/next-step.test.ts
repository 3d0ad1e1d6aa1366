import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { nextStep, type RunFacts, targetName } from '../../../src/supervisor/runs/next-step.ts'

const QUIET: RunFacts = {
  counts: {},
  working: 0,
  waiting: 0,
  iterations: 0,
  limit: undefined,
  parallel: 1,
  beginsNothing: undefined,
  gaveUp: undefined,
}

const TABLE: [string, Partial<RunFacts>, string][] = [
  ['an empty target', {}, 'no_plan'],
  ['nothing but cancelled tasks', { counts: { cancelled: 3 } }, 'no_plan'],
  ['a ready task', { counts: { ready: 1, blocked: 2 } }, 'begin'],
  ['a ready task while one is at work', { counts: { ready: 1, running: 1 }, working: 1 }, 'wait'],
  ['one of another agent beside one that waits for a login', { counts: { ready: 1 }, working: 1, stalled: 1 }, 'begin'],
  ['the same with two places', { counts: { ready: 1, running: 1 }, working: 1, parallel: 2 }, 'begin'],
  ['one that waits for a person holds nobody up', { counts: { ready: 1, waiting: 1 }, waiting: 1 }, 'begin'],
  ['only what waits for a person is left', { counts: { done: 1, waiting: 1 }, waiting: 1 }, 'wait'],
  ['everything done', { counts: { done: 3, cancelled: 1 } }, 'complete'],
  ['the rest failed', { counts: { done: 3, failed: 1, blocked: 2 } }, 'failure'],
  ['the rest failed earlier', { counts: { done: 3, failed: 1 }, failedEarlier: ['t-1'], iterations: 1 }, 'complete'],
  ['one failed earlier and one now', { counts: { failed: 2 }, failedEarlier: ['t-1'], iterations: 1 }, 'failure'],
  ['all that is there failed earlier', { counts: { done: 3, failed: 1 }, failedEarlier: ['t-1'] }, 'no_plan'],
  ['what is left comes after it', { counts: { done: 1, failed: 1, blocked: 2 }, failedEarlier: ['t-1'] }, 'blocked'],
  ['its only task was cancelled under it', { counts: { cancelled: 1 }, iterations: 1 }, 'complete'],
  ['the rest is blocked by others', { counts: { done: 3, blocked: 2 } }, 'blocked'],
  ['the limit is reached', { counts: { ready: 2 }, iterations: 4, limit: 4 }, 'limit_reached'],
  ['the limit is reached with the last task', { counts: { done: 4 }, iterations: 4, limit: 4 }, 'complete'],
  ['the limit is reached while one is at work', { counts: { ready: 2 }, iterations: 4, limit: 4, working: 1 }, 'wait'],
  ['the limit is reached and one waits for a person', { waiting: 1, iterations: 1, limit: 1 }, 'limit_reached'],
  ['the same while one is at work', { waiting: 1, working: 1, iterations: 2, limit: 2 }, 'wait'],
  ['the same where one goes on without an answer', { waiting: 1, heldUp: 1, iterations: 1, limit: 1 }, 'wait'],
  ['the same while the run is paused', { waiting: 1, iterations: 1, limit: 1, beginsNothing: 'paused' }, 'wait'],
  ['its budget is spent', { counts: { ready: 2 }, spent: 'it is spent' }, 'limit_reached'],
  [
    'its budget is spent and one waits for more',
    { counts: { waiting: 1 }, waiting: 1, spent: 'it is spent' },
    'limit_reached',
  ],
  ['its budget is spent while one is at work', { counts: { ready: 2 }, working: 1, spent: 'it is spent' }, 'wait'],
  ['its budget is spent with the last task', { counts: { done: 4 }, spent: 'it is spent' }, 'complete'],
  [
    'a person stops it after what is at work',
    { counts: { ready: 2 }, working: 1, beginsNothing: 'after current' },
    'wait',
  ],
  ['and then', { counts: { ready: 2 }, beginsNothing: 'after current' }, 'interrupted'],
  ['a paused one stands still', { counts: { ready: 2 }, beginsNothing: 'paused' }, 'wait'],
  ['the agent gave up', { counts: { ready: 2 }, gaveUp: 'no way' }, 'failure'],
]

test('a run is named by its target, wherever it is read', () => {
  const targets = [{ kind: 'project' }, { kind: 'feature', name: 'cart' }, { kind: 'task', id: 't-1' }] as const
  assert.deepEqual(targets.map(targetName), ['the whole project', 'feature cart', 'task t-1'])
})

test('what a run does next, row by row', () => {
  for (const [what, facts, expected] of TABLE) {
    const step = nextStep({ ...QUIET, ...facts })
    assert.equal(step.do === 'end' ? step.outcome : step.do, expected, what)
  }
})

test('a run neither ends while something works nor begins more than it may', () => {
  const count = fc.nat(3)
  const facts = fc.record({
    counts: fc.record({ ready: count, blocked: count, running: count, waiting: count, done: count, failed: count }),
    working: count,
    waiting: count,
    iterations: count,
    limit: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
    parallel: fc.integer({ min: 1, max: 3 }),
    beginsNothing: fc.constantFrom('after current', 'paused', undefined),
    gaveUp: fc.constantFrom('no way', undefined),
  })
  fc.assert(
    fc.property(facts, given => {
      const step = nextStep(given)
      if (step.do === 'end') {
        assert.equal(given.working, 0)
        if (step.outcome === 'complete')
          assert.equal(given.counts.failed + given.counts.ready + given.counts.blocked, 0)
      }
      if (step.do === 'begin') {
        assert.ok(given.working < given.parallel && given.counts.ready > 0)
        assert.ok(given.limit === undefined || given.iterations < given.limit)
        assert.equal(given.beginsNothing ?? given.gaveUp, undefined)
      }
    }),
  )
})
