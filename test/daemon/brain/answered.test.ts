import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'
import { inProcess } from '../in-process.ts'

const ask = (question: string, labels: string[]) =>
  `{ AskUserQuestion: { questions: [{ question: "${question}", header: Choice, multiSelect: false, options: [${labels
    .map(label => `{ label: "${label}", description: "" }`)
    .join(', ')}] }] } }`

const SCENARIO = `
conversations:
  - match: go on when asked
    turns:
      - tools: [${ask('Should I proceed with the refactoring?', ['Yes', 'No'])}]
      - expect: { tool_result_contains: "Yes" }
        text: Done.
  - match: which colour
    turns:
      - tools: [${ask('Which colour should the button have?', ['red', 'blue'])}]
      - expect: { tool_result_contains: blue }
        text: Done.
  - match: delete the data
    turns:
      - tools: [${ask('Should I proceed and delete the production database?', ['Yes', 'No'])}]
      - text: Done.
`

test('a known question is answered by the rules at once, and the model hears it', async t => {
  const world = await inProcess(t, SCENARIO)
  const { id } = await world.start('Please go on when asked')
  const view = await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.deepEqual(view.questions, { auto: 1, human: 0 })
  const [answered] = bodiesOf(await world.log(id), 'question.answered')
  assert.deepEqual(
    [answered?.by, answered?.answers, answered?.confidence],
    ['brain:rules', { 'Should I proceed with the refactoring?': 'Yes' }, 0.85],
  )
  assert.deepEqual(world.simulator.requests.at(-1)?.unexpected, [])
})

test('an unknown question waits for a person; the second time it is answered as before', async t => {
  const world = await agentSessions(t, SCENARIO)
  const first = await world.start('Please ask which colour')
  const parked = await viewWhen(world.daemon, first.id, ({ status }) => status === 'waiting_input')
  const [asked] = parked.asks
  const reply = await world.daemon.call('POST', `/escalations/${asked?.number}/answer`, {
    body: { answer: ['blue'], env: world.env },
  })
  assert.equal(reply.status, 200, JSON.stringify(reply.body))
  await viewWhen(world.daemon, first.id, ({ status }) => status === 'completed')
  const second = await world.start('Please ask which colour')
  await viewWhen(world.daemon, second.id, ({ status }) => status === 'completed')
  const [answered] = bodiesOf(await world.log(second.id), 'question.answered')
  assert.equal(answered?.by, 'memory')
  assert.match(answered?.reasoning ?? '', /^answered as on \d+ \w+ by you$/)
  assert.deepEqual(world.simulator.requests.at(-1)?.unexpected, [])
})

test('nothing destructive is agreed to by a machine, however it is asked', async t => {
  const world = await inProcess(t, SCENARIO)
  const { id } = await world.start('Please delete the data')
  const view = await viewWhen(world.daemon, id, ({ status }) => status === 'waiting_input' || status === 'completed')
  assert.equal(view.status, 'waiting_input')
  assert.deepEqual(view.questions, { auto: 0, human: 0 })
})
