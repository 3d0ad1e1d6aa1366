import assert from 'node:assert/strict'
import { test } from 'node:test'
import { viewWhen } from '../daemon-process.ts'
import { inProcess } from '../in-process.ts'

const SCENARIO = `
conversations:
  - match: ask later
    turns:
      - tools: [{ Bash: { command: "touch begun", description: Begin } }]
      - tools:
          - AskUserQuestion:
              questions: [{ question: "Which colour?", header: Colour, multiSelect: false, options: [{ label: red, description: "" }, { label: blue, description: "" }] }]
      - text: Done.
`

test('who resumes a session and is about to watch it is asked, before their terminal has connected', async t => {
  const world = await inProcess(t, SCENARIO)
  const { id } = await world.start('ask later', { max_turns: 1 })
  await viewWhen(world.daemon, id, ({ status }) => status === 'paused')
  const resume = { body: { env: world.env, attach: true } }
  assert.equal((await world.daemon.call('POST', `/sessions/${id}/resume`, resume)).status, 200)
  const asking = await viewWhen(world.daemon, id, ({ asks }) => asks.length > 0)
  assert.deepEqual([asking.status, asking.ended_at], ['waiting_input', null], 'asked, and not parked')
  const refused = await world.daemon.call('POST', `/sessions/${id}/retry`, { body: { from: 'x' } })
  assert.deepEqual([refused.status, refused.body.error.code], [400, 'bad_request'])
})
