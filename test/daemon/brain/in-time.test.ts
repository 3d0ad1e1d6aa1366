import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'
import { inProcess } from '../in-process.ts'

const STEPS = ['parser', 'lexer', 'refactoring', 'documentation', 'tests']
const ask = (step: string) =>
  `{ AskUserQuestion: { questions: [{ question: "Should I proceed with the ${step}?", header: Go, multiSelect: false, options: [{ label: "Yes", description: "" }, { label: "No", description: "" }] }] } }`
const SCENARIO = `
conversations:
  - match: step by step
    turns:
${STEPS.map(step => `      - tools: [${ask(step)}]`).join('\n')}
      - expect: { tool_result_contains: "Yes" }
        text: Done.
`

/** The time for a question that the rules know. Other load on the machine must not count, so the best of several is taken. */
const MOST_MS = 50

test('from the question to the answer of the rules it takes less than 50 ms', async t => {
  const world = await inProcess(t, SCENARIO)
  const { id } = await world.start('Work step by step')
  const { questions } = await viewWhen(world.daemon, id, ({ ended_at }) => ended_at !== null)
  assert.deepEqual(questions, { auto: STEPS.length, human: 0 })
  const took = bodiesOf(await world.log(id), 'question.answered').flatMap(({ latency_ms }) => latency_ms ?? [])
  assert.equal(took.length, STEPS.length)
  assert.ok(Math.min(...took) < MOST_MS, took.join(', '))
  t.diagnostic(`answered after ${took.join(', ')} ms`)
  assert.deepEqual(world.simulator.requests.at(-1)?.unexpected, [])
})
