import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventOf } from '../../../src/domain/event.ts'
import type { SessionEvent } from '../../../src/domain/session.ts'
import { onLimit } from '../../../src/supervisor/events/on-limit.ts'
import type { Run } from '../../../src/supervisor/run.ts'
import { aRun } from '../a-run.ts'

type LimitEvent = Extract<SessionEvent, { kind: 'limit' }>

/** Percent of the windows that are warned of, event by event. */
function warned(run: Run, ...events: Omit<LimitEvent, 'kind'>[]): (string | undefined)[][] {
  return events.map(event =>
    onLimit({ kind: 'limit', ...event }, run).events.map(one => {
      const { window, utilization } = (one as EventOf<'limit.warned'>).body
      return `${window} ${utilization}`
    }),
  )
}

function used(five_hour: number, seven_day = 0.1): Omit<LimitEvent, 'kind'> {
  return {
    status: 'allowed',
    windows: { five_hour: { utilization: five_hour, resetsAt: 1 }, seven_day: { utilization: seven_day } },
  }
}

test('a window is warned of once at 85 and once at 90 percent, also where the vendor says nothing', () => {
  const run = aRun()
  assert.deepEqual(warned(run, used(0.5), used(0.84), used(0.85), used(0.86), used(0.9), used(0.99)), [
    [],
    [],
    ['five_hour 0.85'],
    [],
    ['five_hour 0.9'],
    [],
  ])
  assert.deepEqual(warned(run, used(0.99, 0.87)), [['seven_day 0.87']])
})

test('after a reset it is warned of anew', () => {
  assert.deepEqual(warned(aRun(), used(0.9), used(0.02), used(0.88)), [['five_hour 0.9'], [], ['five_hour 0.88']])
})

test('a warning of the vendor is passed on whatever our own levels are, and once', () => {
  const early = { status: 'warning', window: 'five_hour', utilization: 0.4 } as const
  assert.deepEqual(warned(aRun(), early, { ...early, utilization: 0.42 }), [['five_hour 0.4'], []])
})

test('a warning without a number or a window is passed on too, and once', () => {
  const vague = [{ status: 'warning' }, { status: 'warning' }, { status: 'warning', window: 'five_hour' }] as const
  assert.deepEqual(
    warned(aRun(), ...vague).map(({ length }) => length),
    [1, 0, 1],
  )
})

test('a refusal is no warning: the end of the turn tells of it', () => {
  const refusal = { status: 'rejected', window: 'five_hour', resetsAt: 1, utilization: 1 } as const
  assert.deepEqual(warned(aRun(), refusal), [[]])
})
