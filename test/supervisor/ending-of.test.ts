import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Failure, FailureKind, type SessionEvent } from '../../src/domain/session.ts'
import { questionRow } from '../../src/supervisor/asks/question-row.ts'
import { endingOf, endingOfClosed } from '../../src/supervisor/ending-of.ts'
import { aRun } from './a-run.ts'

type TurnEnded = Extract<SessionEvent, { kind: 'turn_ended' }>

const turn = (outcome: TurnEnded['outcome'], more: Partial<TurnEnded> = {}): TurnEnded => ({
  kind: 'turn_ended',
  outcome,
  text: '',
  turns: 1,
  durationMs: 1,
  denials: 0,
  ...more,
})

const failed = (kind: Failure['kind'], message = 'it broke') => turn('failed', { failure: { kind, message } })

test('only a completed turn completes a session', () => {
  assert.equal(endingOf(turn('completed'), aRun()).as, 'completed')
  assert.equal(endingOf(turn('paused'), aRun()).as, 'paused')
  assert.equal(endingOf(turn('interrupted'), aRun()).as, 'paused')
  assert.equal(endingOf(turn('capped'), aRun()).as, 'paused')
  assert.equal(endingOf(turn('failed'), aRun()).as, 'error')
})

test('a session that was told to stop is stopped, however its turn ended', () => {
  for (const outcome of ['completed', 'interrupted', 'failed', 'parked'] as const) {
    const run = aRun()
    run.stopping = 'the daemon was stopped'
    assert.deepEqual(endingOf(turn(outcome), run), { as: 'stopped', reason: 'the daemon was stopped' })
    assert.deepEqual(endingOfClosed({ kind: 'ended', reason: 'closed' }, run).as, 'stopped')
  }
})

test('what can go on says how, with a path that survives a shell', () => {
  const run = aRun({ project: '/my project', vendor_id: 'v-1' })
  assert.match(endingOf(turn('paused'), run).reason, /pcc start '\/my project' --resume v-1 --task "…"/)
})

test('a limit waits for its reset and is told with it', () => {
  const run = aRun()
  run.limit = { window: 'five_hour', resetsAt: 5_000 }
  const ending = endingOf(failed('limit', 'You have hit your limit'), run)
  assert.deepEqual([ending.as, ending.resumesAt], ['rate_limited', 5_000])
  assert.deepEqual(
    ending.events?.map(({ kind, body }) => [kind, body]),
    [['limit.hit', { message: 'You have hit your limit', window: 'five_hour', resets_at: 5_000 }]],
  )
  assert.equal(endingOf(failed('limit'), aRun()).resumesAt, undefined)
})

test('every other failure is an error that says what to do next', () => {
  for (const kind of FailureKind.options) {
    if (kind === 'limit') continue
    const { as, reason } = endingOf(failed(kind), aRun({ vendor_id: 'v-1' }))
    assert.equal(as, 'error')
    assert.match(reason, /^it broke\n\S.{20,}/, kind)
  }
  assert.match(endingOf(failed('auth'), aRun()).reason, /ANTHROPIC_API_KEY/)
})

test('a parked question becomes a session that waits for input, with the question in its ending', () => {
  const run = aRun()
  const parked = { ask_id: 'q-1', call_id: 'c-2', questions: [], reason: 'nobody is attached' }
  const escalation = questionRow({ callId: 'c-2', questions: [] }, parked.reason, run)
  const { reason } = parked
  run.parking.set('c-1', { parked: { ...parked, call_id: 'c-1' }, reason, escalation })
  run.parking.set('c-2', { parked, reason, escalation })
  const ending = endingOf(turn('parked', { parked: { callId: 'c-2', tool: 'AskUserQuestion' } }), run)
  assert.deepEqual([ending.as, ending.parked, ending.escalation], ['waiting_input', parked, escalation])
  assert.deepEqual(
    ending.events?.map(({ kind }) => kind),
    ['question.parked'],
  )
})

test('an agent that is gone in the middle of its turn is an error', () => {
  assert.match(endingOfClosed({ kind: 'ended', reason: 'crashed' }, aRun()).reason, /ended in the middle of its turn/)
  const failure = { kind: 'agent_missing', message: 'cannot be started' } as const
  assert.match(
    endingOfClosed({ kind: 'ended', reason: 'failed', failure }, aRun()).reason,
    /cannot be started\nReinstall/,
  )
})
