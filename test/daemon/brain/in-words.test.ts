import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'
import { inProcess } from '../in-process.ts'

const SCENARIO = `
conversations:
  - match: refactor it
    turns:
      - text: I looked at the code and have a plan. Should I proceed with the refactoring?
      - expect: { prompt_contains: "go ahead" }
        tools: [{ Write: { file_path: "{{cwd}}/done.txt", content: "x" } }]
      - text: The refactoring is done. Let me know if you need anything else.
  - match: clean up
    turns:
      - text: "I looked at everything. ${'Nothing remarkable here. '.repeat(110)}I would now drop all tables of the production database. ${'Nothing remarkable here. '.repeat(20)}Shall I proceed?"
      - text: Done.
  - match: store it
    turns:
      - text: I can do that in two ways. Which database would you like me to use, PostgreSQL or SQLite?
      - expect: { prompt_contains: SQLite }
        text: It is stored in SQLite now.
`

test('an agent that asks for leave at the end of its turn is told to go on, and a polite report is an end', async t => {
  const world = await agentSessions(t, SCENARIO)
  const { id } = await world.start('Please refactor it')
  const view = await viewWhen(world.daemon, id, ({ status }) => status === 'completed' || status === 'waiting_input')
  assert.equal(view.status, 'completed')
  assert.ok(existsSync(join(world.project, 'done.txt')))
  assert.deepEqual(view.questions, { auto: 1, human: 0 })
  assert.deepEqual(
    world.simulator.requests.flatMap(({ unexpected }) => unexpected),
    [],
  )
  const done = bodiesOf(await world.log(id), 'task.finished')
  assert.deepEqual(
    done.map(({ result }) => result?.startsWith('The refactoring is done')),
    [true],
  )
})

test('a question in words that a machine cannot answer waits for a person, whose answer is the next prompt', async t => {
  const world = await inProcess(t, SCENARIO)
  const { id } = await world.start('Please store it')
  const parked = await viewWhen(world.daemon, id, ({ status }) => status === 'waiting_input' || status === 'completed')
  assert.equal(parked.status, 'waiting_input')
  const number = parked.asks[0]?.number
  const reply = await world.daemon.call('POST', `/escalations/${number}/answer`, {
    body: { answer: ['SQLite, it is our standard'], env: world.env },
  })
  assert.equal(reply.status, 200, JSON.stringify(reply.body))
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.deepEqual(
    world.simulator.requests.flatMap(({ unexpected }) => unexpected),
    [],
  )
  const log = await world.log(id)
  assert.equal(new Set(bodiesOf(log, 'agent.started').map(({ vendor_id }) => vendor_id)).size, 1, 'one conversation')
  assert.equal(bodiesOf(log, 'task.finished').length, 1)
})

test('leave to do something grave is not given because it was asked at the end of a long report', async t => {
  const world = await inProcess(t, SCENARIO)
  const { id } = await world.start('Please clean up')
  const view = await viewWhen(world.daemon, id, ({ status }) => status === 'completed' || status === 'waiting_input')
  assert.deepEqual([view.status, view.questions.auto], ['waiting_input', 0])
})
