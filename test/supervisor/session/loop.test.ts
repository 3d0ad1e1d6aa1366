import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FailureKind, type SessionEvent } from '../../../src/domain/session.ts'
import { type Action, type Analysis, decide, type LoopContext, think } from '../../../src/supervisor/session/decide.ts'

type TurnEnded = Extract<SessionEvent, { kind: 'turn_ended' }>

const turn = (outcome: TurnEnded['outcome'], more: Partial<TurnEnded> = {}): TurnEnded => ({
  kind: 'turn_ended',
  outcome,
  text: 'done',
  turns: 1,
  durationMs: 1,
  denials: 0,
  ...more,
})

const RETRY_MS = [5_000, 30_000, 120_000]

const QUIET: LoopContext = {
  stopping: undefined,
  pausing: undefined,
  retries: 0,
  retryMs: RETRY_MS,
  compaction: undefined,
  reply: undefined,
  hasNext: false,
  critical: false,
}

const limit = { source: 'event', message: 'limit', resetsAt: 5 } as const
const failing = (kind: FailureKind) =>
  turn('failed', { failure: { kind, message: kind, ...(kind === 'limit' && { limit }) } })

const asks = turn('completed', { text: 'I have a plan. Should I proceed with the refactoring?' })

const usage = (outputTokens: number): SessionEvent => ({
  ...{ kind: 'usage', inputTokens: 9, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 },
})

/** The table of the loop: what happens, in which circumstances, and which action follows. */
const TABLE: [string, SessionEvent, Partial<LoopContext>, Action['do']][] = [
  ['an event of the work', { kind: 'plan', items: [] }, {}, 'go_on'],
  ['a text, which the program itself may have written', { kind: 'text', text: 'a' }, {}, 'go_on'],
  ['tokens of an answer', usage(1), {}, 'open_gate'],
  ['no token of an answer', usage(0), {}, 'go_on'],
  ['a call', { kind: 'tool_request', callId: 'c', tool: 'Bash', input: {} }, {}, 'go_on'],
  ['a question', { kind: 'question', callId: 'c', questions: [] }, {}, 'go_on'],
  ['a refused window, before the turn has ended', { kind: 'limit', status: 'rejected' }, {}, 'go_on'],
  ['a completed task, nothing left', turn('completed'), {}, 'session_complete'],
  ['a completed task, one left', turn('completed'), { hasNext: true }, 'next_task'],
  ['the same while a person pauses', turn('completed'), { hasNext: true, pausing: 'person' }, 'pause'],
  ['the same on a shut account', turn('completed'), { hasNext: true, pausing: 'gate' }, 'wait_for_gate'],
  ['the same above critical', turn('completed'), { hasNext: true, critical: true }, 'wait_for_quota'],
  ['the last task while a person pauses', turn('completed'), { pausing: 'person' }, 'session_complete'],
  ['a completed task while it is stopped', turn('completed'), { stopping: 'enough', hasNext: true }, 'stop'],
  ['the last task while it is stopped', turn('completed'), { stopping: 'enough' }, 'session_complete'],
  ['a shortened conversation', turn('completed'), { compaction: 'running' }, 'continue'],
  ['a question in place of the work', asks, {}, 'ask_in_words'],
  ['the same with an answer', asks, { reply: 'Yes.' }, 'say'],
  ['the same with an answer while a person pauses', asks, { reply: 'Yes.', pausing: 'person' }, 'pause'],
  ['the same while it is stopped', asks, { reply: 'Yes.', stopping: 'enough' }, 'stop'],
  ['a task that the agent gives up', turn('completed'), { gaveUp: 'no way', hasNext: true }, 'give_up'],
  ['the same with a question', asks, { gaveUp: 'no way', reply: 'Yes.' }, 'give_up'],
  ['the same while it is stopped', turn('completed'), { gaveUp: 'no way', stopping: 'enough' }, 'give_up'],
  ['a pause', turn('paused'), { pausing: 'person' }, 'pause'],
  ['a pause because the account was shut', turn('paused'), { pausing: 'gate' }, 'wait_for_gate'],
  ['an interruption', turn('interrupted'), {}, 'pause'],
  ['an interruption because the account was shut', turn('interrupted'), { pausing: 'gate' }, 'wait_for_gate'],
  ['the cap on turns', turn('capped'), {}, 'pause'],
  ['a call that was put off', turn('parked'), {}, 'park'],
  ['a limit', failing('limit'), {}, 'checkpoint_and_wait'],
  ['a limit while it is stopped', failing('limit'), { stopping: 'enough' }, 'stop'],
  ['a failure that may pass', failing('overloaded'), {}, 'retry'],
  ['the last try', failing('network'), { retries: RETRY_MS.length }, 'escalate'],
  ['a failure that stays', failing('refusal'), {}, 'fail'],
  ['a login that is refused', failing('auth'), {}, 'checkpoint_and_wait'],
  ['a credit that is used up, while it is stopped', failing('billing'), { stopping: 'enough' }, 'stop'],
  ['too long a conversation', failing('prompt_too_long'), {}, 'compact'],
  ['too long even when shortened', failing('prompt_too_long'), { compaction: 'done' }, 'fail'],
  ['a crash', { kind: 'ended', reason: 'crashed' }, {}, 'retry'],
  ['a limit on the way to a pause', failing('limit'), { pausing: 'person' }, 'pause'],
  ['a failure on the way to a pause', failing('network'), { pausing: 'person' }, 'pause'],
  ['a close before the agent was up, to pause', { kind: 'ended', reason: 'closed' }, { pausing: 'person' }, 'pause'],
  ['a pause because a guard tripped', turn('paused'), { pausing: 'guard' }, 'halt'],
  ['an interruption because a guard tripped', turn('interrupted'), { pausing: 'guard' }, 'halt'],
  ['a completed task when a guard tripped, one left', turn('completed'), { hasNext: true, pausing: 'guard' }, 'halt'],
  ['the last task when a guard tripped', turn('completed'), { pausing: 'guard' }, 'session_complete'],
  ['a question with an answer when a guard tripped', asks, { reply: 'Yes.', pausing: 'guard' }, 'halt'],
  ['a limit on the way to a halt', failing('limit'), { pausing: 'guard' }, 'halt'],
  ['a failure on the way to a halt', failing('network'), { pausing: 'guard' }, 'halt'],
  ['a close of an agent that hung', { kind: 'ended', reason: 'closed' }, { pausing: 'guard' }, 'halt'],
  ['a close because the account was shut', { kind: 'ended', reason: 'closed' }, { pausing: 'gate' }, 'wait_for_gate'],
]

test('the loop, row by row', () => {
  for (const [what, event, context, action] of TABLE) {
    assert.equal(decide(think(event), { ...QUIET, ...context }).do, action, what)
  }
})

test('a limit that is met on the way to a stop, a pause or a halt still closes the account', () => {
  const ways: Partial<LoopContext>[] = [{ stopping: 'enough' }, { pausing: 'person' }, { pausing: 'guard' }]
  for (const way of ways) {
    const met = { limit: undefined, ...decide(think(failing('limit')), { ...QUIET, ...way }) }
    assert.deepEqual(met.limit, limit, JSON.stringify(way))
    assert.equal('limit' in decide(think(failing('server')), { ...QUIET, ...way }), false)
  }
})

test('a parked call is known by its id, and one that the agent has given up is marked as gone', () => {
  const parked = (gone?: true) => turn('parked', { parked: { callId: 'c', tool: 'Bash', ...(gone && { gone }) } })
  assert.deepEqual(decide(think(parked()), QUIET), { do: 'park', callId: 'c' })
  assert.deepEqual(decide(think(parked(true)), QUIET), { do: 'park', callId: 'c', gone: true })
})

test('only a completed turn completes a task; no other ending is a success', () => {
  const done = new Set<Action['do']>(['session_complete', 'next_task'])
  const outcomes = ['paused', 'parked', 'interrupted', 'capped', 'failed'] as const
  fc.assert(
    fc.property(
      fc.constantFrom(...outcomes),
      fc.constantFrom(...FailureKind.options),
      fc.record({
        stopping: fc.constantFrom(undefined, 'enough'),
        pausing: fc.constantFrom(undefined, 'person' as const, 'gate' as const, 'guard' as const),
        retries: fc.nat(5),
        retryMs: fc.constant(RETRY_MS),
        compaction: fc.constantFrom(undefined, 'running' as const, 'done' as const),
        reply: fc.constantFrom(undefined, 'yes'),
        hasNext: fc.boolean(),
        critical: fc.boolean(),
      }),
      (outcome, kind, context) => {
        const event = outcome === 'failed' ? failing(kind) : turn(outcome)
        assert.equal(done.has(decide(think(event), context).do), false)
      },
    ),
  )
})

test('a failure that may pass is retried three times, with longer waits; any other failure is never retried', () => {
  const waits = [0, 1, 2].map(retries => decide(think(failing('server')), { ...QUIET, retries }))
  assert.deepEqual(
    waits.map(action => action.do === 'retry' && [action.attempt, action.afterMs]),
    RETRY_MS.map((ms, index) => [index + 1, ms]),
  )
  const permanent = FailureKind.options.filter(kind => decide(think(failing(kind)), QUIET).do === 'fail')
  assert.deepEqual(permanent, [
    'model_not_found',
    'refusal',
    'resume_unknown',
    'nothing_parked',
    'agent_missing',
    'other',
  ])
})

test('a limit without details is a limit all the same', () => {
  const analysis: Analysis = think(turn('failed', { failure: { kind: 'limit', message: 'full' } }))
  assert.deepEqual(analysis.type === 'rate_limit' && analysis.limit, { source: 'result', message: 'full' })
})
