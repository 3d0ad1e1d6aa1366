import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { NewEscalation } from '../../src/domain/escalation.ts'
import type { QuestionItem } from '../../src/domain/session.ts'
import {
  answerAtDeadline,
  computeDeadline,
  type DeadlineSettings,
  type HumanEscalations,
  openEscalations,
} from '../../src/human/escalations.ts'
import type { Store } from '../../src/store/store.ts'
import { DATABASES } from '../store/databases.ts'

const clock = { now: () => 1_000 }
const [database] = DATABASES
if (!database) throw new Error('there is a database')

test('the same question of several sessions is one open row; another project, other options or a call is not', async t => {
  const { escalations } = await desk(t)
  assert.equal(await escalations.record(asked('s-1')), 1)
  assert.equal(
    await escalations.record(asked('s-2', { input: { questions: [item(' which COLOUR', ['blue', 'red'])] } })),
    1,
  )
  assert.equal(await escalations.record(asked('s-3', { project: '/q' })), 2)
  assert.equal(await escalations.record(asked('s-3', { input: { questions: [item('Which colour?', ['red'])] } })), 3)
  const call = {
    kind: 'permission',
    tool: 'Bash',
    normalised: 'Bash rm x',
    input: { command: 'rm x' },
    risk: 'HIGH',
  } as const
  assert.equal(await escalations.record(asked('s-1', call)), 4)
  assert.equal(await escalations.record(asked('s-2', call)), 5, 'a yes to a call is for that call alone')
  const [first] = await escalations.list({ session: 's-2' })
  assert.deepEqual([first?.number, first?.count, first?.session_id, first?.call_id], [1, 2, 's-1', 'c-s-1'])
  assert.deepEqual(
    (await escalations.sessionsOf(1)).map(each => ({ ...each })),
    [
      { number: 1, session_id: 's-1', call_id: 'c-s-1' },
      { number: 1, session_id: 's-2', call_id: 'c-s-2' },
    ],
  )
})

test('the answer is told to every session that waits, and what was answered is a new row when it is asked again', async t => {
  const { store, escalations } = await desk(t)
  for (const session of ['s-1', 's-2']) await escalations.record(asked(session))
  const { remembered } = await settle(store, escalations)
  assert.equal(remembered, true)
  const told = await store.events({ kinds: ['escalation.answered'] })
  assert.deepEqual(
    told.map(({ subject }) => subject),
    ['s-1', 's-2'],
  )
  await assert.rejects(settle(store, escalations), { code: 'escalation_answered' })
  assert.equal(await escalations.record(asked('s-3')), 2)
})

test('a session that is stopped leaves the row to the others; the last one takes it along', async t => {
  const { store, escalations } = await desk(t)
  for (const session of ['s-1', 's-2']) await escalations.record(asked(session))
  const withdraw = (session: string) => store.transaction(tx => escalations.withdraw(session, 'stopped', tx))
  await withdraw('s-1')
  const left = await escalations.get(1)
  assert.deepEqual([left.state, left.session_id, left.call_id], ['open', 's-2', 'c-s-2'])
  assert.deepEqual(await escalations.list({ session: 's-1' }), [])
  await withdraw('s-2')
  assert.equal((await escalations.get(1)).state, 'withdrawn')
})

test('the one session that an answer did not reach is asked again, under its own number if others had the answer', async t => {
  const { store, escalations } = await desk(t)
  for (const session of ['s-1', 's-2', 's-3']) await escalations.record(asked(session))
  await settle(store, escalations)
  const reopen = (number: number, session: string) => store.transaction(tx => escalations.reopen(number, tx, session))
  assert.equal(await reopen(1, 's-2'), 2)
  assert.equal((await escalations.get(1)).state, 'answered')
  const again = await escalations.get(2)
  assert.deepEqual([again.state, again.session_id, again.call_id, again.answer], ['open', 's-2', 'c-s-2', null])
  assert.deepEqual(
    (await escalations.sessionsOf(1)).map(({ session_id }) => session_id),
    ['s-1', 's-3'],
  )
  await settle(store, escalations, 2)
  assert.equal(await reopen(2, 's-2'), 2, 'alone, it is the same row')
  assert.equal(await escalations.record(asked('s-4')), 3, 'a row that was opened again is not shared')
})

test('what was answered is opened again also when another session has asked the same since', async t => {
  const { store, escalations } = await desk(t)
  await escalations.record(asked('s-1'))
  await settle(store, escalations)
  assert.equal(await escalations.record(asked('s-2')), 2)
  assert.equal(await store.transaction(tx => escalations.reopen(1, tx, 's-1')), 1)
  assert.deepEqual(
    (await escalations.list()).map(({ number, state }) => [number, state]),
    [
      [1, 'open'],
      [2, 'open'],
    ],
  )
})

test('what no person said is not remembered, and its event is not by a person', async t => {
  const { store, escalations } = await desk(t)
  await escalations.record(asked('s-1'))
  const { remembered } = await store.transaction(tx => escalations.settle(1, { answer: ['red'], by: 'deadline' }, tx))
  const [told] = await store.events({ kinds: ['escalation.answered'] })
  assert.deepEqual([remembered, await store.answers.list(), told?.actor], [false, [], 'daemon'])
})

test('a call that a deadline refused is listed until a person has said something to it; a question is not', async t => {
  const { store, escalations } = await desk(t)
  const call = { kind: 'permission', tool: 'Bash', normalised: 'Bash ln -s a b', input: {}, risk: 'MEDIUM' } as const
  await escalations.record(asked('s-1', { ...call, deadline: 1, on_deadline: 'deny' }))
  await escalations.record(asked('s-2'))
  const late = { verdict: 'deny', by: 'deadline', reason: 'nobody answered' } as const
  for (const number of [1, 2]) await store.transaction(tx => escalations.settle(number, late, tx))
  const [listed, ...others] = await escalations.list()
  assert.deepEqual(
    [listed?.number, listed?.state, listed?.deadline, listed?.answered_by],
    [1, 'denied', null, 'deadline'],
  )
  assert.deepEqual(others, [])
  const { remembered } = (await escalations.answer(1, { verdict: 'allow', by: 'ann' })) ?? {}
  const { state, verdict, answered_by } = await escalations.get(1)
  assert.deepEqual([remembered, state, verdict, answered_by], [true, 'answered', 'allow', 'ann'])
})

test('a call that a deadline refused waits again where that did not reach its session, or it is asked for again', async t => {
  const { store, escalations } = await desk(t)
  const call = { kind: 'permission', tool: 'Bash', normalised: 'Bash ln -s a b', input: {}, risk: 'MEDIUM' } as const
  const late = { verdict: 'deny', by: 'deadline', reason: 'nobody answered' } as const
  const settle = () => store.transaction(tx => escalations.settle(1, late, tx))
  const now = async () => {
    const { state, verdict, answered_by, count } = await escalations.get(1)
    return [state, verdict, answered_by, count]
  }
  await escalations.record(asked('s-1', call))
  await settle()
  assert.equal(await store.transaction(tx => escalations.reopen(1, tx, 's-1')), 1)
  assert.deepEqual(await now(), ['open', null, null, 1])
  await settle()
  assert.equal(await escalations.record(asked('s-1', { ...call, call_id: 'later' })), 1)
  assert.deepEqual(await now(), ['open', null, null, 2])
  assert.equal(await escalations.record(asked('s-1', { ...call, call_id: 'last', state: 'denied' })), 2)
  assert.equal(await store.transaction(tx => escalations.reopen(2, tx, 's-1')), 2)
  assert.equal((await escalations.get(2)).state, 'denied', 'nobody settled that')
})

test('ten thousands of rows are listed with their sessions', async t => {
  const { store } = await desk(t)
  const numbers = Array.from({ length: 40_000 }, (_, index) => index + 1)
  assert.deepEqual(await store.escalations.sessionsOf(numbers), [])
})

test('what belongs to a session of higher priority stands first', async t => {
  const { store, escalations } = await desk(t)
  const row = { name: 'x', project: '/p', task: 't', agent: 'claude' }
  await store.sessions.insert({ ...row, id: 's-low', priority: -1 })
  await store.sessions.insert({ ...row, id: 's-high', name: 'y', priority: 5 })
  const other = (text: string) => ({ input: { questions: [item(text, [])] } })
  await escalations.record(asked('s-low', other('One?')))
  await escalations.record(asked('s-none', other('Two?')))
  await escalations.record(asked('s-high', other('Three?')))
  await escalations.record(asked('s-low', { ...other('Four?'), priority: 9 }))
  assert.deepEqual(
    (await escalations.list()).map(({ number }) => number),
    [4, 3, 2, 1],
  )
})

test('a row keeps the last steps of its session, cut and in order', async t => {
  const { store, escalations } = await desk(t)
  const said = (text: string) => ({ actor: 'agent', subject: 's-1', kind: 'agent.said' as const, body: { text } })
  const body = { call_id: 'c', tool: 'Bash', target: 'npm test', ok: false, output: 'no' }
  await store.append([...Array.from({ length: 12 }, (_, at) => said(`step ${at}\n${'x'.repeat(300)}`))])
  const finished = { actor: 'agent', subject: 's-1', kind: 'tool.finished' } as const
  await store.append([{ ...finished, body: { ...body, ok: true } }])
  await store.append([{ ...finished, body }])
  await escalations.record(asked('s-1', { context: { suggestion: { answer: ['red'], confidence: 0.6, by: 'rules' } } }))
  const { context } = await escalations.get(1)
  assert.equal(context.steps?.length, 10)
  assert.match(context.steps?.[0] ?? '', /^said: step 4 x+…$/)
  assert.deepEqual(context.steps?.slice(-2), ['did: Bash npm test', 'failed: Bash npm test'])
  assert.equal(context.suggestion?.confidence, 0.6)
})

test('a deadline denies or takes the suggestion, and never approves a call', () => {
  const settings: DeadlineSettings = {
    grace_seconds: 60,
    deadline_minutes: 10,
    on_deadline: { question: 'take_suggestion', permission: 'deny' },
  }
  assert.deepEqual(computeDeadline('question', settings, 0), { deadline: 600_000, on_deadline: 'take_suggestion' })
  assert.deepEqual(computeDeadline('permission', settings, 0), { deadline: 600_000, on_deadline: 'deny' })
  for (const kind of ['error', 'review'] as const) assert.equal(computeDeadline(kind, settings, 0).deadline, null)
  assert.equal(computeDeadline('question', { ...settings, deadline_minutes: undefined }, 0).deadline, null)
  const suggestion = { answer: ['allow'], confidence: 1, by: 'x' }
  const row = { ...(asked('s-1') as unknown as Parameters<typeof answerAtDeadline>[0]), created_at: 0 }
  const late = (changes: Partial<typeof row>) =>
    answerAtDeadline({ ...row, context: { suggestion }, ...changes }, 600_000)
  assert.equal(late({ kind: 'permission', on_deadline: 'take_suggestion' }), undefined)
  assert.equal(late({ on_deadline: 'keep_waiting' }), undefined)
  assert.equal(late({ on_deadline: 'take_suggestion', context: {} }), undefined)
  assert.deepEqual(late({ kind: 'permission', on_deadline: 'deny' }), {
    ...{ verdict: 'deny', by: 'deadline', reason: 'nobody answered in 10 minutes; go on without it' },
  })
})

async function desk(t: TestContext): Promise<{ store: Store; escalations: HumanEscalations }> {
  const store = await database?.open(t)
  assert.ok(store)
  return { store, escalations: openEscalations({ store, clock }) }
}

function settle(store: Store, escalations: HumanEscalations, number = 1) {
  return store.transaction(tx => escalations.settle(number, { answer: ['red'], by: 'ann' }, tx))
}

function item(question: string, labels: string[]): QuestionItem {
  return { question, header: '', multiSelect: false, options: labels.map(label => ({ label, description: '' })) }
}

function asked(session: string, changes: Partial<NewEscalation> = {}): NewEscalation {
  return {
    ...{ kind: 'question', session_id: session, project: '/p', task: 't', call_id: `c-${session}` },
    ...{
      tool: 'AskUserQuestion',
      target: 'Which colour?',
      input: { questions: [item('Which colour?', ['red', 'blue'])] },
    },
    ...{ risk: 'LOW', reason: 'r', reasons: [], normalised: 'AskUserQuestion Which colour?', state: 'open' },
    ...changes,
  }
}
