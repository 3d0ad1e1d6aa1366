import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventBody } from '../../../src/domain/event.ts'
import { agentWorld } from '../agent-world.ts'
import { onTerminal } from '../pty.ts'

const SCENARIO = `
conversations:
  - match: ask first
    turns:
      - tools:
          - AskUserQuestion:
              questions:
                - { question: Should I proceed?, header: Proceed, multiSelect: false, options: [{ label: "Yes", description: "" }, { label: "No", description: "" }] }
      - text: "You said: {{last_tool_result}}"
`

const BOX =
  /QUESTION from Claude:\n +"Should I proceed\?"\n +Options: \[1\] Yes {2}\[2\] No\n +Brain: "Yes" \(confidence: 85%\)\n\s+Proceed \[A\]ccept brain {2}\[1-2\] Select {2}\[T\]ype custom {2}> /

test('the box shows what the brain would say and how sure it is; A takes it, a number and words do not', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  for (const [keys, said] of [
    ['a', 'Yes'],
    ['2', 'No'],
    ['tOnly the tests\r', 'Only the tests'],
  ] as const) {
    const name = `says-${said.replaceAll(' ', '-')}`
    const flags = ['--session-name', name, '--confidence', '0.99']
    const terminal = onTerminal(t, pcc, ['start', project, '--task', 'ask first', ...flags])
    await terminal.see(BOX)
    terminal.type(keys)
    await terminal.see(new RegExp(`You said: (.|\n)*="${said}"`))
    assert.equal(await terminal.exit, 0)
    const { stdout } = await pcc.run(['logs', name, '--json'])
    const answered = stdout
      .split('\n')
      .filter(line => line.includes('"question.answered"'))
      .map(line => (JSON.parse(line) as { body: EventBody<'question.answered'> }).body)
    assert.deepEqual(
      answered.map(({ by, answers }) => ({ by, answers })),
      [{ by: 'human', answers: { 'Should I proceed?': said } }],
    )
  }
})

test('a parked question keeps the suggestion: attach offers it, and accepting lets the session go on', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  const flags = ['--session-name', 'alone', '--confidence', '0.99']
  assert.equal((await pcc.run(['start', project, '--task', 'ask first', ...flags])).code, 3)
  const terminal = onTerminal(t, pcc, ['attach', 'alone'])
  await terminal.see(/Brain: "Yes" \(confidence: 85%\)/)
  await terminal.see(/\[A\]ccept brain {2}\[1-2\] Select {2}\[T\]ype custom {2}> /)
  terminal.type('A')
  await terminal.see(/You said: (.|\n)*="Yes"/)
  assert.equal(await terminal.exit, 0)
})
