import assert from 'node:assert/strict'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { checkedAsks } from '../../../src/agents/checked-asks.ts'
import { OwnTools } from '../../../src/agents/own-tools.ts'
import { serveOwnTools } from '../../../src/agents/own-tools-server.ts'
import { bareEnv, gitProject } from '../../support/world.ts'
import { allowing } from '../conformance/world.ts'
import { bubblewrap, inSandbox } from './a-sandbox.ts'
import { refusedHere } from './refused-here.ts'

test('tools of ours are called from within a sandbox, over a socket of the session’s own', async t => {
  if (!('program' in bubblewrap)) return refusedHere(t)
  const project = gitProject(t)
  const asks = allowing()
  const own = new OwnTools(['log'], '{server}_{tool}')
  const nothing = () => undefined
  own.bind({
    ...{ asks: checkedAsks(asks, 60_000), cwd: project, turn: () => new AbortController().signal },
    ...{ arrived: nothing, asked: nothing, questioned: nothing, denied: nothing, parked: nothing },
  })
  await using tools = await serveOwnTools(own)
  const { agent, home } = await inSandbox(t, { project })
  const { command, args, shows } = tools
  const started = { command, args, shows, cwd: project, env: bareEnv(home), signal: new AbortController().signal }
  const child = agent.spawn(started)
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const clientInfo = { name: 'agent', version: '1' }
  send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } })
  assert.match((await lines.next()).value ?? '', /"serverInfo"/)
  send({ method: 'notifications/initialized' })
  send({ id: 2, method: 'tools/call', params: { name: 'log', arguments: { text: 'from inside' } } })
  assert.match((await lines.next()).value ?? '', /did log/)
  assert.deepEqual(asks.done, [['log', { text: 'from inside' }]])
})
