import assert from 'node:assert/strict'
import { test } from 'node:test'
import { variableOf } from '../../../src/domain/config/layers.ts'
import { bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'
import { inProcess } from '../in-process.ts'

const SCENARIO = `
conversations:
  - match: ask first
    turns:
      - tools: [{ AskUserQuestion: { questions: [{ question: "Should I proceed with the next step?", header: Next, multiSelect: false, options: [{ label: "Yes", description: "" }, { label: "No", description: "" }] }] } }]
      - text: Done.
`

test('with brain.auto_answer off a question that the rules could answer waits for a person, who sees what they would say', async t => {
  const on = await inProcess(t, SCENARIO)
  const answered = await on.start('Please ask first')
  await viewWhen(on.daemon, answered.id, ({ status }) => status === 'completed')
  assert.equal(bodiesOf(await on.log(answered.id), 'question.answered').length, 1)

  const off = await inProcess(t, SCENARIO, { env: { [variableOf('brain.auto_answer')]: 'false' } })
  const { id } = await off.start('Please ask first')
  const { asks } = await viewWhen(off.daemon, id, ({ status }) => status === 'waiting_input' || status === 'completed')
  const [ask] = asks
  assert.deepEqual(ask?.kind === 'question' && ask.suggestion?.answer, ['Yes'])
})
