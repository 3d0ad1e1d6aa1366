import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DaemonContext } from '../../../src/daemon/context.ts'
import { readTaskEvents } from '../../../src/daemon/routes/task-graph.ts'
import type { EventOf, NewEvent, StoredEvent } from '../../../src/domain/event.ts'
import type { Need } from '../../../src/domain/needs.ts'
import { listRefused, summarizeDecisions } from '../../../src/supervisor/report/counts.ts'
import { readTaskStories } from '../../../src/supervisor/report/tasks.ts'
import { beginAttempt, needsWorld } from './needs-world.ts'

function decided(call_id: string, more: Partial<EventOf<'permission.decided'>['body']>): EventOf<'permission.decided'> {
  const body = {
    ...({
      call_id,
      tool: 'Bash',
      target: 'rm -rf old',
      verdict: 'deny',
      risk: 'HIGH',
      confidence: 1,
      by: 'policy',
    } as const),
    ...{ reason: '', latency_ms: 1, ...more },
  }
  return { ...{ id: 1, time: 1, actor: 'daemon', subject: 's-1', schema_version: 1 }, kind: 'permission.decided', body }
}

test('the report gives a person the reason of a verdict, without advice to the agent and without paths of worktrees', () => {
  const reasons = [{ code: 'file.delete', risk: 'HIGH', text: 'rm deletes files' }] as const
  const refused = decided('a', { reason: 'rm deletes files; leave the file where it is', reasons: [...reasons] })
  const allowed = decided('b', {
    ...{ verdict: 'allow', by: 'brain', target: 'a.js', reason: 'inside the project: /home/x/worktrees/t-1/a.js is …' },
  })
  const own = decided('c', { by: 'rule', reason: 'you said so; twice' })
  assert.deepEqual(
    listRefused([refused], []).map(({ why }) => why),
    ['rm deletes files'],
  )
  assert.deepEqual(
    summarizeDecisions([allowed, own])
      .shown.map(({ why }) => why)
      .sort(),
    ['inside the project', 'you said so; twice'],
  )
})

test('what a person allowed after it was refused is not listed as refused, unless it waits or was refused again', () => {
  const refused = decided('a', {})
  const allowed = decided('b', { verdict: 'allow', by: 'human' })
  const open = { kind: 'refused', text: 'Bash rm -rf old', next: 'pcc respond 1 --approve --again' } as Need
  const listed = (...given: Parameters<typeof listRefused>) => listRefused(...given).map(({ count }) => count)
  assert.deepEqual(listed([refused, allowed], []), [])
  assert.deepEqual(listed([refused, allowed], [open]), [1], 'another task still waits for it')
  assert.deepEqual(listed([refused, allowed, refused], []), [1])
  assert.deepEqual(listed([refused, decided('c', { verdict: 'allow', by: 'policy' })], []), [1])
})

test('the bar of a turn that its agent called done is green only if that was accepted', () => {
  const steps = [
    ...['started ready', 'verifying running', 'waiting verifying', 'returned', 'started waiting', 'verifying running'],
    ...['readied verifying', 'started ready', 'verifying running', 'merging verifying', 'finished merging'],
  ]
  const events = steps.map((step, time) => {
    const [kind, from] = step.split(' ')
    const body = { task_id: 't-1', title: 'one', attempt: 1, from }
    return { id: time, time, actor: 'daemon', subject: 't-1', schema_version: 1, kind: `task.${kind}`, body }
  }) as StoredEvent[]
  const [story] = readTaskStories(events, { since: 0, until: 99 })
  assert.deepEqual(
    story?.periods.map(({ as }) => as),
    ['sent back', 'failed', 'done'],
  )
})

test('the log of a task has the events of all its sessions, under the numbers that its attempts have', async t => {
  const { store, add, session } = await needsWorld(t)
  const task = await add('one')
  const about = (kind: StoredEvent['kind'], attempt: number, { from = 'running', subject = task.id } = {}) =>
    ({ actor: 'daemon', subject, kind, body: { task_id: task.id, title: 'one', from, attempt } }) as NewEvent
  for (const [number, session_id] of ['s-1', 's-2'].entries()) {
    await session(session_id)
    await beginAttempt(store, { task_id: task.id, number: number + 1, iteration: number + 1, session_id })
  }
  await store.append([
    about('task.started', 1, { from: 'ready' }),
    // The daemon died, and the next one took the task from it.
    about('task.waiting', 2),
    about('task.started', 2, { from: 'waiting' }),
    about('task.returned', 2, { subject: 's-1' }),
    about('task.readied', 2),
    about('task.started', 2, { from: 'ready' }),
    about('task.returned', 2, { subject: 's-2' }),
  ])
  const events = await readTaskEvents({ ...task, session_id: 's-2' }, { store } as DaemonContext)
  assert.deepEqual(
    events.flatMap(({ body }) => ('attempt' in body ? [body.attempt] : [])),
    [1, 1, 1, 1, 1, 2, 2],
  )
})

test('the time in which the session of a task waits for a login is waiting, and not work', () => {
  const task = (kind: 'task.started' | 'task.verifying', time: number, from: 'ready' | 'running'): StoredEvent =>
    ({
      id: time,
      time,
      subject: 't-1',
      actor: 'daemon',
      kind,
      body: { task_id: 't-1', title: 'dig', from },
    }) as StoredEvent
  const session = (time: number, rest: Pick<StoredEvent, 'kind' | 'body'>): StoredEvent =>
    ({ id: time, time, subject: 's-1', actor: 'daemon', ...rest }) as StoredEvent
  const paused = { kind: 'session.ended', body: { status: 'paused', reason: 'not logged in', resumes_at: 9 } } as const
  const resumed = { kind: 'session.resumed', body: { reason: 'its time has come' } } as const
  const events = [
    task('task.started', 10, 'ready'),
    ...[session(12, paused), session(40, resumed), session(41, paused), session(90, resumed)],
    task('task.verifying', 95, 'running'),
    session(96, { kind: 'session.ended', body: { status: 'completed', reason: 'done' } }),
  ]
  const [story] = readTaskStories(events, { since: 0, until: 99, taskOf: new Map([['s-1', 't-1']]) })
  assert.equal(story?.attempts, 1)
  assert.deepEqual(
    story?.periods.map(({ from, to, as }) => [from, to, as]),
    [
      [10, 12, 'waiting'],
      [40, 41, 'waiting'],
      [90, 95, 'done'],
    ],
  )
})

test('a period that begins while the session of a task waits counts no work before the session goes on', () => {
  const events = [
    { id: 1, time: 40, subject: 's-1', kind: 'session.resumed', body: { reason: 'its time has come' } },
    {
      ...{ id: 2, time: 45, subject: 't-1', kind: 'task.finished' },
      body: { task_id: 't-1', title: 'dig', from: 'running' },
    },
  ].map(event => ({ actor: 'daemon', ...event })) as StoredEvent[]
  const [story] = readTaskStories(events, { since: 30, until: 99, taskOf: new Map([['s-1', 't-1']]) })
  assert.deepEqual(
    story?.periods.map(({ from, to }) => [from, to]),
    [[40, 45]],
  )
})
