import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import { agentWorld } from '../agent-world.ts'
import { onTerminal } from '../pty.ts'

const SCENARIO = `
conversations:
  - match: ask about proceeding
    turns:
      - tools:
          - AskUserQuestion:
              questions:
                - { question: Should I proceed?, header: Proceed, multiSelect: false, options: [{ label: "Yes", description: "" }, { label: "No", description: "" }] }
      - text: "You said: {{last_tool_result}}"
  - match: ask about a colour
    turns:
      - tools:
          - AskUserQuestion:
              questions:
                - { question: Which colour?, header: Colour, multiSelect: false, options: [{ label: red, description: "" }, { label: blue, description: "" }] }
      - text: "You said: {{last_tool_result}}"
`

test('parked sessions go on from the inbox: one with what the brain says, one with a number, as it comes', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  const start = (task: string, name: string) =>
    pcc.run(['start', project, '--task', task, '--session-name', name, '--confidence', '0.99'])
  assert.equal((await start('ask about proceeding', 'first')).code, 3)
  const terminal = onTerminal(t, pcc, ['inbox'])
  await terminal.see(/Inbox: 1 thing waits for you(.|\n)*Should I proceed\?(.|\n)*Brain: "Yes" \(confidence: 85%\)/)
  await terminal.see(/\[A\]ccept brain {2}\[1-2\] Select {2}\[T\]ype custom {2}\[D\]ecline/)
  terminal.type('a')
  await terminal.see(/Answered: decision 1 of session s-\w+\. The session goes on/)
  assert.equal((await start('ask about a colour', 'second')).code, 3)
  await terminal.see(/› +2 +Q&A(.|\n)*Which colour\?/)
  await terminal.see(/\[1-2\] Select/)
  terminal.type('2')
  await terminal.see(/Answered: decision 2/)
  terminal.type('q')
  assert.equal(await terminal.exit, 0)
  for (const [name, said] of [
    ['first', 'Yes'],
    ['second', 'blue'],
  ] as const) {
    await onTerminal(t, pcc, ['attach', name]).exit
    const { status, questions } = JSON.parse((await pcc.run(['status', name, '--json'])).stdout) as SessionView
    assert.deepEqual({ status, questions }, { status: 'completed', questions: { auto: 0, human: 1 } })
    assert.match((await pcc.run(['logs', name])).stdout, new RegExp(`Answer \\(human\\): ${said}`))
  }
})
