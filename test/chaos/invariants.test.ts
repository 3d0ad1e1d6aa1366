import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { History } from '../../scripts/chaos/history.ts'
import { violationsIn } from '../../scripts/chaos/invariants/all.ts'
import { taskText } from '../../scripts/chaos/plan/scenario.ts'
import { toleranceMs } from '../../scripts/chaos/world/outliving.ts'
import { aHistory, call, decided, event, finished, moved } from './a-history.ts'

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

test('a tool may be executed again only where it was in flight when its agent was cut off', () => {
  const calm = aHistory().events.filter(({ kind }) => kind !== 'permission.decided' && kind !== 'tool.finished')
  /** Begun at these times; the daemon was killed at 2500 and the model had heard nothing. */
  const repeated = (times: number[], events: History['events'], more: Partial<History> = {}) =>
    broken(
      aHistory({
        ledgers: { s1: times.map(at => `begin s1-t1-c1 ${at}`) },
        calls: [call(1_100, 'nothing'), call(9_500, 'did s1-t1-c1')],
        events: [...calm, ...events],
        ...more,
      }),
    )
  const allowed = event(11, 2_350, 'permission.decided', decided('c1', 's1-t1-c1'))
  const result = (time: number) => event(12, time, 'tool.finished', finished('c1'))
  assert.deepEqual(repeated([2_400, 3_000], [allowed]), [], 'killed at 2500, no result before')
  assert.deepEqual(repeated([2_400, 3_000], [allowed, result(2_400)]), [], 'the transcript had no time to follow')
  const early = event(11, 1_150, 'permission.decided', decided('c1', 's1-t1-c1'))
  assert.deepEqual(repeated([1_900, 3_000], [early, result(2_000)]), ['tool-once'], 'its result was recorded')
  assert.deepEqual(repeated([2_400, 3_000], []), ['tool-once'], 'nobody had allowed it')
  assert.deepEqual(repeated([4_000, 8_000], [allowed]), ['tool-once'], 'the kill was long before')
  assert.deepEqual(repeated([2_400, 3_000], [allowed], { calls: aHistory().calls }), [], 'heard of before it began')
  const heard = { calls: [call(2_450, 'did s1-t1-c1')] }
  assert.deepEqual(repeated([2_400, 3_000], [allowed], heard), ['tool-once'], 'the model had heard of it')
  const stopped: History['faults'] = [{ kind: 'stop-agent', at: 2_500, session: 's1', hit: true }]
  assert.deepEqual(repeated([2_400, 3_000], [allowed], { faults: stopped, deaths: [] }), ['tool-once'], 'not cut off')
  const killed = (session: string): Partial<History> => ({
    faults: [{ kind: 'kill-agent', at: 1_000, until: 2_500, session, hit: true }],
    deaths: [],
  })
  assert.deepEqual(repeated([2_400, 3_000], [allowed], killed('s1')), [])
  assert.deepEqual(repeated([2_400, 3_000], [allowed], killed('s2')), ['tool-once'], 'it was the agent of another')
  const lost: History['faults'] = [{ kind: 'lost-transcript', at: 2_500, session: 's1', hit: true }]
  assert.deepEqual(repeated([1_900, 3_000], [early, result(2_000)], { faults: lost }), [], 'nobody remembers it')
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

test('a limit that names no reset is kept for its first wait, unless the account was shut already', () => {
  const unnamed = event(9, 20_000, 'limit.hit', { message: 'limit' })
  const with_ = (events: History['events'], at: number) =>
    broken(aHistory({ events: [...aHistory().events, ...events], calls: [...aHistory().calls, call(at, '')] }))
  assert.deepEqual(with_([unnamed], 70_000), ['no-call-while-gated'])
  assert.deepEqual(with_([unnamed], 80_001), [])
  const named = event(8, 19_000, 'limit.hit', { message: 'limit', resets_at: 30_000 })
  assert.deepEqual(with_([named, unnamed], 31_000), [], 'the reset that was named counts')
  assert.deepEqual(with_([named, unnamed], 29_000), ['no-call-while-gated'])
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
  const { events } = aHistory()
  const answered = (time: number) => {
    const body = { number: 1, tool: '', target: '', risk: 'HIGH', by: 'human', remembered: false } as const
    const event = { id: 90, time, actor: 'human', subject: 's-1', kind: 'escalation.answered', body } as const
    return broken(aHistory({ events: [...events, event], rows: { ...rows, outbox: [ended] } }))
  }
  assert.deepEqual(answered(3_500), [], 'of what is answered at once nobody is told')
  assert.deepEqual(answered(9_000), ['told-once'])
  assert.deepEqual(outbox(decision), ['told-once'])
  assert.deepEqual(outbox(decision, { ...ended, state: 'waiting' }), ['told-once'])
  assert.deepEqual(outbox(decision, ended, { ...ended, id: 3 }), ['told-once'])
  assert.deepEqual(broken(aHistory({ notices: [] })), ['told-once'])
  const many = [{ at: 12_100, title: '6 sessions completed', text: '• s2 in s2 completed\n… and 5 more' }]
  assert.deepEqual(broken(aHistory({ notices: many })), [], 'a roll-up does not name all')
})

test('an orphan, two agents on one conversation, a damaged store and whatever else was met are told', () => {
  assert.deepEqual(broken(aHistory({ orphans: ['17 claude'] })), ['no-orphan'], 'what `orphan` does')
  assert.deepEqual(broken(aHistory({ outlived: { ms: [2_100], toleranceMs: 200 } })), [])
  assert.deepEqual(broken(aHistory({ outlived: { ms: [900, 2_300], toleranceMs: 200 } })), ['no-orphan'])
  assert.deepEqual(
    broken(aHistory({ doubles: ['2 agents in s1'] })),
    ['one-writer'],
    'what `double-resume` and `no-fencing` do',
  )
  assert.deepEqual(broken(aHistory({ integrity: ['row 3 missing from index'] })), ['store-whole'])
  assert.deepEqual(broken(aHistory({ complaints: ['a session was refused'] })), ['no-surprise'])
})

test('what agents may outlive their daemon by grows with the line for a core, and not for ever', () => {
  assert.equal(toleranceMs(1.5, 2), 0)
  assert.equal(toleranceMs(6, 2), 1_000)
  assert.equal(toleranceMs(200, 2), 3_000)
})

test('a task of a run is merged once, and the checkout and the repository are whole', () => {
  const whole = { commits: { 'run-t1': 1 }, loose: '', broken: '', left: '' }
  const { rows, events } = aHistory()
  const task = { id: 't-9', session_id: 's-9', title: taskText('run-t1'), state: 'done', attempt: 1 }
  const landed = event(20, 12_500, 'merge.landed', { task: 't-9', target: 'main', commit: 'c' })
  const ended = event(21, 12_600, 'task.finished', { ...moved(1), task_id: 't-9' })
  const seen = (run: Partial<typeof whole>, { tasks = [task], more = [landed, ended] } = {}) =>
    broken(
      aHistory({
        run: { ...whole, ...run },
        rows: { ...rows, tasks: [...rows.tasks, ...tasks] },
        events: [...events, ...more],
      }),
    )
  assert.deepEqual(seen({}), [])
  assert.deepEqual(seen({ commits: { 'run-t1': 2 } }), ['merged-once'])
  assert.deepEqual(seen({ commits: { 'run-t1': 0 } }), ['merged-once'], 'lost')
  assert.deepEqual(seen({ commits: { 'run-t1': 0 } }, { more: [ended] }), ['merged-once'], 'its call never ran')
  assert.deepEqual(seen({ loose: ' M a.txt' }), ['merged-once'])
  assert.deepEqual(seen({ broken: 'missing blob' }), ['merged-once'])
  assert.deepEqual(seen({ left: 'pcc/t-9' }), ['merged-once'])
  assert.deepEqual(seen({}, { tasks: [{ ...task, state: 'failed' }] }), ['merged-once'])
  assert.deepEqual(seen({}, { more: [landed, ended, { ...landed, id: 22 }] }), ['merged-once'], 'told twice')
  assert.deepEqual(seen({}, { more: [landed] }), ['merged-once'], 'never finished')
})
