import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type AgentSessions, agentSessions, bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'
import { sharedDaemon } from '../shared-daemon.ts'

/** A server that a person has set up for themselves, with one tool. */
const SERVER = `
import { createInterface } from 'node:readline'
const inputSchema = { type: 'object', properties: { title: { type: 'string' } } }
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  const result = method === 'initialize'
    ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'theirs', version: '1' } }
    : method === 'tools/list'
      ? { tools: [{ name: 'delete_all', description: 'Deletes', inputSchema }] }
      : { content: [{ type: 'text', text: 'the server was called' }] }
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
}`

const SCENARIO = `
conversations:
  - match: call the server
    turns:
      - tools: [{ mcp__theirs__delete_all: { title: one } }]
      - tools: [{ mcp__theirs__delete_all: { title: one } }]
      - tools: [{ mcp__theirs__delete_all: { title: one } }]
      - text: Done.
  - match: ask for one thing
    turns:
      - tools: [{ mcp__theirs__delete_all: { title: one } }]
      - tools: [{ mcp__theirs__delete_all: { title: two } }]
      - text: Done.
`
const shared = sharedDaemon({ env: { PCC_PERMISSIONS_UNATTENDED_HIGH: 'wait' } })

/** A session that waits for an answer about its call of the server. */
async function waiting(t: TestContext, task: string) {
  const world = await agentSessions(t, SCENARIO, { shared })
  const config = world.env['CLAUDE_CONFIG_DIR'] ?? ''
  mkdirSync(config, { recursive: true })
  const script = join(config, 'server.mjs')
  writeFileSync(script, SERVER)
  const theirs = { command: process.execPath, args: [script] }
  writeFileSync(join(config, '.claude.json'), JSON.stringify({ mcpServers: { theirs } }))
  const { id } = await world.start(task)
  const asked = async (title: string, after = 0) => {
    const { asks } = await viewWhen(world.daemon, id, ({ status, asks: [ask] }) => {
      return (
        status === 'waiting_input' && ask?.kind === 'permission' && ask.target === title && (ask.number ?? 0) > after
      )
    })
    return asks[0]?.number ?? 0
  }
  const answer = (number: number, verdict: 'allow' | 'deny') =>
    world.daemon.call('POST', `/escalations/${number}/answer`, { body: { verdict, env: world.env } })
  return { world, id, asked, answer }
}

test("a call of a server's tool that waited runs when it is made again after a yes, and a yes is for once", async t => {
  const { world, id, asked, answer } = await waiting(t, 'Please call the server')
  const first = await asked('one')
  assert.equal((await answer(first, 'allow')).status, 200)
  const second = await asked('one', first)
  const [, again] = world.simulator.requests
  assert.match(again?.tool_results[0]?.text ?? '', /It waits for a person/, 'given up at once, not put off')
  await answer(second, 'deny')
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.deepEqual(await calledWith(world, id), ['one'])
})

test('a yes to a call of a server is for no other call of it', async t => {
  const { world, id, asked, answer } = await waiting(t, 'Please ask for one thing')
  await answer(await asked('one'), 'allow')
  await answer(await asked('two'), 'deny')
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.deepEqual(await calledWith(world, id), [])
})

/** The arguments of the server's call, as the agent saw them. */
async function calledWith(world: AgentSessions, id: string): Promise<string[]> {
  const finished = bodiesOf(await world.log(id), 'tool.finished')
  return finished.filter(({ output }) => output === 'the server was called').map(({ target }) => target)
}
