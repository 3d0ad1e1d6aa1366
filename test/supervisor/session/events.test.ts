import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventOf } from '../../../src/domain/event.ts'
import type { Failure, SessionEvent } from '../../../src/domain/session.ts'
import type { LiveSession } from '../../../src/supervisor/session/context.ts'
import { onLimit, onRetry } from '../../../src/supervisor/session/events.ts'
import { aLiveSession } from './live-session.ts'

type LimitEvent = Extract<SessionEvent, { kind: 'limit' }>

/** The windows that are warned of and their percentages, event by event. */
function warned(live: LiveSession, ...events: Omit<LimitEvent, 'kind'>[]): (string | undefined)[][] {
  return events.map(event =>
    onLimit({ kind: 'limit', ...event }, live).events.map(stored => {
      const { window, utilization } = (stored as EventOf<'limit.warned'>).body
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

test('a window is warned of once at 85 and once at 90 percent, even where the vendor does not warn', () => {
  const live = aLiveSession()
  assert.deepEqual(warned(live, used(0.5), used(0.84), used(0.85), used(0.86), used(0.9), used(0.99)), [
    [],
    [],
    ['five_hour 0.85'],
    [],
    ['five_hour 0.9'],
    [],
  ])
  assert.deepEqual(warned(live, used(0.99, 0.87)), [['seven_day 0.87']])
})

test('a window is warned of again after its reset', () => {
  assert.deepEqual(warned(aLiveSession(), used(0.9), used(0.02), used(0.88)), [
    ['five_hour 0.9'],
    [],
    ['five_hour 0.88'],
  ])
})

test('a warning of the vendor is passed on once, whatever our own levels are', () => {
  const early = { status: 'warning', window: 'five_hour', utilization: 0.4 } as const
  assert.deepEqual(warned(aLiveSession(), early, { ...early, utilization: 0.42 }), [['five_hour 0.4'], []])
})

test('a warning without a number or a window is passed on too, once', () => {
  const vague = [{ status: 'warning' }, { status: 'warning' }, { status: 'warning', window: 'five_hour' }] as const
  assert.deepEqual(
    warned(aLiveSession(), ...vague).map(({ length }) => length),
    [1, 0, 1],
  )
})

test('a refusal is no warning: the end of the turn reports it', () => {
  const refusal = { status: 'rejected', window: 'five_hour', resetsAt: 1, utilization: 1 } as const
  assert.deepEqual(warned(aLiveSession(), refusal), [[]])
})

function retryMessage(failure: Failure, env: Record<string, string>): string {
  const live = aLiveSession()
  live.settings.open = { ...live.settings.open, env }
  live.settings.driver = { ...live.settings.driver, agent: 'claude' }
  const [event] = onRetry({ kind: 'retry', attempt: 1, maxRetries: 10, delayMs: 500, failure }, live).events
  return (event as EventOf<'agent.retried'>).body.failure.message
}

test('a network failure names the address, without the part that may hold a password', () => {
  const failure = { kind: 'network', message: 'it failed' } as const
  const env = { ANTHROPIC_BASE_URL: 'http://me:s3cret@127.0.0.1:9/path' }
  assert.equal(retryMessage(failure, env), 'no answer from 127.0.0.1:9: it failed')
  assert.equal(retryMessage(failure, {}), 'no answer from api.anthropic.com: it failed')
})

test('a failure that the vendor reported keeps its message', () => {
  const failure = { kind: 'overloaded', message: 'Overloaded', status: 529 } as const
  assert.equal(retryMessage(failure, { ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' }), 'Overloaded')
})
