import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { AuditEntry, Scope } from '../../src/domain/access.ts'
import { type ApiClient, type ApiError, openApiClient } from '../../src/domain/api-v1/client.ts'
import type { StoredEvent } from '../../src/domain/event.ts'
import type { Pcc } from '../cli/pcc.ts'
import { agentWorld } from './agent-world.ts'

const SCENARIO = `
conversations:
  - match: make the file
    turns:
      - tools: [{ Bash: { command: tee made, description: Make } }]
      - expect: { tool_result_contains: write it with the Write tool }
        tools: [{ Write: { file_path: "{{cwd}}/made", content: "made by hand\\n" } }]
      - text: The file is there.
`

async function keyOf(pcc: Pcc, scope: Scope, name: string): Promise<string> {
  const { stdout, stderr } = await pcc.run(['api', 'keys', 'create', '--scope', scope, '--name', name, '--json'])
  assert.notEqual(stdout, '', stderr)
  return (JSON.parse(stdout) as { secret: string }).secret
}

/** Waits for an event; whatever the client missed between two calls is read first. Leaving the loop closes the stream. */
async function waitFor(client: ApiClient, matches: (event: StoredEvent) => boolean): Promise<StoredEvent> {
  for await (const event of client.follow({ after: 0 })) if (matches(event)) return event
  throw new Error('the stream ended')
}

test('a key of scope work drives a whole run through the API alone, and only one that may decide answers what it asks', async t => {
  const { pcc, project, simulator } = await agentWorld(t, SCENARIO)
  Object.assign(pcc.env, { PCC_API_PORT: '0', PCC_PERMISSIONS_UNATTENDED_HIGH: 'wait' })
  const on = await pcc.run(['daemon', 'api', 'on', '--json'])
  assert.equal(on.code, 0, on.stderr)
  const { address } = JSON.parse(on.stdout) as { address: string }
  const worker = openApiClient({ address, key: await keyOf(pcc, 'work', 'ci') })
  const decider = openApiClient({ address, key: await keyOf(pcc, 'decide', 'night-watch') })

  const { body: task } = await worker.call('createTask', {
    body: { project, title: 'make the file' },
    idempotencyKey: 'one',
  })
  const { body: run } = await worker.call('startRun', {
    body: { project, target: { kind: 'project' } },
    idempotencyKey: 'two',
  })
  await waitFor(worker, ({ kind }) => kind === 'permission.parked')

  const { body: waiting } = await worker.call('listEscalations', { query: { project } })
  const [asked] = waiting.items
  assert.deepEqual([asked?.tool, asked?.target, asked?.risk, asked?.task_id], ['Bash', 'tee made', 'HIGH', task.id])
  const params = { number: String(asked?.number) }
  const answer = { verdict: 'deny', reason: 'write it with the Write tool' } as const
  await assert.rejects(
    worker.call('answerEscalation', { params, body: { verdict: 'allow' } }),
    (error: ApiError) => error.problem.status === 403 && error.problem.code === 'scope_needed',
  )
  assert.equal((await worker.call('readEscalation', { params })).body.state, 'open')
  const { body: answered } = await decider.call('answerEscalation', { params, body: answer })
  assert.deepEqual([answered.escalation.state, answered.escalation.answered_by], ['answered', 'night-watch'])

  const ended = await waitFor(worker, ({ kind, subject }) => kind === 'run.ended' && subject === run.id)
  assert.equal(ended.kind === 'run.ended' && ended.body.outcome, 'complete', JSON.stringify(ended))
  assert.equal((await worker.call('readTask', { params: { task: task.id } })).body.state, 'done')
  const { body: detail } = await worker.call('readRun', { params: { run: run.id } })
  assert.deepEqual([detail.state, detail.merged, detail.attempts[0]?.outcome], ['ended', 1, 'done'])
  assert.equal(readFileSync(join(project, 'made'), 'utf8'), 'made by hand\n')
  const { body: diff } = await worker.call('readTaskDiff', { params: { task: task.id } })
  assert.match(diff.diff ?? '', /\+made by hand/)
  const session = detail.attempts[0]?.session_id ?? ''
  const { body: log } = await worker.call('readSessionLog', { params: { session }, query: { kind: 'tool.finished' } })
  assert.ok(log.items.length > 0, 'the log of the session is readable')
  const { body: report } = await worker.call('readReport', { query: { since: '1h' } })
  assert.deepEqual(
    report.done.map(({ id }) => id),
    [task.id],
  )
  assert.deepEqual(
    simulator.requests.flatMap(({ unexpected }) => unexpected),
    [],
  )

  const { entries } = JSON.parse((await pcc.run(['audit', '--json'])).stdout) as { entries: AuditEntry[] }
  const changes = entries
    .filter(({ via }) => via === 'key')
    .map(({ caller, action, failed }) => [caller, action.split('/').at(-1), failed])
  assert.deepEqual(changes, [
    ['night-watch', 'answer', null],
    ['ci', 'answer', 403],
    ['ci', 'runs', null],
    ['ci', 'tasks', null],
  ])

  assert.match((await pcc.run(['daemon', 'api', 'status'])).stdout, /^The API listens on http:\/\/127\.0\.0\.1:\d+ /)
  assert.equal((await pcc.run(['daemon', 'api', 'off'])).code, 0)
  await assert.rejects(worker.call('listTasks', {}), TypeError)
  const off = await pcc.run(['daemon', 'api', 'status', '--json'])
  assert.deepEqual([off.code, JSON.parse(off.stdout).on], [1, false])
  assert.ok(
    existsSync(join(pcc.env['PCC_HOME'] ?? '', 'config.toml')),
    'the switch is a setting, which survives a restart',
  )
})
