import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { AppError } from '../../src/base/errors.ts'
import type { EscalationAnswer, NewEscalation } from '../../src/domain/escalation.ts'
import { type HumanEscalations, openEscalations } from '../../src/human/escalations.ts'
import { openPrecedents } from '../../src/human/precedents.ts'
import { openStore } from '../../src/store/open.ts'
import { openTasks } from '../../src/tasks/tasks.ts'
import { DATABASES } from '../store/databases.ts'
import { tempDir } from '../support/world.ts'
import { assessed } from './assessed.ts'

const [database] = DATABASES
if (!database) throw new Error('there is a database')

test('the same request of one session is one row with a count and its newest call', async t => {
  let now = 100
  const store = await database.open(t)
  const escalations = openEscalations({ store, clock: { now: () => now } })
  assert.equal(await escalations.record(entry()), 1)
  now = 200
  assert.equal(await escalations.record(entry({ call_id: 'c-2' })), 1)
  assert.equal(await escalations.record(entry({ session_id: 's-2' })), 2, 'another session is another row')
  assert.equal(await escalations.record(entry({ normalised: 'Bash touch b' })), 3, 'another command as well')
  const [first] = await escalations.list({ session: 's-1' })
  assert.deepEqual([first?.count, first?.call_id, first?.created_at, first?.last_at], [2, 'c-2', 100, 200])
  assert.equal(await store.escalations.count(['open', 'denied']), 3)
})

test('the same request of several attempts at one task is one row, which counts them and names the newest', async t => {
  const store = await database.open(t)
  const escalations = openEscalations({ store, clock })
  const refused = (session: string, more: Partial<NewEscalation> = {}) =>
    escalations.record(entry({ session_id: session, task_id: 't-1', ...more }))
  for (const session of ['s-1', 's-2', 's-3', 's-4']) assert.equal(await refused(session), 1)
  const { count, session_id } = await escalations.get(1)
  assert.deepEqual([count, session_id], [4, 's-4'])
  assert.equal((await escalations.sessionsOf(1)).length, 4)
  assert.equal(await refused('s-4', { task_id: 't-2', session_id: 's-9' }), 2, 'another task is another cause')
  const worktree = (attempt: number) => ({ normalised: `Bash rm /w/${attempt}/x`, spelling: 'Bash rm ⟨worktree⟩/x' })
  assert.deepEqual([await refused('s-5', worktree(1)), await refused('s-6', worktree(2))], [3, 3])
  await escalations.answer(1, { verdict: 'deny', by: 'ann' })
  assert.equal(await refused('s-7'), 1, 'after a no it is not listed again')
  assert.deepEqual(
    (await escalations.list()).map(({ number }) => number),
    [2, 3],
  )
})

test('a refused request with other content is a row of its own: a yes is for what the row shows', async t => {
  const store = await database.open(t)
  const escalations = openEscalations({ store, clock })
  const refused = (bound: string, content: string) =>
    escalations.record(entry({ task_id: 't-1', call_id: content, bound, input: { content } }))
  assert.deepEqual([await refused('one', 'alias'), await refused('one', 'alias')], [1, 1])
  assert.equal(await refused('other', 'curl'), 2)
  const shown = await Promise.all([1, 2].map(number => escalations.get(number)))
  assert.deepEqual(
    shown.map(({ bound, count, input }) => [bound, count, input]),
    [
      ['one', 2, { content: 'alias' }],
      ['other', 1, { content: 'curl' }],
    ],
  )
})

test('an event says that a person allowed it once, and only an approved request can be', async t => {
  const store = await database.open(t)
  const escalations = openEscalations({ store, clock })
  await escalations.record(entry({ task_id: 't-1', bound: 'b' }))
  await escalations.record(entry({ task_id: 't-1', normalised: 'Bash other' }))
  await assert.rejects(escalations.answer(2, { verdict: 'allow', by: 'ann', again: true }), /cannot be allowed once/)
  assert.equal((await escalations.get(2)).state, 'denied', 'nothing was answered')
  const answered = await escalations.answer(1, { verdict: 'allow', by: 'ann', again: true })
  assert.ok((answered?.escalation.allowed_until ?? 0) > clock.now())
  const [event] = await store.events({ subject: 's-1', kinds: ['escalation.answered'] })
  assert.deepEqual(event?.kind === 'escalation.answered' && [event.body.again, event.body.late], [true, true])
})

test('a row names the task of its session by the title that it has then', async t => {
  const store = await database.open(t)
  const tasks = openTasks({ store, clock })
  await store.sessions.insert({ id: 's-1', name: 'one', project: '/p', task: 'Digits.\nSee the plan.', agent: 'none' })
  await store.transaction(async tx => {
    const { id } = await tasks.submit({ session_id: 's-1', project: '/p', title: 'Validate ISBN', text: 'Digits.' }, tx)
    await store.sessions.update('s-1', { task_id: id }, tx)
  })
  const escalations = openEscalations({ store, clock })
  await escalations.record(entry({ task: 'Digits.\nSee the plan.' }))
  assert.deepEqual(
    (await escalations.list()).map(({ task }) => task),
    ['Validate ISBN'],
  )
})

test('a row and its event are stored together or not at all', async t => {
  const store = await database.open(t)
  const escalations = openEscalations({ store, clock })
  const failing = store.transaction(async tx => {
    await escalations.record(entry(), tx)
    throw new Error('the event could not be written')
  })
  await assert.rejects(failing)
  assert.deepEqual(await escalations.list(), [])
})

test('approving a MEDIUM request answers the same request of the same project the next time', async t => {
  const store = await database.open(t)
  const escalations = openEscalations({ store, clock })
  const before = openPrecedents(store, clock)
  await escalations.record(entry())
  assert.equal(await before.find('/p', 'Bash', assessed('Bash touch a', 'MEDIUM')), undefined)
  const { escalation, remembered } = await said(escalations, 1, { verdict: 'allow', by: 'human', reason: 'fine' })
  assert.equal(remembered, true)
  assert.deepEqual([escalation.state, escalation.verdict, escalation.answer_reason], ['answered', 'allow', 'fine'])
  const advice = await before.find('/p', 'Bash', assessed('Bash touch a', 'MEDIUM'))
  assert.equal(advice?.approve, true)
  assert.match(advice?.reason ?? '', /^human allowed the same request on 1970-01-01$/)
  for (const other of [
    before.find('/q', 'Bash', assessed('Bash touch a', 'MEDIUM')),
    before.find('/p', 'Write', assessed('Bash touch a', 'MEDIUM')),
    before.find('/p', 'Bash', assessed('Bash touch a b', 'MEDIUM')),
  ]) {
    assert.equal(await other, undefined)
  }
  const [told] = await store.events({ subject: 's-1', kinds: ['escalation.answered'] })
  assert.deepEqual(told?.body, {
    number: 1,
    verdict: 'allow',
    by: 'human',
    remembered: true,
    tool: 'Bash',
    target: 'touch a',
    risk: 'MEDIUM',
    reason: 'fine',
    late: true,
  })
})

test('denying a MEDIUM request refuses it the next time, and a newer answer takes its place', async t => {
  const store = await database.open(t)
  const escalations = openEscalations({ store, clock })
  await escalations.record(entry())
  await escalations.answer(1, { verdict: 'deny', by: 'human' })
  const find = () => openPrecedents(store, clock).find('/p', 'Bash', assessed('Bash touch a', 'MEDIUM'))
  assert.equal((await find())?.approve, false)
  await escalations.record(entry({ session_id: 's-2' }))
  await escalations.answer(2, { verdict: 'allow', by: 'human' })
  assert.equal((await find())?.approve, true)
})

test('an answer to a HIGH request is never remembered, and none is ever found for one', async t => {
  const store = await database.open(t)
  const escalations = openEscalations({ store, clock })
  await escalations.record(entry({ risk: 'HIGH' }))
  assert.equal((await said(escalations, 1, { verdict: 'allow', by: 'human' })).remembered, false)
  const memory = openPrecedents(store, clock)
  assert.equal(await memory.find('/p', 'Bash', assessed('Bash touch a', 'MEDIUM')), undefined)
  const same = { project: '/p', tool: 'Bash', normalised: 'Bash touch a', by: 'human', verdict: 'allow' } as const
  assert.equal(await memory.remember({ ...same, risk: 'HIGH' }), false)
  assert.equal(await memory.remember({ ...same, risk: 'MEDIUM' }), true)
  assert.equal(await memory.find('/p', 'Bash', assessed('Bash touch a', 'HIGH')), undefined, 'it got more dangerous')
})

test('calls of which only the tool is known are told apart by their input, and no answer counts for the next', async t => {
  const store = await database.open(t)
  const escalations = openEscalations({ store, clock })
  const call = (query: string) => entry({ tool: 'mcp__db__ask', normalised: 'mcp__db__ask', input: { query } })
  assert.deepEqual([await escalations.record(call('a')), await escalations.record(call('b'))], [1, 2])
  assert.equal(await escalations.record(call('a')), 1)
  assert.equal((await said(escalations, 1, { verdict: 'allow', by: 'human' })).remembered, false)
  assert.equal(
    await openPrecedents(store, clock).find('/p', 'mcp__db__ask', assessed('mcp__db__ask', 'MEDIUM')),
    undefined,
  )
})

test('of two answers at once one wins, and the other is told who and when', async t => {
  const store = await database.open(t)
  const escalations = openEscalations({ store, clock })
  await escalations.record(entry())
  const answers = await Promise.allSettled([
    escalations.answer(1, { verdict: 'deny', by: 'ann' }),
    escalations.answer(1, { verdict: 'allow', by: 'bob' }),
  ])
  assert.deepEqual(
    answers.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  )
  const [, late] = answers
  assert.ok(late?.status === 'rejected' && late.reason instanceof AppError)
  assert.equal(late.reason.code, 'escalation_answered')
  assert.equal(late.reason.message, 'Decision 1 was denied by ann on 1970-01-01 00:00 UTC; the first answer counts.')
  assert.equal(
    (await openPrecedents(store, clock).find('/p', 'Bash', assessed('Bash touch a', 'MEDIUM')))?.approve,
    false,
  )
  assert.equal((await store.events({ kinds: ['escalation.answered'] })).length, 1)
  await assert.rejects(escalations.answer(7, { verdict: 'allow', by: 'ann' }), { code: 'escalation_unknown' })
})

test('after a no the same session does not list it again; after a yes that could not be kept it does', async t => {
  const store = await database.open(t)
  const escalations = openEscalations({ store, clock })
  await escalations.record(entry({ risk: 'HIGH' }))
  await escalations.answer(1, { verdict: 'deny', by: 'human' })
  assert.equal(await escalations.record(entry({ risk: 'HIGH' })), 1)
  assert.deepEqual(await escalations.list(), [])
  assert.equal((await escalations.list({ states: ['answered'] }))[0]?.count, 2)

  await escalations.record(entry({ risk: 'HIGH', session_id: 's-2' }))
  await escalations.answer(2, { verdict: 'allow', by: 'human' })
  assert.equal(await escalations.record(entry({ risk: 'HIGH', session_id: 's-2' })), 3)
})

test('what waits and what was answered is there after the store was closed and opened again', async t => {
  const file = join(tempDir(t), 'store.db')
  {
    await using store = await openStore({ file })
    const escalations = openEscalations({ store, clock })
    await escalations.record(entry())
    await escalations.record(entry({ normalised: 'Bash touch b' }))
    await escalations.answer(1, { verdict: 'allow', by: 'human' })
  }
  await using store = await openStore({ file })
  const escalations = openEscalations({ store, clock })
  assert.deepEqual(
    (await escalations.list()).map(({ number, normalised }) => [number, normalised]),
    [[2, 'Bash touch b']],
  )
  assert.equal(
    (await openPrecedents(store, clock).find('/p', 'Bash', assessed('Bash touch a', 'MEDIUM')))?.approve,
    true,
  )
  assert.equal(await escalations.record(entry({ normalised: 'Bash touch b' })), 2)
})

test('a megabyte is kept cut, is still told apart, and its answer is for it alone', async t => {
  const store = await database.open(t)
  const escalations = openEscalations({ store, clock })
  const long = (end: string) =>
    entry({ normalised: `Bash ${'x'.repeat(1_000_000)}${end}`, input: { command: 'x'.repeat(1_000_000) } })
  assert.deepEqual([await escalations.record(long('a')), await escalations.record(long('b'))], [1, 2])
  const [row] = await escalations.list()
  assert.ok(row && row.normalised.length < 20_000 && JSON.stringify(row.input).length < 20_000)
  assert.equal((await said(escalations, 1, { verdict: 'allow', by: 'human' })).remembered, false)
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`k${index}`, 'y'.repeat(3_000)]))
  await escalations.record(entry({ normalised: 'Bash many', input: many }))
  const kept = (await escalations.list()).find(({ normalised }) => normalised === 'Bash many')
  assert.ok(JSON.stringify(kept?.input).length < 64_000)
})

test('what is open is answered only together with its session, and waits again when the answer reached nobody', async t => {
  const store = await database.open(t)
  const escalations = openEscalations({ store, clock })
  await escalations.record(entry({ risk: 'HIGH', state: 'open' }))
  const deny = { verdict: 'deny', by: 'ann', reason: 'no' } as const
  assert.equal(await escalations.answer(1, deny), undefined)
  assert.equal((await escalations.get(1)).state, 'open')
  const settle = () => store.transaction(tx => escalations.settle(1, deny, tx))
  const { escalation, remembered } = await settle()
  assert.deepEqual([escalation.state, escalation.answered_by, remembered], ['answered', 'ann', false])
  await assert.rejects(settle(), { code: 'escalation_answered' })
  await store.transaction(tx => escalations.reopen(1, tx))
  const { state, verdict, answered_by, answered_at, answer_reason } = await escalations.get(1)
  assert.deepEqual([state, verdict, answered_by, answered_at, answer_reason], ['open', null, null, null, null])
  await settle()
})

test('what is withdrawn waits no more and cannot be answered; the same asked again is a new row', async t => {
  const store = await database.open(t)
  const escalations = openEscalations({ store, clock })
  await escalations.record(entry({ state: 'open' }))
  await escalations.record(entry({ normalised: 'Bash touch b' }))
  await escalations.record(entry({ session_id: 's-2', state: 'open' }))
  await store.transaction(tx => escalations.withdraw('s-1', 'stopped by a person', tx))
  assert.deepEqual(
    (await escalations.list()).map(({ number, state }) => [number, state]),
    [
      [2, 'denied'],
      [3, 'open'],
    ],
  )
  await assert.rejects(escalations.answer(1, { verdict: 'allow', by: 'ann' }), { code: 'escalation_withdrawn' })
  await store.transaction(tx => escalations.reopen(1, tx))
  assert.equal((await escalations.get(1)).state, 'withdrawn', 'only an answered one is opened again')
  assert.equal(await escalations.record(entry({ state: 'open' })), 4)
})

test('what was refused at first and is parked later is one row that is open now', async t => {
  const store = await database.open(t)
  const escalations = openEscalations({ store, clock })
  await escalations.record(entry({ risk: 'HIGH' }))
  assert.equal(await escalations.record(entry({ risk: 'HIGH', state: 'open', call_id: 'c-2' })), 1)
  const { state, count, call_id } = await escalations.get(1)
  assert.deepEqual([state, count, call_id], ['open', 2, 'c-2'])
})

test('an answer to a question is kept in its words and teaches the policy nothing', async t => {
  const store = await database.open(t)
  const escalations = openEscalations({ store, clock })
  await escalations.record(
    entry({ kind: 'question', tool: 'AskUserQuestion', normalised: 'AskUserQuestion Which?', state: 'open' }),
  )
  const answer = ['red', ['one', 'two']]
  const { escalation, remembered } = await store.transaction(tx => escalations.settle(1, { answer, by: 'ann' }, tx))
  assert.deepEqual([escalation.answer, escalation.verdict, remembered], [answer, null, false])
  const [told] = await store.events({ kinds: ['escalation.answered'] })
  assert.ok(told?.kind === 'escalation.answered')
  assert.deepEqual([told.body.answer, told.body.verdict], [answer, undefined])
})

const clock = { now: () => 1_000 }

async function said(escalations: HumanEscalations, number: number, answer: EscalationAnswer) {
  const answered = await escalations.answer(number, answer)
  assert.ok(answered, 'the row is not open')
  return answered
}

function entry(changes: Partial<NewEscalation> = {}): NewEscalation {
  return {
    kind: 'permission',
    session_id: 's-1',
    project: '/p',
    task: 't',
    call_id: 'c-1',
    tool: 'Bash',
    target: 'touch a',
    input: { command: 'touch a' },
    risk: 'MEDIUM',
    reason: 'it makes a file',
    reasons: [],
    normalised: 'Bash touch a',
    state: 'denied',
    ...changes,
  }
}

test('two calls that wait at once are two decisions, however alike', async t => {
  const store = await database.open(t)
  const escalations = openEscalations({ store, clock })
  const wanted = entry({ state: 'open' })
  const first = await escalations.record({ ...wanted, call_id: 'c-1' })
  assert.equal(await escalations.record({ ...wanted, call_id: 'c-1' }), first, 'left at its terminal')
  const second = await escalations.record({ ...wanted, call_id: 'c-2' })
  assert.notEqual(second, first)
  assert.equal(await escalations.record({ ...wanted, state: 'denied', call_id: 'c-2' }), second)
  assert.deepEqual([(await escalations.get(second)).state, (await escalations.get(second)).count], ['denied', 1])
  assert.deepEqual([(await escalations.get(first)).state, (await escalations.get(first)).count], ['open', 1])
})
