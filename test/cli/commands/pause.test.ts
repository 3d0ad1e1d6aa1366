import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { pausedLines, pausingLine } from '../../../src/cli/commands/pause.ts'
import type { SessionView } from '../../../src/domain/api.ts'
import type { AddedTask } from '../../../src/domain/task.ts'
import { pccFor } from '../pcc.ts'
import { NOON, session } from '../render/sample.ts'
import { seed } from '../seeded.ts'

const NOW = Date.now()
const question = {
  ask_id: 'a1',
  number: 1,
  call_id: 'c1',
  questions: [{ question: 'Which?', header: 'Which', multiSelect: false, options: [] }],
  reason: 'nobody is attached',
}

test('an agent inside a session can neither pause, resume, retry nor stop one', async t => {
  const pcc = pccFor(t)
  await seed(pcc, [{ ended_as: 'paused' }])
  for (const command of ['pause', 'resume', 'retry', 'stop']) {
    const { code, stdout, stderr } = await pcc.run([command, 'first'], { env: { [sessionMarker('').name]: 'm' } })
    assert.deepEqual([code, stdout], [3, ''], command)
    assert.match(
      stderr,
      new RegExp(`an agent cannot decide for a person.*\\n.*terminal of your own: pcc ${command} first\\n`),
    )
  }
  assert.equal((JSON.parse((await pcc.run(['status', 'first', '--json'])).stdout) as SessionView).status, 'paused')
})

test('an id of a run that does not exist leads to the list of runs', async t => {
  const pcc = pccFor(t)
  await seed(pcc, [{}])
  for (const ref of ['r-zzz', 'r-aaaaaa'])
    assert.match(
      (await pcc.run(['pause', ref])).stderr,
      new RegExp(`There is no run ${ref}\\.\\n.*See all runs with: pcc runs\\n`),
    )
})

test('a session that can be neither paused nor resumed is named with what to do instead', async t => {
  const pcc = pccFor(t)
  await seed(pcc, [
    { id: 's-aaaaaa', name: 'done', ended_as: 'completed' },
    { id: 's-bbbbbb', name: 'asks', ended_as: 'waiting_input', parked: question },
    { id: 's-cccccc', name: 'lost', ended_as: 'paused' },
  ])
  for (const [args, code, words] of [
    [['pause', 'done'], 'session_over', /is over: nothing is left in its queue/],
    [['resume', 'done'], 'session_complete', /nothing left to do/],
    [['retry', 'done'], 'nothing_to_retry', /Nothing in session s-aaaaaa has failed; it is completed/],
    [['pause', 'asks'], 'session_waits_for_answer', /waits for your answer/],
    [['resume', 'asks'], 'session_waits_for_answer', /waits for your answer/],
    [['resume', 'lost'], 'project_missing', /does not exist/],
  ] as const) {
    const { code: exit, stdout, stderr } = await pcc.run([...args, '--json'])
    const { error } = JSON.parse(stderr) as { error: { code: string; message: string; next: string } }
    assert.deepEqual([exit, stdout, error.code], [2, '', code], args.join(' '))
    assert.match(error.message, words)
    assert.notEqual(error.next, '')
  }
})

test('a session that waits for a limit, or for its next try, is paused at once and waits for a person', async t => {
  const pcc = pccFor(t)
  const waits = { ended_at: NOW, resumes_at: NOW + 3_600_000 }
  await seed(pcc, [
    { id: 's-aaaaaa', name: 'limited', ended_as: 'rate_limited', ...waits },
    { id: 's-bbbbbb', name: 'tried', ended_as: 'paused', retries: 1, ...waits },
  ])
  assert.equal(
    (await pcc.run(['pause', 'limited'])).stdout,
    'Session paused: s-aaaaaa (limited)\nIt does not go on by itself when the limit resets.\nGo on with: pcc resume s-aaaaaa\n',
  )
  assert.equal(
    (await pcc.run(['pause', 'tried'])).stdout,
    'Session paused: s-bbbbbb (tried)\nGo on with: pcc resume s-bbbbbb\n',
  )
  assert.equal(
    (await pcc.run(['pause', 'tried'])).stdout,
    'Session is paused already: s-bbbbbb (tried)\nGo on with: pcc resume s-bbbbbb\n',
  )
  const { sessions } = JSON.parse((await pcc.run(['list', '--json'])).stdout) as { sessions: SessionView[] }
  assert.deepEqual(
    sessions.map(({ status, resumes_at }) => [status, resumes_at]),
    [
      ['paused', null],
      ['paused', null],
    ],
  )
})

test('a pause of a task says whose session it is', async t => {
  const pcc = pccFor(t)
  await seed(pcc, [{ id: 's-aaaaaa', name: 'night', ended_as: 'paused' }])
  const added = JSON.parse((await pcc.run(['add', 'night', 'More', '--json'])).stdout) as AddedTask
  const task_id = added.task.id
  const ofTask = await pcc.run(['pause', task_id])
  assert.equal(ofTask.stderr, `Task ${task_id} is the work of session s-aaaaaa (night).\n`)
  assert.match(ofTask.stdout, /^Session is paused already: s-aaaaaa \(night\)\n/)
  for (const ref of ['night', 's-aa', 'aaa']) assert.equal((await pcc.run(['pause', ref])).stderr, '', ref)
})

const NAME = 's-abc123 (auth-feature)'

test('a session that ended before it could pause is reported with its final state', () => {
  const before = session({ status: 'processing' })
  const after = (status: Parameters<typeof session>[0]) => pausedLines(session({ ended_at: NOON, ...status }), before)
  assert.deepEqual(after({ status: 'paused' }), [`Session paused: ${NAME}`, 'Go on with: pcc resume s-abc123'])
  assert.deepEqual(after({ status: 'completed' }), [`Session was complete before it could pause: ${NAME}`])
  assert.deepEqual(after({ status: 'waiting_input' }), [
    `Session waits for your answer, and does nothing until then: ${NAME}`,
    'See: pcc pending',
  ])
  assert.deepEqual(after({ status: 'stopped' })[0], `Session was stopped before it could pause: ${NAME}`)
  assert.deepEqual(after({ status: 'error', reason: 'no credit\nTry: pcc retry s-abc123' }), [
    `Session failed before it could pause: ${NAME}`,
    'no credit',
    'Try: pcc retry s-abc123',
  ])
})

test('what a pause waits for is said: the tool in flight, an answer, or the person who has the terminal', () => {
  assert.equal(pausingLine(session({})), `Session ${NAME} pauses after the tool in flight.`)
  const asks = [{ kind: 'question' as const, ask_id: 'a', questions: [] }]
  assert.equal(pausingLine(session({ asks })), `Session ${NAME} pauses when it has its answer (pcc attach s-abc123).`)
  assert.equal(
    pausingLine(session({ host: 'tmux', taken_over: true })),
    `A person has the terminal of ${NAME}: it pauses when it is handed back.\nHand it back with: pcc handback s-abc123`,
  )
})
