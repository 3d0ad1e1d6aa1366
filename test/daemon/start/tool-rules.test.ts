import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'
import { inProcess } from '../in-process.ts'

const SCENARIO = `
conversations:
  - match: two commands
    turns:
      - tools:
          - Bash: { command: tee named, description: Named }
          - Bash: { command: tee other, description: Other }
      - text: Done.
  - match: write a file
    turns:
      - tools: [{ Write: { file_path: "{{cwd}}/made.txt", content: made } }]
      - text: "It said: {{last_tool_result}}"
`

test('--allowed-tools: the named command runs with nobody there, another one does not', async t => {
  const world = await inProcess(t, SCENARIO)
  const { id } = await world.start('Run two commands', { allowed_tools: ['Bash(tee named)', 'Bash'] })
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.deepEqual(
    ['named', 'other'].map(file => existsSync(join(world.project, file))),
    [true, false],
  )
  const events = await world.log(id)
  const decided = bodiesOf(events, 'permission.decided').map(({ target, verdict, by }) => [target, verdict, by])
  assert.deepEqual(decided.sort(), [
    ['tee named', 'allow', 'rule'],
    ['tee other', 'deny', 'policy'],
  ])
  assert.match(bodiesOf(events, 'session.noted')[0]?.text ?? '', /--allowed-tools Bash lets nothing through/)
})

test('--disallowed-tools: the agent does not have the tool at all', async t => {
  const world = await agentSessions(t, SCENARIO)
  const { id } = await world.start('Please write a file', { disallowed_tools: ['Write'] })
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.equal(existsSync(join(world.project, 'made.txt')), false)
})
