import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toleranceMs } from '../../scripts/chaos/fixture/outliving.ts'
import type { History } from '../../scripts/chaos/history.ts'
import { violationsIn } from '../../scripts/chaos/invariants/all.ts'
import { taskText } from '../../scripts/chaos/plan/scenario.ts'
import { aHistory, call, decided, event, finished, moved } from './a-history.ts'

/** The invariants that a history violates. */
function broken(history: History): string[] {
  return [...new Set(violationsIn(history).map(({ invariant }) => invariant))]
}

test('a round without violations violates nothing', () => {
  assert.deepEqual(violationsIn(aHistory()), [])
})

test('a task that ends twice, never, as failed, or by an attempt that does not hold it is reported', () => {
  const { events, rows } = aHistory()
  const twice = aHistory({ events: [...events, event(7, 12_002, 'task.finished', moved(2))] })
  assert.deepEqual(broken(twice), ['ends-once'], 'what `ending-told-twice` does')
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

test('a tool may be executed again only if it was in flight when its agent was cut off', () => {
  const calm = aHistory().events.filter(({ kind }) => kind !== 'permission.decided' && kind !== 'tool.finished')
  /** Started at these times; the daemon was killed at 2500, and the model had not received the result. */
  const repeated = (times: number[], events: History['events'], more: Partial<History> = {}) =>
    broken(
      aHistory({
        ledgers: { s1: times.map(at => `begin s1-t1-c1 ${at}`) },
        calls: [call(1_100, 'nothing'), call(9_500, 'did s1-t1-c1 plum-s1-t1-c2')],
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
  const heard = { calls: [call(2_450, 'did s1-t1-c1 plum-s1-t1-c2')] }
  assert.deepEqual(repeated([2_400, 3_000], [allowed], heard), ['tool-once'], 'the model had heard of it')
  const stopped: History['faults'] = [{ kind: 'stop-agent', at: 2_500, session: 's1', hit: true }]
  assert.deepEqual(repeated([2_400, 3_000], [allowed], { faults: stopped, deaths: [] }), ['tool-once'], 'not cut off')
  const killed = (session: string, hit = true): Partial<History> => ({
    faults: [{ kind: 'kill-agent', at: 1_000, until: 2_500, session, hit }],
    deaths: [],
  })
  assert.deepEqual(repeated([2_400, 3_000], [allowed], killed('s1')), [])
  assert.deepEqual(repeated([2_400, 3_000], [allowed], killed('s2')), ['tool-once'], 'it was the agent of another')
  assert.deepEqual(repeated([2_400, 3_000], [allowed], killed('s1', false)), ['tool-once'], 'there was nobody to kill')
  const lost = (hit: boolean): Partial<History> => ({
    faults: [{ kind: 'lost-transcript', at: 2_500, session: 's1', hit }],
  })
  assert.deepEqual(repeated([1_900, 3_000], [early, result(2_000)], lost(true)), [], 'nobody remembers it')
  assert.deepEqual(repeated([1_900, 3_000], [early, result(2_000)], lost(false)), ['tool-once'], 'it was there')
})

test('a model call between a limit and its reset is reported, by account, and one already in flight is not', () => {
  const with_ = (...calls: History['calls']) => broken(aHistory({ calls: [...aHistory().calls, ...calls] }))
  assert.deepEqual(with_(call(7_000, '')), ['no-call-while-gated'], 'what `gate-not-looked-at` does')
  assert.deepEqual(with_(call(5_400, '')), [], 'it had left already')
  assert.deepEqual(with_(call(9_001, '')), [], 'after the reset')
  assert.deepEqual(with_({ ...call(7_000, ''), account: 'sha256:another' }), [])
  const jumped = (hit: boolean): Partial<History> => ({
    faults: [{ kind: 'clock-jump', at: 1, hit }],
    calls: [...aHistory().calls, call(7_000, '')],
  })
  assert.deepEqual(broken(aHistory(jumped(true))), [], 'two clocks cannot be compared')
  assert.deepEqual(broken(aHistory(jumped(false))), ['no-call-while-gated'], 'this machine could not set it')
})

test('a limit without a reset counts for its first wait, unless the account was already closed', () => {
  const unnamed = event(9, 20_000, 'limit.hit', { message: 'limit' })
  const with_ = (events: History['events'], at: number) =>
    broken(aHistory({ events: [...aHistory().events, ...events], calls: [...aHistory().calls, call(at, '')] }))
  assert.deepEqual(with_([unnamed], 70_000), ['no-call-while-gated'])
  assert.deepEqual(with_([unnamed], 80_001), [])
  const named = event(8, 19_000, 'limit.hit', { message: 'limit', resets_at: 30_000 })
  assert.deepEqual(with_([named, unnamed], 31_000), [], 'the reset that was named counts')
  assert.deepEqual(with_([named, unnamed], 29_000), ['no-call-while-gated'])
})

test('a question without a row, an open one, or one whose answer the vendor never got is reported, whatever the events say', () => {
  const { rows, calls } = aHistory()
  const [row] = rows.escalations
  assert.ok(row)
  assert.deepEqual(broken(aHistory({ rows: { ...rows, escalations: [] } })), ['no-question-lost'])
  assert.deepEqual(broken(aHistory({ rows: { ...rows, escalations: [{ ...row, state: 'open' }] } })), [
    'no-question-lost',
  ])
  const unheard = calls.map(each => ({ ...each, heard: each.heard.replace('plum-', '') }))
  assert.deepEqual(broken(aHistory({ calls: unheard })), ['no-work-lost', 'no-question-lost'])
})

test('a tool that never ran, a missing file and a question that was never asked are reported, unless that very call was cut off', () => {
  const { events, calls } = aHistory()
  const kill = (at: number): Partial<History> => ({ deaths: [at] })
  const noTool = (more: Partial<History> = {}) => broken(aHistory({ ledgers: { s1: [] }, deaths: [], ...more }))
  assert.deepEqual(noTool(), ['no-work-lost'])
  assert.deepEqual(noTool(kill(1_500)), [], 'the model had asked for it at 1100 and was next heard at 2000')
  assert.deepEqual(noTool(kill(900)), ['no-work-lost'], 'it was not asked for yet')
  const back = (time: number) => ({
    ...kill(900),
    events: [...events, event(9, time, 'daemon.started', { pid: 1, version: '1' })],
  })
  assert.deepEqual(noTool(back(950)), ['no-work-lost'], 'the next daemon was there before it was asked for')
  assert.deepEqual(noTool(back(1_150)), [], 'an agent asked for it that had outlived its daemon')
  assert.deepEqual(noTool(kill(2_500)), [], 'it may have been dead at 2000 already: nothing was stored since')
  const alive = event(9, 2_100, 'session.resumed', { reason: 'its time has come' })
  assert.deepEqual(noTool({ ...kill(2_500), events: [...events, alive] }), ['no-work-lost'], 'another call was cut')
  assert.deepEqual(noTool(kill(4_100)), ['no-work-lost'], 'nobody sees a death that late')
  assert.deepEqual(noTool({ ...kill(1_500), calls: calls.slice(1) }), ['no-work-lost'], 'nobody ever asked for it')
  const agent = (session: string, hit: boolean): Partial<History> => ({
    faults: [{ kind: 'kill-agent', at: 1_000, until: 1_500, session, hit }],
  })
  assert.deepEqual(noTool(agent('s1', true)), [])
  assert.deepEqual(noTool(agent('s1', false)), ['no-work-lost'], 'there was nobody to kill')
  assert.deepEqual(noTool(agent('s2', true)), ['no-work-lost'], 'it was the agent of another')
  const tool = (token: string, hit: boolean): Partial<History> => ({
    faults: [{ kind: 'kill-tool', at: 1_200, tool: token, hit }],
  })
  assert.deepEqual(noTool(tool('s1-t1-c1', true)), [], 'it was killed before it had written a word')
  assert.deepEqual(noTool(tool('s1-t1-c1', false)), ['no-work-lost'])
  assert.deepEqual(noTool(tool('s2-t1-c1', true)), ['no-work-lost'], 'another tool was killed')
  const reason = 'The database cannot be used: the disk is full'
  const held = (time: number, hit = true, why = reason, subject = 's-1'): Partial<History> => ({
    faults: [{ kind: 'disk-full', at: 1_050, until: 1_400, hit }],
    events: [...events, { ...event(9, time, 'session.ended', { status: 'paused', reason: why }), subject }],
  })
  assert.deepEqual(noTool(held(1_500)), [], 'the store could not write, and the call was refused')
  assert.deepEqual(noTool(held(1_500, false)), ['no-work-lost'], 'the disk was not full')
  assert.deepEqual(noTool(held(1_500, true, 'paused by a person')), ['no-work-lost'], 'it was not the disk')
  assert.deepEqual(noTool(held(2_500)), ['no-work-lost'], 'the disk cut another call')
  assert.deepEqual(noTool(held(1_500, true, reason, 's-2')), ['no-work-lost'], 'the disk held another session')
  assert.deepEqual(broken(aHistory({ files: {} })), ['no-work-lost'])
  const unasked = {
    events: events.filter(({ kind }) => kind !== 'question.parked' && kind !== 'question.answered'),
    calls: calls.map(each => ({ ...each, heard: each.heard.replace('plum-', '') })),
    waits: [],
  }
  assert.deepEqual(broken(aHistory({ ...unasked, deaths: [] })), ['no-work-lost'])
  assert.deepEqual(broken(aHistory({ ...unasked, deaths: [2_050] })), [], 'cut before it had a number')
})

test('the work of a handed-over task is done by either of the two agents, not by half of each', () => {
  const work = (token: string) => ({ do: 'work' as const, token, ms: 1, leaves: false })
  const steps = [work('s1-t1-c1'), { do: 'limit' as const, token: 's1-t1-limit' }, work('s1-t1-c2')]
  const second = [work('s1-t1-f1'), work('s1-t1-f2')]
  const [session] = aHistory().sessions
  assert.ok(session)
  const ran = (...tokens: string[]) =>
    broken(
      aHistory({
        sessions: [{ ...session, tasks: [{ token: 's1-t1', steps, second }] }],
        ledgers: { s1: tokens.map((token, at) => `begin s1-t1-${token} ${1_200 + at}`) },
        deaths: [],
      }),
    )
  assert.deepEqual(ran('c1', 'c2'), [])
  assert.deepEqual(ran('c1', 'f1', 'f2'), [])
  assert.deepEqual(ran('c1', 'f1', 'c2'), [], 'it came back')
  assert.deepEqual(ran('c1', 'f1'), ['no-work-lost'])
  assert.deepEqual(ran('f1', 'f2'), ['no-work-lost'], 'what the first had to do before is missing')
})

test('a notice that never arrived, or arrived twice, is reported', () => {
  const { rows, notices, events } = aHistory()
  const [question, ended] = notices
  const [decision, complete] = rows.outbox
  assert.ok(question && ended && decision && complete)
  const outbox = (...all: typeof rows.outbox) => broken(aHistory({ rows: { ...rows, outbox: all } }))
  assert.deepEqual(outbox(decision, { ...complete, state: 'waiting' }), ['told-once'])
  assert.deepEqual(outbox(decision, complete, { ...complete, id: 3 }), ['told-once'])
  const arrived = (...all: History['notices']) => broken(aHistory({ notices: all }))
  assert.deepEqual(arrived(question), ['told-once'], 'nobody heard that it is complete')
  assert.deepEqual(arrived(ended), ['told-once'], 'nobody heard of the question, though its row says that it was told')
  assert.deepEqual(arrived(question, question, ended), ['told-once'], 'its row stands there once')
  assert.deepEqual(arrived(question, ended, ended), ['told-once'])
  const again = (more: Partial<History>) => broken(aHistory({ notices: [question, question, ended], ...more }))
  assert.deepEqual(again({ deaths: [3_600] }), [], 'its daemon died before it had noted that it was said')
  assert.deepEqual(again({ deaths: [9_000] }), ['told-once'], 'the death was long after')
  for (const kind of ['disk-full', 'stop-clean'] as const) {
    const then = (hit: boolean, at: number) =>
      again({ faults: [{ kind, at, until: at + 1_000, hit }], deaths: [9_000] })
    assert.deepEqual(then(true, 3_000), [], `${kind}: it could not be noted`)
    assert.deepEqual(then(false, 3_000), ['told-once'], kind)
    assert.deepEqual(then(true, 6_000), ['told-once'], kind)
  }
  const body = { number: 1, tool: '', target: '', risk: 'HIGH', by: 'human', remembered: false }
  const answered = [event(90, 4_000, 'escalation.answered', body), event(91, 5_000, 'escalation.answered', body)]
  assert.deepEqual(again({ events: [...events, ...answered] }), [], 'it was opened anew, which is news')
  assert.deepEqual(
    broken(aHistory({ notices: [ended], waits: [{ number: 1, isLate: false }] })),
    [],
    'answered at once',
  )
  const many = (more: number) => ({
    at: 12_100,
    title: `${more + 5} completed`,
    text: `• s2 in s2 completed\n… and ${more} more`,
  })
  assert.deepEqual(arrived(question, many(1)), [], 'of many not all are named')
  assert.deepEqual(arrived(many(1)), ['told-once'], 'one of the two is not among them')
})

test('an orphan, two agents on one conversation, a damaged store and any other complaint are reported', () => {
  assert.deepEqual(broken(aHistory({ orphans: ['17 claude'] })), ['no-orphan'])
  const outlived = (...ms: number[]) => broken(aHistory({ outlived: ms.map(each => ({ ms: each, toleranceMs: 200 })) }))
  assert.deepEqual(outlived(2_100), [])
  assert.deepEqual(outlived(900, 2_300), ['no-orphan'])
  assert.deepEqual(broken(aHistory({ doubles: ['2 agents in s1'] })), ['one-writer'])
  assert.deepEqual(broken(aHistory({ integrity: ['row 3 missing from index'] })), ['store-whole'])
  assert.deepEqual(broken(aHistory({ complaints: ['a session was refused'] })), ['no-surprise'])
})

test('a server error of the daemon is reported, unless it names the injected fault', () => {
  const failed = (code: string, text: string, more: Partial<History> = {}) =>
    broken(aHistory({ errors: [{ at: 3_000, asked: 'POST /tasks', status: 500, code, text }], deaths: [], ...more }))
  assert.deepEqual(failed('internal', 'undefined is not a function'), ['no-surprise'])
  const full = (hit: boolean, at = 2_500): Partial<History> => ({ faults: [{ kind: 'disk-full', at, until: at, hit }] })
  assert.deepEqual(failed('disk_full', 'the disk is full', full(true)), [])
  assert.deepEqual(failed('disk_full', 'the disk is full', full(false)), ['no-surprise'], 'it was not')
  assert.deepEqual(failed('disk_full', 'the disk is full', full(true, 9_000)), ['no-surprise'], 'not yet')
  const long = { kind: 'disk-full', at: 2_000 - 12_000, until: 2_500 - 12_000, hit: true } as const
  const freed = (time: number) => ({ events: [...aHistory().events, event(90, time, 'disk.freed', {})] })
  assert.deepEqual(failed('disk_full', 'the disk is full', { faults: [long] }), ['no-surprise'], 'nobody freed it')
  assert.deepEqual(failed('disk_full', 'the disk is full', { faults: [long], ...freed(3_000) }), [], 'not looked again')
  assert.deepEqual(failed('disk_full', 'the disk is full', { faults: [long], ...freed(60_000) }), ['no-surprise'])
  const moved = { kind: 'clock-jump', at: 1_000, until: 1_000, hit: true } as const
  const later = (ms: number) => ({ faults: [moved, { ...long, until: 2_500 - ms }], ...freed(900_000) })
  assert.deepEqual(failed('disk_full', 'the disk is full', later(12_000)), [], 'its clock was moved')
  assert.deepEqual(failed('disk_full', 'the disk is full', later(30_000)), ['no-surprise'], 'it looks every 15 s')
  assert.deepEqual(failed('internal', 'undefined is not a function', full(true)), ['no-surprise'], 'not for that')
  assert.deepEqual(failed('daemon_stopping', ''), ['no-surprise'], 'it was not stopped')
  assert.deepEqual(failed('daemon_stopping', '', { deaths: [3_400] }), [])
})

test('a task may fail because of a login that was refused as planned, and for no other reason', () => {
  const { events } = aHistory()
  const failed = (reason: string, hit: boolean, session = 's1') =>
    broken(
      aHistory({
        events: [...events, event(7, 2_600, 'task.failed', { ...moved(1), reason })],
        faults: [{ kind: 'login-gone', at: 2_000, until: 4_000, session, hit }],
      }),
    )
  assert.deepEqual(failed('Please log in again', true), [])
  assert.deepEqual(failed('Please log in again', false), ['ends-once'])
  assert.deepEqual(failed('Please log in again', true, 's2'), ['ends-once'])
  assert.deepEqual(failed('it crashed', true), ['ends-once'])
})

test('the time that agents may outlive their daemon grows with the load, up to a limit', () => {
  assert.equal(toleranceMs(1.5, 2), 0)
  assert.equal(toleranceMs(6, 2), 1_000)
  assert.equal(toleranceMs(200, 2), 3_000)
})

test('a task of a run is merged once, and the checkout and the repository are intact', () => {
  const whole = { commits: { 'run-t1': 1 }, mends: { 'run-t1': 1 }, loose: '', broken: '', left: '' }
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
  assert.deepEqual(seen({ mends: { 'run-t1': 0 } }), ['merged-once'], 'it was sent back in vain')
  assert.deepEqual(seen({ loose: ' M a.txt' }), ['merged-once'])
  assert.deepEqual(seen({ broken: 'missing blob' }), ['merged-once'])
  assert.deepEqual(seen({ left: 'pcc/t-9' }), ['merged-once'])
  assert.deepEqual(seen({}, { tasks: [{ ...task, state: 'failed' }] }), ['merged-once'])
  assert.deepEqual(seen({}, { more: [landed, ended, { ...landed, id: 22 }] }), ['merged-once'], 'told twice')
  assert.deepEqual(seen({}, { more: [landed] }), ['merged-once'], 'never finished')
  const others = { run: { ...whole, commits: {}, mends: {} }, overwritten: ["a person's line is gone"] }
  assert.deepEqual(broken(aHistory(others)), ['merged-once'])
})
