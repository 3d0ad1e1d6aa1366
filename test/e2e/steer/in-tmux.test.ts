import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type AgentWorld, agentWorld } from '../agent-world.ts'
import { onTerminal } from '../pty.ts'

const SCENARIO = `
conversations:
  - match: take your time
    turns:
      - text: Beginning.
        tools: [{ Bash: { command: sleep 600, timeout: 600000, description: Wait } }]
      - text: Done.
`

/** Starts a session in tmux and leaves it at once: its window may not be there yet. */
async function begin({ pcc, project }: AgentWorld): Promise<string> {
  const task = ['--task', 'Please take your time']
  const started = await pcc.run(['start', project, '--host', 'tmux', ...task, '--detach', '--json'])
  assert.equal(started.code, 0, started.stderr)
  return (JSON.parse(started.stdout) as { id: string }).id
}

/** Two sessions where one may work at a time: the second waits in line. */
async function oneBehindAnother(t: TestContext) {
  const world = await agentWorld(t, SCENARIO)
  const { pcc } = world
  pcc.env['PCC_SESSIONS_MAX_CONCURRENT'] = '1'
  const first = await begin(world)
  return { pcc, first, second: await begin(world) }
}

test('pcc attach drops into the terminal of a session in tmux; it is taken over and given back by commands', async t => {
  const world = await agentWorld(t, SCENARIO)
  const { pcc } = world
  const id = await begin(world)
  const terminal = onTerminal(t, pcc, ['attach', id])
  await terminal.see(/Beginning/)
  terminal.type('\u0002d')
  assert.equal(await terminal.exit, 0)
  const taken = await pcc.run(['takeover', id])
  assert.deepEqual([taken.code, taken.stderr], [0, ''])
  assert.match(taken.stdout, new RegExp(`Give it back with: pcc handback ${id}`))
  assert.match((await pcc.run(['status', id])).stdout, new RegExp(`Terminal: +tmux, yours until: pcc handback ${id}`))
  const handed = await pcc.run(['handback', id])
  assert.deepEqual([handed.stderr, handed.stdout], ['', `pcc goes on with ${id}.\n`])
  assert.match((await pcc.run(['status', id])).stdout, new RegExp(`Terminal: +tmux, enter it with: pcc attach ${id}`))
  assert.equal((await pcc.run(['stop', id])).code, 0)
})

test('who attaches before there is a terminal waits for it, and is told what it waits for', async t => {
  const { pcc, first, second } = await oneBehindAnother(t)
  const terminal = onTerminal(t, pcc, ['attach', second])
  await terminal.see(new RegExp(`Queued: the terminal of ${second} opens when its agent starts`))
  assert.equal((await pcc.run(['stop', first])).code, 0)
  await terminal.see(/Beginning/)
  terminal.type('\u0002d')
  assert.equal(await terminal.exit, 0)
  assert.equal((await pcc.run(['stop', second])).code, 0)
})

test('a session that is stopped before it had a terminal is shown as any other that is over', async t => {
  const { pcc, first, second } = await oneBehindAnother(t)
  const terminal = onTerminal(t, pcc, ['attach', second])
  await terminal.see(/Queued: the terminal/)
  assert.equal((await pcc.run(['stop', second])).code, 0)
  await terminal.see(/[Ss]topped/)
  assert.notEqual(await terminal.exit, null)
  assert.equal((await pcc.run(['stop', first])).code, 0)
})
