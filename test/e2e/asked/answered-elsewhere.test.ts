import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentWorld } from '../agent-world.ts'
import { onTerminal } from '../pty.ts'
import { ASKS_FOR_A_HUE } from './asks-for-a-hue.ts'

const SCENARIO = `
conversations:${ASKS_FOR_A_HUE}
`

test('what a terminal asks is listed and answered by number from another one, and the first goes on', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  const terminal = onTerminal(t, pcc, ['start', project, '--task', 'ask me', '--session-name', 'here'])
  await terminal.see(/\[1-2\] Select/)
  assert.match((await pcc.run(['pending'])).stdout, /│ 1 │ s-\w+ │ Q&A +│ Which hue\? /)
  const { code, stderr } = await pcc.run(['respond', '1', '2'])
  assert.equal(code, 0, stderr)
  await terminal.see(/You said: .*plum/)
  assert.equal(await terminal.exit, 0)
  assert.equal((await pcc.run(['pending'])).stdout, 'Nothing waits for you.\n')
})
