import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openStore } from '../../../src/store/open.ts'
import { onPermission } from '../../../src/supervisor/session/asks.ts'
import { parkProseQuestion } from '../../../src/supervisor/session/brain.ts'
import { onQuestion } from '../../../src/supervisor/session/on-question.ts'
import { tempDir } from '../../support/world.ts'
import { aLiveSession } from './live-session.ts'
import { sessionDepsOn } from './session-deps.ts'

const questions = [{ question: 'Which colour?', header: '', multiSelect: false, options: [] }]
const answer = { answers: { 'Which colour?': 'red' }, by: 'human' }

test('the answer to a parked question also reaches a model that asks the same question under a new id, once', async t => {
  await using store = await openStore({ file: join(tempDir(t), 'store.db') })
  const live = aLiveSession({}, { answer: { callId: 'old', questions, answer } })
  const { id, name, project, task, agent } = live.row
  await store.sessions.insert({ id, name, project, task, agent, owner: 'boot-1' })
  const context = { live, deps: sessionDepsOn(store) }
  const ask = (callId: string, question: string) =>
    onQuestion(
      { callId, questions: [{ ...questions[0], question, header: '', multiSelect: false, options: [] }] },
      new AbortController().signal,
      context,
    )
  assert.ok('park' in (await ask('other', 'Which shape?')), 'the answer is not for another question')
  live.agent.parking.clear() // only one call of a turn can be parked
  assert.deepEqual(await ask('new', 'Which colour?'), answer)
  assert.ok('park' in (await ask('newer', 'Which colour?')), 'the answer is given once')
})

test('a question in a turn that has already parked a call is not shown at a terminal: it is listed, and asked again later', async t => {
  await using store = await openStore({ file: join(tempDir(t), 'store.db') })
  const live = aLiveSession()
  const { id, name, project, task, agent } = live.row
  await store.sessions.insert({ id, name, project, task, agent, owner: 'boot-1' })
  const deps = sessionDepsOn(store)
  const { signal } = new AbortController()
  const ask = (callId: string, question: string) =>
    onQuestion({ callId, questions: [{ question, header: '', multiSelect: false, options: [] }] }, signal, {
      live,
      deps,
    })
  assert.ok('park' in (await ask('first', 'Which colour?')))
  using _here = { [Symbol.dispose]: deps.terminals.attach(id) }
  const second = await ask('second', 'Which shape?')
  assert.ok('declined' in second && /ask it again/.test(second.declined), JSON.stringify(second))
  const request = { callId: 'third', tool: 'Bash', input: { command: 'rm -rf build' }, cwd: project }
  live.agent.calls.set('third', { tool: 'Bash', target: '' })
  const third = await onPermission(request, signal, { live, deps })
  assert.ok(
    'verdict' in third && third.verdict === 'deny' && /try this one again/.test(third.reason),
    JSON.stringify(third),
  )
  const rows = await store.escalations.list({})
  assert.deepEqual(
    rows.map(({ kind, state }) => [kind, state]),
    [
      ['question', 'open'],
      ['permission', 'denied'],
    ],
  )
})

test('what the brain thinks of a question at the end of a turn is shown to the person, and nothing where it thinks nothing', () => {
  const question = { question: 'Shall I?', kind: 'proceed', about: 'I would go on. Shall I?' } as const
  const suggestion = { answer: ['yes'], confidence: 0.5, by: 'ollama' }
  const asked = parkProseQuestion(question, aLiveSession(), suggestion)
  assert.deepEqual([asked.parked?.suggestion, asked.escalation?.context], [suggestion, { suggestion }])
  assert.equal(asked.escalation && 'answer' in asked.escalation, false)
  assert.equal(parkProseQuestion(question, aLiveSession()).parked?.suggestion, undefined)
})
