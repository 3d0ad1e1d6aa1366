import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { NewEvidence } from '../../../src/domain/evidence.ts'
import { MERGE_STATES } from '../../../src/domain/merge.ts'
import { TaskState } from '../../../src/domain/task.ts'
import { afterVerification, type CompletionFacts, nextStep } from '../../../src/supervisor/completion/next-step.ts'

const facts: fc.Arbitrary<CompletionFacts> = fc.record({
  state: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('verifying' as const, 'merging' as const) },
    { weight: 1, arbitrary: fc.constantFrom(...TaskState.options) },
  ),
  isPaused: fc.boolean(),
  waits: fc.constantFrom('review' as const, 'trouble' as const, undefined),
  verify: fc.boolean(),
  merges: fc.boolean(),
  merge: fc.oneof(fc.constant('review' as const), fc.constantFrom(...MERGE_STATES, undefined)),
  reviewed: fc.constantFrom('approved' as const, 'returned' as const, undefined),
})

const judged = fc.record({
  merges: fc.boolean(),
  review: fc.boolean(),
  hasRun: fc.boolean(),
  failed: fc.nat(5),
  rounds: fc.nat(5),
  accepted: fc.subarray(['unproven', 'checks.changed: test.sh', 'another']),
  isUnchanged: fc.boolean(),
})

const finding = fc.record({
  code: fc.constant('checks.changed'),
  weight: fc.constantFrom('note' as const, 'review' as const),
  text: fc.constant('test.sh'),
})

const result = fc.record({
  status: fc.constantFrom('passed' as const, 'failed' as const, 'broken' as const),
  isProven: fc.boolean(),
  findings: fc.array(finding, { maxLength: 2 }),
  checks: fc.constant<NewEvidence[]>([]),
})

test('nothing is done for a task that is not at its gates or on its way, that is paused, or that waits for a person', () => {
  fc.assert(
    fc.property(facts, given => {
      const isLanding = given.state === 'verifying' || given.state === 'merging'
      const step = nextStep(given).do
      if (!isLanding || given.isPaused || given.waits) assert.equal(step, 'nothing')
      else assert.notEqual(step, 'nothing')
    }),
  )
})

test('without a verification no task is done but one that was not to be verified, and that one stays unverified', () => {
  fc.assert(
    fc.property(facts, given => {
      const step = nextStep(given)
      if (step.do === 'accept') assert.ok(given.reviewed === 'approved' && given.state === 'verifying')
      if (step.do === 'enqueue') assert.ok(!given.verify && given.merges && given.state === 'verifying')
      if (step.do !== 'finish') return
      assert.equal(step.verification, 'unverified')
      assert.ok(!given.verify && !given.merges)
    }),
  )
})

test('a merge that waits for a review goes on by a yes and by nothing else', () => {
  fc.assert(
    fc.property(facts, given => {
      const step = nextStep(given).do
      if (given.merge === 'review' && step !== 'nothing' && given.state === 'merging')
        assert.equal(step, { approved: 'release', returned: 'return', none: 'verify_anew' }[given.reviewed ?? 'none'])
      if (step === 'release') assert.ok(given.reviewed === 'approved' && given.merge === 'review')
      if (step === 'return')
        assert.ok(given.reviewed === 'returned' && (given.merge === 'review' || given.state === 'verifying'))
    }),
  )
})

test('only a verification that passed brings a task nearer to done, and passed is said only of what was proven', () => {
  fc.assert(
    fc.property(result, judged, (verified, given) => {
      const step = afterVerification(verified, given)
      const forward = ['finish', 'enqueue', 'ask_review'].includes(step.do)
      const isOpen = (concern: string) => !given.accepted.includes(concern)
      const needsPerson =
        (!verified.isProven && isOpen('unproven')) ||
        (verified.findings.some(({ weight }) => weight === 'review') && isOpen('checks.changed: test.sh'))
      assert.equal(forward, verified.status === 'passed' && !needsPerson)
      assert.equal(step.do === 'ask_acceptance', verified.status === 'passed' && needsPerson)
      if (step.do === 'finish') {
        assert.equal(step.verification, verified.isProven ? 'passed' : 'unverified')
        assert.ok(!given.merges)
      }
      if (verified.status === 'broken') assert.equal(step.do, 'escalate')
      if (step.do === 'enqueue') assert.ok(!given.review)
    }),
  )
})

test('however often a verification fails, the conversation gets it back at most so often, and then it is over for the attempt', () => {
  fc.assert(
    fc.property(judged, fc.array(result, { maxLength: 30 }), (given, results) => {
      let failed = 0
      let over = false
      for (const verified of results) {
        const step = afterVerification(verified, { ...given, failed })
        if (step.do === 'send_back') failed += 1
        if (step.do === 'try_anew' || step.do === 'fail') {
          over = true
          assert.equal(step.do, given.hasRun ? 'try_anew' : 'fail')
          assert.ok(failed >= given.rounds)
        }
        if (over) break
      }
      assert.ok(failed <= given.rounds)
    }),
  )
})

test('work that fails only as it did before goes back until its agent changes nothing; then a person decides, and their yes counts', () => {
  const before = { code: 'test.failed_before', weight: 'review', text: 'sum' } as const
  const check = { gate: 'test', status: 'failed', findings: [before] } as unknown as NewEvidence
  const verified = { status: 'failed', isProven: false, findings: [before], checks: [check] } as const
  const given = { merges: true, review: false, hasRun: true, failed: 1, rounds: 3, isUnchanged: true, accepted: [] }
  const after = (more: object, result = {}) =>
    afterVerification(
      { ...verified, checks: [...verified.checks], findings: [before], ...result },
      { ...given, ...more },
    )
  const concerns = ['unproven', 'test.failed_before: sum']
  assert.deepEqual(after({}), { do: 'ask_acceptance', concerns })
  assert.deepEqual(after({ failed: 3 }), { do: 'ask_acceptance', concerns })
  assert.equal(after({ isUnchanged: false }).do, 'send_back', 'the agent is at it')
  assert.equal(after({ isUnchanged: false, failed: 3 }).do, 'try_anew', 'and another may do better')
  assert.equal(after({ accepted: concerns }).do, 'enqueue')
  assert.deepEqual(after({ accepted: concerns, merges: false }), { do: 'finish', verification: 'unverified' })
  const lint = { ...check, gate: 'lint', findings: [] }
  assert.equal(after({ accepted: concerns }, { checks: [check, lint] }).do, 'send_back', 'something else fails, too')
  const broken = { ...lint, status: 'broken' as const }
  assert.equal(after({}, { checks: [check, broken] }).do, 'send_back')
})
