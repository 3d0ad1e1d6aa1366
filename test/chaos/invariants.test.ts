import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { History } from '../../scripts/chaos/history.ts'
import { violationsIn } from '../../scripts/chaos/invariants/all.ts'
import { aHistory, call, event, moved } from './a-history.ts'

/** The promises that a history breaks. */
function broken(history: History): string[] {
  return [...new Set(violationsIn(history).map(({ invariant }) => invariant))]
}

test('a round in which everything held breaks nothing', () => {
  assert.deepEqual(violationsIn(aHistory()), [])
})

test('a task that ends twice, never, as failed, or by an attempt that does not hold it is told', () => {
  const { events, rows } = aHistory()
  const twice = aHistory({ events: [...events, event(7, 12_002, 'task.finished', moved(2))] })
  assert.deepEqual(broken(twice), ['ends-once'], 'what `double-ending` does')
  const [task] = rows.tasks
  assert.ok(task)
  const unfinished = { ...rows, tasks: [{ ...task, state: 'running' }] }
  assert.deepEqual(broken(aHistory({ rows: unfinished })), ['ends-once'])
  assert.deepEqual(broken(aHistory({ rows: { ...rows, tasks: [] } })), ['ends-once'])
  assert.deepEqual(broken(aHistory({ rows: { ...rows, tasks: [task, { ...task, id: 't-2' }] } })), ['ends-once'])
  const failed = aHistory({ events: [...events, event(7, 11_000, 'task.failed', moved(1))] })
  assert.deepEqual(broken(failed), ['ends-once'])
  const stale = events.map(each => (each.id === 5 ? event(5, 12_000, 'task.finished', moved(1)) : each))
  assert.deepEqual(broken(aHistory({ events: stale })), ['ends-once'])
})

test('a tool may be executed again only where it was in flight when something went wrong', () => {
  const ledger = (...times: number[]) => ({ ledgers: { s1: times.map(at => `begin s1-t1-c1 ${at}`) } })
  const unheard = { calls: [call(1_100, 'nothing'), call(9_500, 'did s1-t1-c1')] }
  assert.deepEqual(broken(aHistory({ ...ledger(2_400, 3_000), ...unheard })), [], 'killed at 2500, not heard of before')
  assert.deepEqual(broken(aHistory(ledger(1_200, 3_000))), ['tool-once'], 'the model had heard of it at 2000')
  const calm = { faults: [], deaths: [] }
  assert.deepEqual(
    broken(aHistory({ ...ledger(2_400, 3_000), ...unheard, ...calm })),
    ['tool-once'],
    'nothing went wrong',
  )
  assert.deepEqual(broken(aHistory({ ...ledger(4_000, 8_000), ...unheard })), ['tool-once'], 'the kill was long before')
  const lost: History['faults'] = [{ kind: 'lost-transcript', at: 2_500, session: 's1', hit: true }]
  assert.deepEqual(broken(aHistory({ ...ledger(1_200, 3_000), faults: lost })), [], 'nobody remembers it')
})

test('a model call between a limit and its reset is told, by account, and one on its way is not', () => {
  const with_ = (...calls: History['calls']) => broken(aHistory({ calls: [...aHistory().calls, ...calls] }))
  assert.deepEqual(with_(call(7_000, '')), ['no-call-while-gated'], 'what `call-while-gated` does')
  assert.deepEqual(with_(call(5_400, '')), [], 'it had left already')
  assert.deepEqual(with_(call(9_001, '')), [], 'after the reset')
  assert.deepEqual(with_({ ...call(7_000, ''), account: 'sha256:another' }), [])
  const jumped: History['faults'] = [{ kind: 'clock-jump', at: 1, hit: true }]
  assert.deepEqual(broken(aHistory({ faults: jumped, calls: [call(7_000, '')] })), [], 'two clocks cannot be compared')
})

test('a question that has no row, stays open, or whose answer never came is told', () => {
  const { events, rows } = aHistory()
  const [row] = rows.escalations
  assert.ok(row)
  assert.deepEqual(broken(aHistory({ rows: { ...rows, escalations: [] } })), ['no-question-lost'])
  assert.deepEqual(broken(aHistory({ rows: { ...rows, escalations: [{ ...row, state: 'open' }] } })), [
    'no-question-lost',
  ])
  const unanswered = events.filter(({ kind }) => kind !== 'question.answered')
  assert.deepEqual(broken(aHistory({ events: unanswered })), ['no-question-lost'])
})

test('what was worth telling and has no row, was not told, or that nobody heard, is told', () => {
  const { rows } = aHistory()
  const [decision, ended] = rows.outbox
  assert.ok(decision && ended)
  const outbox = (...all: typeof rows.outbox) => broken(aHistory({ rows: { ...rows, outbox: all } }))
  assert.deepEqual(outbox(ended), ['told-once'], 'what `lost-outbox` does')
  assert.deepEqual(outbox(decision), ['told-once'])
  assert.deepEqual(outbox(decision, { ...ended, state: 'waiting' }), ['told-once'])
  assert.deepEqual(outbox(decision, ended, { ...ended, id: 3 }), ['told-once'])
  assert.deepEqual(broken(aHistory({ notices: [] })), ['told-once'])
  const many = [{ at: 12_100, title: '6 sessions completed', text: '• s2 in s2 completed\n… and 5 more' }]
  assert.deepEqual(broken(aHistory({ notices: many })), [], 'a roll-up does not name all')
})

test('an orphan, two agents on one conversation, a damaged store and whatever else was met are told', () => {
  assert.deepEqual(broken(aHistory({ orphans: ['17 claude'] })), ['no-orphan'], 'what `orphan` does')
  assert.deepEqual(
    broken(aHistory({ doubles: ['2 agents in s1'] })),
    ['one-writer'],
    'what `double-resume` and `no-fencing` do',
  )
  assert.deepEqual(broken(aHistory({ integrity: ['row 3 missing from index'] })), ['store-whole'])
  assert.deepEqual(broken(aHistory({ complaints: ['a session was refused'] })), ['no-surprise'])
})
