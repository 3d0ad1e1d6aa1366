import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { TaskView } from '../../../src/domain/task.ts'
import { BIN } from '../../support/program.ts'
import { bareEnv } from '../../support/world.ts'
import { agentSessions, isEnd } from '../agent-sessions.ts'

const SCENARIO = `
conversations:
  - match: add without end
    turns:
      - tools: [{ mcp__pcc__add_task: { title: one more } }]
      - text: Enough.
        expect: { tool_failed: true, tool_result_contains: agents have added 1000 tasks to this project }
  - match: wait here
    turns:
      - tools: [{ Bash: { command: cat gate } }]
      - text: Over.
`

test('the tools of a session are served over standard input and output, by a capability for that session alone', async t => {
  const world = await agentSessions(t, SCENARIO)
  const { daemon, project } = world
  execFileSync('mkfifo', [join(project, 'gate')])
  const session = await world.start('wait here')
  const stream = await daemon.stream(`/events?session=${session.id}`)
  t.after(() => stream.close())
  await stream.until(({ kind }) => kind === 'permission.decided')
  const { body } = await daemon.call<{ capability: string }>('POST', `/sessions/${session.id}/capability`, { body: {} })
  const asAgent = (path: string, capability = body.capability, method = 'GET') =>
    daemon.call(method, path, { headers: { authorization: `Bearer ${capability}` } })
  assert.equal((await asAgent('/agent/tools')).status, 200)
  assert.equal((await asAgent('/sessions')).status, 401, 'it opens nothing else')
  assert.equal((await asAgent(`/sessions/${session.id}/stop`, body.capability, 'POST')).status, 401)
  const forged = body.capability.replace(session.id, 's-ffffff')
  assert.equal((await asAgent('/agent/tools', forged)).status, 401)

  // Whoever reads the daemon's token can make a capability: the agent of another session is refused all the same.
  const other = { ...bareEnv(daemon.home), PCC_SESSION_MARK: 'of-another-session' }
  const script = `require('node:http').get({ socketPath: process.argv[1], path: '/agent/tools', headers: { host: 'pcc', authorization: 'Bearer ' + process.argv[2] } }, reply => process.stdout.write(String(reply.statusCode)))`
  const status = execFileSync(process.execPath, ['-e', script, daemon.paths.socket, body.capability], { env: other })
  assert.equal(String(status), '403')

  const env = { ...bareEnv(daemon.home), PCC_HOME: daemon.paths.home, PCC_TOOLS: body.capability }
  const transport = new StdioClientTransport({ command: process.execPath, args: [BIN, 'mcp'], env, stderr: 'pipe' })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  t.after(() => client.close())
  const { tools } = await client.listTools()
  assert.ok(tools.some(({ name }) => name === 'add_task') && tools.some(({ name }) => name === 'ask_human'))
  const text = async (name: string, input: Record<string, unknown>) => {
    const { content } = await client.callTool({ name, arguments: input })
    return (content as { text: string }[])[0]?.text ?? ''
  }
  assert.match(await text('add_task', { title: 'from outside' }), /^Added t-\w{6}/)
  assert.match(await text('add_task', { title: '' }), /title|Not done/)
  assert.match(
    await text('ask_human', { question: 'Which colour?' }),
    /Nobody is there to answer now; it is on their list/,
  )
  const { body: pending } = await daemon.call<{ escalations: { target: string }[] }>('GET', '/escalations')
  assert.match(JSON.stringify(pending), /Which colour\?/)
  const { body: list } = await daemon.call<{ tasks: TaskView[] }>('GET', `/tasks?session=${session.id}`)
  assert.deepEqual(
    list.tasks.map(({ title, labels }) => [title, labels]),
    [
      ['wait here', []],
      ['from outside', ['by-agent', `by:${session.id}`]],
    ],
  )
  await daemon.call('POST', `/tasks/${list.tasks[1]?.id}/cancel`, { body: {} })
  writeFileSync(join(project, 'gate'), 'open')
  await stream.until(isEnd)
  assert.match(await text('log', { text: 'late' }), /^Not done: .*not at work/)
})

test('an agent that adds a task to more than enough is told so, and its own task goes on', async t => {
  const world = await agentSessions(t, SCENARIO)
  const { daemon, project, simulator } = world
  const tasks = Array.from({ length: 1_000 }, (_, at) => ({ title: `task ${at}`, labels: ['by-agent'] }))
  assert.equal((await daemon.call('POST', '/tasks/import', { body: { project, tasks } })).status, 200)
  const { id } = await world.start('add without end')
  const stream = await daemon.stream(`/events?session=${id}`)
  t.after(() => stream.close())
  const ended = (await stream.until(isEnd)).at(-1)
  assert.equal(ended?.kind === 'session.ended' && ended.body.status, 'completed')
  const { body } = await daemon.call<{ tasks: TaskView[] }>('GET', `/tasks?project=${encodeURIComponent(project)}`)
  assert.equal(body.tasks.length, 1_001)
  assert.deepEqual(
    simulator.requests.filter(({ unexpected }) => unexpected?.length),
    [],
  )
})
