import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentWorld } from '../agent-world.ts'
import { onTerminal } from '../pty.ts'

const SCENARIO = `
conversations:
  - match: take your time
    turns:
      - text: Beginning.
        tools: [{ Bash: { command: sleep 60, description: Wait } }]
      - text: Done.
`

test('pcc attach drops into the terminal of a session in tmux; it is taken over and given back by commands', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  const started = await pcc.run([
    'start',
    project,
    '--host',
    'tmux',
    '--task',
    'Please take your time',
    '--detach',
    '--json',
  ])
  assert.equal(started.code, 0, started.stderr)
  const { id } = JSON.parse(started.stdout) as { id: string }
  const terminal = onTerminal(t, pcc, ['attach', id])
  await terminal.see(/Beginning/)
  terminal.type('\u0002d')
  assert.equal(await terminal.exit, 0)
  const taken = await pcc.run(['takeover', id])
  assert.deepEqual([taken.code, taken.stderr], [0, ''])
  assert.match(taken.stdout, new RegExp(`Give it back with: pcc handback ${id}`))
  assert.match((await pcc.run(['status', id])).stdout, new RegExp(`Terminal: +tmux, yours until: pcc handback ${id}`))
  assert.equal((await pcc.run(['handback', id])).stdout, `pcc goes on with ${id}.\n`)
  assert.match((await pcc.run(['status', id])).stdout, new RegExp(`Terminal: +tmux, enter it with: pcc attach ${id}`))
  assert.equal((await pcc.run(['stop', id])).code, 0)
})
