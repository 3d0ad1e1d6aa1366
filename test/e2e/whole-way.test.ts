import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SessionView } from '../../src/domain/api.ts'
import type { StoredEvent } from '../../src/domain/event.ts'
import type { LoggedBody } from '../../src/simulator/wires/wire.ts'
import { bodiesOf } from '../daemon/agent-sessions.ts'
import { receiver } from '../human/notify/notify-harness.ts'
import { agentWorld } from './agent-world.ts'

const SCENARIO = `
conversations:
  - match: Build a REST API
    turns:
      - text: I look around.
        tools: [{ Read: { file_path: "{{cwd}}/README.md" } }]
      - tools: [{ Write: { file_path: "{{cwd}}/server.js", content: "export const routes = []\\n" } }]
      - tools:
          - AskUserQuestion:
              questions:
                - question: Should I proceed with the tests?
                  header: Tests
                  multiSelect: false
                  options: [{ label: "Yes", description: "" }, { label: "No", description: "" }]
      - fault: { kind: limit, window: five_hour, resets: +6s, times: 1 }
        expect: { tool_result_contains: "Yes" }
        tools: [{ Write: { file_path: "{{cwd}}/server.test.js", content: "// tests\\n" } }]
      - text: The REST API stands, with one route file and its tests.
`

test('a task is worked on, its calls approved, its question answered, its limit waited out, and its end told', async t => {
  const { pcc, project, simulator } = await agentWorld(t, SCENARIO, 'oauth')
  const ntfy = await receiver(t)
  Object.assign(pcc.env, {
    PCC_NOTIFICATIONS_DESKTOP: 'false',
    PCC_NOTIFICATIONS_NTFY_SERVER: ntfy.url,
    PCC_NOTIFICATIONS_NTFY_TOPIC: 'work',
  })

  // 1. Started, and followed to the end: one command, and nobody at the terminal.
  const args = ['start', project, '--task', 'Build a REST API', '--session-name', 'api', '--json']
  const { code, stdout, stderr } = await pcc.run(args)
  assert.equal(code, 0, stderr)
  const log = eventsIn(stdout)
  const kinds = log.map(({ kind }) => kind)

  // 2. Reading and writing were approved by the machine, and happened.
  const decided = bodiesOf(log, 'permission.decided').map(({ tool, verdict }) => [tool, verdict])
  assert.deepEqual(decided, [
    ['Read', 'allow'],
    ['Write', 'allow'],
    ['Write', 'allow'],
  ])
  assert.ok(existsSync(join(project, 'server.js')) && existsSync(join(project, 'server.test.js')))

  // 3. The brain answered the question, and the model heard it.
  const [answered, ...more] = bodiesOf(log, 'question.answered')
  assert.deepEqual([answered?.by, more.length], ['brain:rules', 0])
  assert.deepEqual(answered?.answers, { 'Should I proceed with the tests?': 'Yes' })
  assert.deepEqual(
    simulator.requests.flatMap(({ unexpected }) => unexpected),
    [],
  )

  // 4. The limit was seen, and a checkpoint kept.
  const limited = kinds.indexOf('limit.hit')
  assert.ok(limited > kinds.indexOf('question.answered'), kinds.join(' '))
  const { checkpoints } = JSON.parse((await pcc.run(['checkpoints', 'api', '--json'])).stdout)
  assert.ok(
    checkpoints.some(({ reason }: { reason: string }) => reason === 'limit'),
    JSON.stringify(checkpoints),
  )

  // 5. It went on by itself after the reset, in the same conversation, knowing what it had done.
  const resumed = kinds.indexOf('session.resumed')
  assert.ok(resumed > limited && resumed < kinds.lastIndexOf('permission.decided'), kinds.join(' '))
  const { resets_at } = bodiesOf(log, 'limit.hit')[0] ?? {}
  assert.ok((log[resumed]?.time ?? 0) >= (resets_at ?? Number.POSITIVE_INFINITY))
  assert.equal(new Set(simulator.requests.map(({ session }) => session)).size, 1)
  assert.match(JSON.stringify(simulator.requests.at(-1)?.body), /server\.js/)
  // Each request goes on from the one before, so the vendor's cache holds over the question, the limit and the fresh process.
  for (const [index, { body }] of simulator.requests.entries()) {
    const before = simulator.requests[index - 1]?.body ?? body
    assert.deepEqual([body.tools, body.system], [before.tools, before.system], `request ${index}`)
    assert.deepEqual(texts(body).slice(0, texts(before).length - 1), texts(before).slice(0, -1), `request ${index}`)
  }

  // 6. The task is done, and the end is told with a summary, after the limit was.
  const view = JSON.parse((await pcc.run(['status', 'api', '--json'])).stdout) as SessionView
  assert.equal(view.status, 'completed')
  assert.match((await ntfy.nth(1)).body.title, /^api in \S+ met a limit$/)
  const { title, message } = (await ntfy.nth(2)).body
  assert.match(title, /^api in \S+ completed$/)
  assert.match(message, /^Task: Build a REST API\nThe REST API stands, with one route file and its tests\.$/)
})

/** The parts of a conversation in order, without the marks of what is cached up to where. */
function texts({ messages }: LoggedBody): string[] {
  const parts = messages.flatMap(({ role, content }) =>
    (typeof content === 'string' ? [{ type: 'text', text: content }] : content).map(part => ({ role, ...part })),
  )
  return parts.map(part => JSON.stringify({ ...part, cache_control: undefined }))
}

function eventsIn(stdout: string): StoredEvent[] {
  const lines = stdout.split('\n').filter(line => line.startsWith('{'))
  return lines.map(line => JSON.parse(line) as StoredEvent)
}
