import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type ReuseFacts, reuseFacts, whyFresh } from '../../../src/supervisor/session/reuse.ts'
import { aLiveSession } from './live-session.ts'

const ENDINGS = ['completed', 'stopped', 'paused', 'rate_limited', 'waiting_input', 'error'] as const

const facts: fc.Arbitrary<ReuseFacts> = fc.record({
  canReuse: fc.boolean(),
  isInRun: fc.boolean(),
  staysInPlace: fc.boolean(),
  endedAs: fc.constantFrom<ReuseFacts['endedAs']>(...ENDINGS),
  isDisturbed: fc.boolean(),
  isSecondLife: fc.boolean(),
  served: fc.integer({ min: 1, max: 30 }),
  most: fc.integer({ min: 1, max: 30 }),
  isTight: fc.boolean(),
})

/** The only case in which a process is used again: nothing at all speaks against it. */
const GOOD: ReuseFacts = {
  ...{ canReuse: true, isInRun: true, staysInPlace: true, endedAs: 'completed' },
  ...{ isDisturbed: false, isSecondLife: false, served: 1, most: 20, isTight: false },
}

test('a process serves the next task only if nothing speaks against it', () => {
  assert.equal(whyFresh(GOOD), undefined)
  fc.assert(
    fc.property(facts, given => {
      const { served, most } = given
      const isGood = Object.entries(GOOD).every(
        ([name, value]) => name === 'served' || name === 'most' || given[name as keyof ReuseFacts] === value,
      )
      assert.equal(whyFresh(given) === undefined, isGood && served < most)
    }),
    { numRuns: 2000 },
  )
})

test('each doubt alone is enough for a fresh process', () => {
  const doubts: Partial<ReuseFacts>[] = [
    ...[
      { canReuse: false },
      { isInRun: false },
      { staysInPlace: false },
      { isDisturbed: true },
      { isSecondLife: true },
    ],
    ...[{ isTight: true }, { served: 20 }, { most: 1 }],
    ...ENDINGS.filter(as => as !== 'completed').map(endedAs => ({ endedAs })),
  ]
  const reasons = doubts.map(doubt => whyFresh({ ...GOOD, ...doubt }))
  assert.ok(reasons.every(why => why !== undefined))
})

test('what a session went through is among the facts', () => {
  const session = { release: async () => undefined, served: 2 } as never
  const live = aLiveSession()
  live.row.options = { ...live.row.options, run: { id: 'r-1', iteration: 3, total: 9 } }
  const read = () => whyFresh(reuseFacts(live, { session, ending: { as: 'completed', reason: '' }, isTight: false }))
  assert.equal(read(), undefined)
  live.settings.tasksPerProcess = 3
  assert.match(read() ?? '', /has served 3/)
  live.settings.tasksPerProcess = 4
  for (const [change, undo] of [
    [() => (live.control.pausing = 'gate'), () => (live.control.pausing = undefined)],
    [() => (live.control.stopping = 'x'), () => (live.control.stopping = undefined)],
    [() => (live.control.cutOff = true), () => (live.control.cutOff = false)],
    [() => (live.row.retries = 1), () => (live.row.retries = 0)],
    [() => (live.row.recoveries = 1), () => (live.row.recoveries = 0)],
    [() => (live.settings.open.resume = { vendorId: 'v', fork: false }), () => (live.settings.open.resume = undefined)],
    [() => (live.row.options.place = { top: '/w' } as never), () => delete live.row.options.place],
  ] as const) {
    change()
    assert.notEqual(read(), undefined, String(change))
    undo()
    assert.equal(read(), undefined)
  }
})
