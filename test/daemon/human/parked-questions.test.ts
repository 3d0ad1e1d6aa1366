import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Escalation } from '../../../src/domain/escalation.ts'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { type Reply, viewWhen } from '../daemon-process.ts'
import { inProcess, type Sessions } from '../in-process.ts'

const OPTIONS = '[{ label: red, description: "" }, { label: blue, description: "like the sky" }]'
const SCENARIO = `
conversations:
  - match: ask one
    turns:
      - tools:
          - AskUserQuestion: { questions: [{ question: Which colour?, header: Colour, multiSelect: false, options: ${OPTIONS} }] }
      - text: "You said: {{last_tool_result}}"
  - match: ask two
    turns:
      - tools:
          - AskUserQuestion:
              questions:
                - { question: Which colour?, header: Colour, multiSelect: false, options: ${OPTIONS} }
                - { question: Which colours not?, header: Not, multiSelect: true, options: ${OPTIONS} }
      - text: "You said: {{last_tool_result}}"
`

test('a parked question is a numbered row; what does not answer it leaves it open, an option number answers it', async t => {
  const { world, id, answer } = await parked(await agentSessions(t, SCENARIO), 'ask one')
  const [row] = (await world.daemon.call<{ escalations: Escalation[] }>('GET', '/escalations')).body.escalations
  assert.deepEqual([row?.number, row?.kind, row?.state, row?.target], [1, 'question', 'open', 'Which colour?'])
  assert.deepEqual(Object.keys(row?.input ?? {}), ['questions'])
  for (const [body, problem] of [
    [{ answer: '' }, /the answer is empty/],
    [{ answer: [' \n'] }, /the answer is empty/],
    [{ answer: '3' }, /there is no option 3: choose 1 to 2, or say it in words/],
    [{ answer: '0' }, /there is no option 0/],
    [{ answer: 'x'.repeat(65_537) }, /longer than 64 KB/],
    [{ answer: ['red', 'blue'] }, /it asks one question, and 2 answers were given/],
    [{ verdict: 'allow' }, /it is a question: give an answer/],
    [{ verdict: 'deny', answer: 'red' }, /either a verdict or an answer/],
  ] as const) {
    const { status, body: reply } = await answer({ ...body, env: world.env })
    assert.deepEqual([status, reply.error.code], [400, 'answer_unfit'], JSON.stringify(body).slice(0, 80))
    assert.match(reply.error.message, problem)
  }
  assert.equal((await answer({ env: world.env })).body.error.code, 'bad_request')

  const { status, body: reply } = await answer({ answer: '2', env: world.env })
  assert.deepEqual([status, reply.escalation.answer, reply.escalation.verdict], [200, ['blue'], null])
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  const log = await world.log(id)
  assert.match(bodiesOf(log, 'agent.said').at(-1)?.text ?? '', /You said: .*blue/)
  assert.deepEqual(bodiesOf(log, 'question.answered')[0]?.answers, { 'Which colour?': 'blue' })
  const late = await answer({ answer: 'red', env: world.env })
  assert.equal(late.status, 409)
  assert.match(late.body.error.message, /^Decision 1 was answered by human on /)
})

test('each part of a question gets its own answer, in words or numbers', async t => {
  const { world, id, answer } = await parked(await inProcess(t, SCENARIO), 'ask two')
  assert.match(
    (await answer({ answer: 'red', env: world.env })).body.error.message,
    /it asks 2 questions, and one answer/,
  )
  assert.match(
    (await answer({ answer: ['red', ''], env: world.env })).body.error.message,
    /"Which colours not\?" is empty/,
  )
  assert.equal((await answer({ answer: ['something warm', '2, 1'], env: world.env })).status, 200)
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.deepEqual(bodiesOf(await world.log(id), 'question.answered')[0]?.answers, {
    'Which colour?': 'something warm',
    'Which colours not?': ['blue', 'red'],
  })
})

test('a person may decline to answer, and the agent is told why', async t => {
  const { world, id, answer } = await parked(await inProcess(t, SCENARIO), 'ask one')
  assert.equal((await answer({ verdict: 'deny', reason: 'you choose', env: world.env })).status, 200)
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.match(bodiesOf(await world.log(id), 'agent.said').at(-1)?.text ?? '', /You said: .*you choose/)
})

test('an answer at a terminal settles the same row', async t => {
  const { world, id, askId, number } = await parked(await inProcess(t, SCENARIO), 'ask one')
  const answers = { 'Which colour?': 'red' }
  const body = { ask_id: askId, answers, by: 'ann', env: world.env }
  assert.equal((await world.daemon.call('POST', `/sessions/${id}/answers`, { body })).status, 200)
  const { body: row } = await world.daemon.call<Escalation>('GET', `/escalations/${number}`)
  assert.deepEqual([row.state, row.answer, row.answered_by], ['answered', ['red'], 'human'])
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
})

interface Parked {
  world: Sessions
  id: string
  askId: string
  number: number
  // biome-ignore lint/suspicious/noExplicitAny: a test knows the shape it asks for
  answer(body: object): Promise<Reply<any>>
}

async function parked(world: Sessions, task: string): Promise<Parked> {
  const { id } = await world.start(task)
  const view = await viewWhen(world.daemon, id, ({ status }) => status === 'waiting_input')
  const number = view.asks[0]?.number ?? 0
  const answer = (body: object) => world.daemon.call('POST', `/escalations/${number}/answer`, { body })
  return { world, id, askId: view.asks[0]?.ask_id ?? '', number, answer }
}
