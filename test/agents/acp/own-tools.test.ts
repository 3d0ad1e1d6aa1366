import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { Request } from '../../../src/domain/session.ts'
import { bareEnv, tempDir } from '../../support/world.ts'
import { ALLOW, asking, DENY } from '../conformance/world.ts'
import type { AgentStep } from './scripted-agent.ts'
import { type Heard, stage } from './stage.ts'

const OPTIONS = [
  { optionId: 'yes', kind: 'allow_once', name: 'Yes' },
  { optionId: 'no', kind: 'reject_once', name: 'No' },
]
const MANIFEST = { ownTools: { over: 'mcp', named: 'protocol', called: '{server}_{tool}' } } as const

function permission(toolCallId: string, toolCall: Record<string, unknown>): AgentStep {
  return { ask: 'session/request_permission', params: { toolCall: { toolCallId, ...toolCall }, options: OPTIONS } }
}

interface Server {
  name: string
  command: string
  args: string[]
  env: unknown[]
}

function serverIn(heard: Heard[]): Server {
  const servers = heard.find(one => one.method === 'session/new')?.params?.['mcpServers'] as Server[] | undefined
  const server = servers?.[0]
  assert.ok(server)
  return server
}

/** The marker of the session's processes. */
const MARKER = 'the-marker-of-this-session'
const NOT_LINUX = process.platform === 'linux' ? false : 'other systems do not tell who calls'

/** Starts the server as an agent would: with only what it got, and the marker that every process of its session has. */
async function connect(t: TestContext, { command, args }: Server, marker = MARKER): Promise<Client> {
  const client = new Client({ name: 'agent', version: '1' })
  const env = { ...bareEnv(tempDir(t)), PCC_SESSION_MARK: marker }
  await client.connect(new StdioClientTransport({ command, args, env, stderr: 'pipe' }))
  t.after(() => client.close())
  return client
}

const REQUEST = ({ callId, tool, own }: Request) => [callId, tool, own]

test('a call is ours by a name that was made for this session; it is judged where it arrives, by what it holds', async t => {
  const asks = asking(({ tool }) => (tool.endsWith('__log') ? DENY : ALLOW))
  const told = Promise.withResolvers<void>()
  const { permission: judge } = asks
  asks.permission = (request, signal) => {
    if (request.callId === 'last') told.resolve()
    return judge(request, signal)
  }
  const { talk, heard, replies } = await stage(
    t,
    {
      prompt: [
        permission('mine', { name: '{server}_add_task', kind: 'other', rawInput: { title: 'told' } }),
        permission('plain', { name: 'pcc_add_task', kind: 'other', rawInput: { title: 'x' } }),
        permission('as-shell', { name: '{server}_add_task', kind: 'execute', rawInput: { command: 'rm -rf /' } }),
        permission('last', { name: '{server}_nothing', kind: 'other' }),
        { awaitCancel: true },
        { answer: { stopReason: 'cancelled' } },
      ],
    },
    { manifest: MANIFEST, open: { asks, ownTools: ['add_task', 'log'], marker: MARKER } },
  )
  const turn = talk.turn()
  await told.promise
  assert.deepEqual(
    asks.requests.map(({ callId, own }) => [callId, own]),
    [
      ['plain', undefined],
      ['as-shell', undefined],
      ['last', undefined],
    ],
    'whatever else bears such a name is judged like anything else; ours is not judged by its announcement',
  )
  assert.deepEqual(replies()[0]?.result, { outcome: { outcome: 'selected', optionId: 'yes' } })
  asks.requests.length = 0

  const client = await connect(t, serverIn(heard()))
  const { tools } = await client.listTools()
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['add_task', 'log'],
    'no tool that this session was not given',
  )
  const added = await client.callTool({ name: 'add_task', arguments: { title: 'real' } })
  assert.deepEqual(added.content, [{ type: 'text', text: 'did add_task' }])
  const refused = await client.callTool({ name: 'log', arguments: { text: 'words' } })
  assert.deepEqual([refused.isError, refused.content], [true, [{ type: 'text', text: DENY.reason }]])
  assert.deepEqual(asks.requests.map(REQUEST), [
    ['mine', 'mcp__pcc__add_task', true],
    ['pcc-tool-2', 'mcp__pcc__log', true],
  ])
  assert.deepEqual(asks.requests[0]?.input, { title: 'real' }, 'what arrived, not what was announced')
  assert.deepEqual(asks.done, [['add_task', { title: 'real' }]])

  await talk.session.interrupt()
  assert.equal((await turn).denials, 1)
  const late = await client.callTool({ name: 'log', arguments: { text: 'late' } })
  assert.match(JSON.stringify(late.content), /no turn that it belongs to/)
})

test('what opens the tools of a session stands in no command line and no environment, and ends with the session', async t => {
  const { talk, heard } = await stage(t, {}, { manifest: MANIFEST, open: { ownTools: ['log'] } })
  await talk.turn()
  const server = serverIn(heard())
  const folder = server.args.at(-1) ?? ''
  const { socket, token } = JSON.parse(readFileSync(join(folder, 'tools.json'), 'utf8')) as Record<string, string>
  assert.ok(token && token.length >= 40 && socket)
  assert.deepEqual(server.env, [])
  assert.equal(JSON.stringify(heard()).includes(token), false, 'the agent is not told')
  const ask = (path: string, opens: string, more: { method?: string; body?: string } = {}) =>
    doorStatus(socket, { path, opens, ...more })
  assert.equal(await ask('/agent/tools', token), 200)
  assert.equal(await ask('/agent/tools', token.slice(1)), 401)
  assert.equal(await ask('/agent/tools', ''), 401)
  assert.equal(await ask('/agent/tools/log', 'x'.repeat(token.length), { method: 'POST', body: '{"text":"x"}' }), 401)
  assert.equal(await ask('/agent/tools/add_task', token, { method: 'POST', body: '{"title":"x"}' }), 404, 'not given')
  assert.equal(statSync(folder).mode & 0o077, 0)
  assert.equal(statSync(join(folder, 'tools.json')).mode & 0o077, 0)
  await talk.close()
  assert.equal(existsSync(folder), false)
})

test('a process of another session is refused, although it has the folder and the token', {
  skip: NOT_LINUX,
}, async t => {
  const { talk, heard } = await stage(t, {}, { manifest: MANIFEST, open: { ownTools: ['log'], marker: MARKER } })
  await talk.turn()
  await connect(t, serverIn(heard()))
  await assert.rejects(connect(t, serverIn(heard()), 'of-another-session'), /Connection closed/)
})

async function doorStatus(
  socketPath: string,
  { path, opens, method = 'GET', body = '' }: { path: string; opens: string; method?: string; body?: string },
): Promise<number | undefined> {
  const call = request({ socketPath, path, method, headers: { authorization: `Bearer ${opens}` } })
  call.end(body)
  const [reply] = (await once(call, 'response')) as [IncomingMessage]
  reply.resume()
  return reply.statusCode
}
