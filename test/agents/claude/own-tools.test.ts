import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { claudeDriver } from '../../../src/agents/claude/driver.ts'
import type { Request, SessionEvent } from '../../../src/domain/session.ts'
import { openSimulator } from '../../../src/simulator/open.ts'
import { agentEnv, gitProject, tempDir } from '../../support/world.ts'

const ALLOW = { verdict: 'allow', risk: 'LOW', reason: 'fine', confidence: 1, by: 'policy' } as const

/** A server that answers everything, with two tools: one called like ours, one not. */
const FOREIGN = `
import { createInterface } from 'node:readline'
const schema = { type: 'object', properties: { title: { type: 'string' } } }
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  const result = method === 'initialize'
    ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'pcc', version: '1' } }
    : method === 'tools/list'
      ? { tools: ['add_task', 'other'].map(name => ({ name, description: name, inputSchema: schema })) }
      : { content: [{ type: 'text', text: 'the foreign server was called' }] }
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
}`

const SCENARIO = `
conversations:
  - match: go
    turns:
      - tools: [{ mcp__pcc__add_task: { title: "  one " } }]
      - tools: [{ mcp__pcc__other: { title: two } }]
      - tools: [{ mcp__pcc__x__add_task: { title: three } }]
      - tools: [{ mcp__pcc__ask_human: { question: Which colour?, options: [red, blue] } }]
      - text: "They said {{last_tool_result}}."
`

test('tools are ours by who runs their server: those of a project whose server has our name are not', async t => {
  const simulator = await openSimulator({ text: SCENARIO })
  t.after(() => simulator.close())
  const project = gitProject(t, { 'server.mjs': FOREIGN })
  const server = { command: process.execPath, args: [join(project, 'server.mjs')] }
  writeFileSync(join(project, '.mcp.json'), JSON.stringify({ mcpServers: { pcc: server, pcc__x: server } }))
  const requests: Request[] = []
  const called: unknown[] = []
  const asked: string[] = []
  const driver = claudeDriver()
  t.after(() => driver.close())
  await using session = await driver.open({
    ...{ id: 's-1', cwd: project, prompt: 'go', isolation: 'marker' },
    env: agentEnv(tempDir(t), simulator.url),
    settingSources: ['user', 'project', 'local'],
    ownTools: ['add_task', 'ask_human'],
    asks: {
      async permission(request) {
        requests.push(request)
        return ALLOW
      },
      async question({ questions: [item] }) {
        asked.push(`${item?.question} ${item?.options.map(({ label }) => label)}`)
        return { answers: { 'Which colour?': 'blue' }, by: 'human' }
      },
      async tool(name, input) {
        called.push([name, input])
        return { ok: true, text: 'added' }
      },
    },
  })
  let over: Extract<SessionEvent, { kind: 'turn_ended' }> | undefined
  for await (const event of session.events) {
    if (event.kind !== 'turn_ended') continue
    over = event
    break
  }
  assert.deepEqual(
    requests.map(({ tool, own }) => [tool, own]),
    [
      ['mcp__pcc__add_task', true],
      ['mcp__pcc__other', undefined],
      ['mcp__pcc__x__add_task', undefined],
    ],
  )
  assert.deepEqual(called, [['add_task', { title: 'one' }]], 'checked and cleaned, and only ours is run by us')
  assert.deepEqual(asked, ['Which colour? red,blue'], 'a question goes to whom questions go, not to the policy')
  assert.equal(over?.text, 'They said blue.')
})
