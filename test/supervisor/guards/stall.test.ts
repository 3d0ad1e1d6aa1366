import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionEvent } from '../../../src/domain/session.ts'
import { ActivityTracker, findHog, MemoryCap } from '../../../src/supervisor/guards/session-guards.ts'

const MINUTE = 60_000
const STALL = 5 * MINUTE

/** The minutes of silence after which an agent counts as hung whose last events were these. */
function hungAfter(
  last: SessionEvent[],
  observed: { waits?: boolean; stopped?: boolean; canSee?: boolean } = {},
): number {
  const tracker = new ActivityTracker(0)
  for (const event of last) tracker.observe(event, 0)
  const options = { waits: false, stopped: false, canSee: true, stallMs: STALL, ...observed }
  for (let minute = 0; minute < 24 * 60; minute++) if (tracker.isHung(minute * MINUTE, options)) return minute
  return Number.POSITIVE_INFINITY
}

const said: SessionEvent = { kind: 'text', text: 'so' }
const call: SessionEvent = { kind: 'tool_request', callId: 'c', tool: 'Bash', input: { command: 'make' } }
const back: SessionEvent = { kind: 'tool_result', callId: 'c', ok: true, output: '' }
const failure = { kind: 'overloaded', message: 'busy' } as const

for (const [what, events, minutes, observed] of [
  ['the model says nothing', [said], 5, {}],
  ['the model says nothing after a tool', [call, back], 5, {}],
  ['a tool is silent, a build of 20 minutes among them', [call], 60, {}],
  ['the conversation is being shortened', [{ kind: 'compacting', state: 'started' }], 20, {}],
  [
    'it has been shortened',
    [
      { kind: 'compacting', state: 'started' },
      { kind: 'compacting', state: 'ended' },
    ],
    5,
    {},
  ],
  [
    'the agent waits 10 minutes to try again',
    [{ kind: 'retry', attempt: 1, maxRetries: 9, delayMs: 600_000, failure }],
    15,
    {},
  ],
  ['a person is asked', [call], Number.POSITIVE_INFINITY, { waits: true }],
  ['a process was stopped, whatever it was at', [call], 5, { stopped: true }],
  ['nobody can look at its processes', [said], 20, { canSee: false }],
] as [string, SessionEvent[], number, object][]) {
  test(`when ${what}, it hangs after ${minutes} minutes`, () => assert.equal(hungAfter(events, observed), minutes))
}

test('a machine that slept for hours, or a clock that jumped, makes nobody hang', () => {
  const tracker = new ActivityTracker(0)
  const options = { waits: false, stopped: false, canSee: true, stallMs: STALL }
  assert.equal(tracker.isHung(0, options), false)
  assert.equal(tracker.isHung(8 * 60 * MINUTE, options), false)
  for (let minute = 1; minute < 5; minute++) assert.equal(tracker.isHung((480 + minute) * MINUTE, options), false)
  assert.equal(tracker.isHung(485 * MINUTE, options), true, 'from then on it counts')
})

test('a clock that is set back does not keep a hung agent young, and one that works is never hung', () => {
  const tracker = new ActivityTracker(10 * 60 * MINUTE)
  const options = { waits: false, stopped: false, canSee: true, stallMs: STALL }
  for (let minute = 0; minute < 5; minute++) assert.equal(tracker.isHung(minute * MINUTE, options), false)
  assert.equal(tracker.isHung(STALL, options), true)
  for (let minute = 0; minute < 600; minute++) {
    tracker.markAlive(minute * MINUTE)
    assert.equal(tracker.isHung((minute + 1) * MINUTE, options), false)
  }
})

const MB = 1024 * 1024

/** The steps taken at these sizes, one second apart. */
function steps(sizesMb: number[], hasHog = false) {
  const cap = new MemoryCap(1000 * MB)
  return sizesMb.map((size, second) => cap.nextStep(size * MB, { now: second * 1000, hasHog }))
}

test('an agent over its memory cap is stopped softly, then interrupted where it grows, then ended', () => {
  assert.deepEqual(steps([900, 1000]), [undefined, undefined])
  assert.deepEqual(steps([1001, 1050, 1060]), ['pause', undefined, undefined], 'it does not grow on')
  assert.deepEqual(steps([1001, 1200, 1300, 1500]), ['pause', 'interrupt', undefined, 'end'])
  assert.deepEqual(steps([1600, 1700]), ['end', undefined])
  const late = steps(Array.from({ length: 40 }, () => 1100))
  assert.deepEqual([late[0], late.indexOf('end')], ['pause', 30])
  assert.deepEqual(steps([1001, 500, 1001]), ['pause', undefined, 'pause'], 'under the cap again, it counts anew')
})

test('where one tool holds most of it, only that tool is ended first', () => {
  assert.deepEqual(steps([1001, 1200, 1300, 1600], true), ['pause', 'kill_hog', 'interrupt', 'end'])
  assert.deepEqual(steps([1600, 1700], true), ['kill_hog', 'end'])
})

test('only a group of its own inside of the tree is a tool that can be ended alone', () => {
  const usage = (pid: number, parent: number, group: number, mb: number) => ({
    pid,
    parent,
    group,
    residentBytes: mb * MB,
    cpuMs: 0,
    stopped: false,
    threads: 1,
  })
  const tree = [usage(10, 1, 10, 5), usage(11, 10, 10, 200), usage(20, 11, 20, 100), usage(21, 20, 20, 600)]
  const hog = (all = tree, inside = tree) => findHog(inside, { agent: 10, all, capBytes: 1000 * MB })
  assert.deepEqual([hog()?.group, hog()?.pids], [20, [20, 21]])
  assert.equal(hog([...tree, usage(99, 1, 20, 1)]), undefined, 'somebody else is in that group')
  const own = tree.map(row => ({ ...row, group: 10 }))
  assert.equal(hog(own, own), undefined, 'the agent itself is never a tool')
})
