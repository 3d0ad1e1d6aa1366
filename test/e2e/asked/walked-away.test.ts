import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { agentWorld } from '../agent-world.ts'
import { onTerminal } from '../pty.ts'
import { ASKS_FOR_A_HUE } from './asks-for-a-hue.ts'

const SCENARIO = `
conversations:${ASKS_FOR_A_HUE}
  - match: make it
    turns:
      - tools: [{ Bash: { command: tee made, description: Make } }]
      - text: "It said: {{last_tool_result}}"
`

test('who walks away from a terminal finds the box as it was, half typed, and goes on from there; or somebody answers elsewhere', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  pcc.env['PCC_HUMAN_GRACE_SECONDS'] = '2'
  const terminal = onTerminal(t, pcc, ['start', project, '--task', 'ask me', '--session-name', 'here'])
  await terminal.see(/\[1-2\] Select/)
  terminal.type('tlight ')
  await terminal.see(/Nobody has answered yet: no agent waits for it any more(.|\n)*pcc respond 1/)
  assert.match((await pcc.run(['pending'])).stdout, /│ 1 │ s-\w+ │ Q&A +│ Which hue\? /)
  assert.match((await pcc.run(['list'])).stdout, /here .*waiting/i)
  terminal.type('blue\r')
  await terminal.see(/You said: (.|\n)*light blue/)
  assert.equal(await terminal.exit, 0)

  const other = onTerminal(t, pcc, ['start', project, '--task', 'make it', '--session-name', 'there'])
  await other.see(/\[y\] allow once/)
  await other.see(/Nobody has answered yet/)
  const { code, stderr } = await pcc.run(['respond', '2', '--approve'])
  assert.equal(code, 0, stderr)
  await other.see(/It said: /)
  assert.equal(await other.exit, 0)
  assert.ok(existsSync(join(project, 'made')))
})
