import assert from 'node:assert/strict'
import { globSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import type { CheckpointLine, CheckpointView } from '../../../src/domain/checkpoint.ts'
import { type AgentSessions, agentSessions } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'
import { sharedDaemon } from '../shared-daemon.ts'

const shared = sharedDaemon()

const SCENARIO = `
conversations:
  - name: new
    match: the earlier conversation is lost
    turns:
      - text: I go on from the checkpoint.
  - name: work
    match: Build user authentication
    turns:
      - tools:
          - TodoWrite:
              todos:
                - { content: Create the schema, status: completed, activeForm: Creating }
                - { content: Add the login route, status: in_progress, activeForm: Adding }
                - { content: Write tests, status: pending, activeForm: Writing }
          - Write: { file_path: "{{cwd}}/auth.ts", content: "export {}" }
          - Bash: { command: "touch made.txt", description: Make a file }
      - tools:
          - AskUserQuestion:
              questions:
                - question: Which database?
                  header: Database
                  multiSelect: false
                  options:
                    - { label: Postgres, description: it is there already }
                    - { label: SQLite, description: no server }
      - text: Postgres it is.
        tools:
          - Bash: { command: "sleep 600", description: Wait }
    later:
      - match: CONTEXT RESTORATION
        turns:
          - text: I go on in the same conversation.
`

/** A session that has planned, written, asked and been answered, and is stopped in the middle of a command. */
async function stopped(t: TestContext): Promise<AgentSessions & { id: string }> {
  const world = await agentSessions(t, SCENARIO, { shared })
  const { daemon, env } = world
  const { id } = await world.start('Build user authentication')
  const parked = await viewWhen(daemon, id, view => view.status === 'waiting_input' && view.asks.length > 0)
  const answer = { ask_id: parked.asks[0]?.ask_id, answers: { 'Which database?': 'Postgres' }, env }
  assert.equal((await daemon.call('POST', `/sessions/${id}/answers`, { body: answer })).status, 200)
  const events = await daemon.stream(`/events?session=${id}`)
  await events.until(event => event.kind === 'permission.decided' && event.body.target === 'sleep 600')
  events.close()
  assert.equal((await daemon.call('POST', `/sessions/${id}/stop`, { body: {} })).status, 200)
  return { ...world, id }
}

/** Resumes the session and returns the first prompt that the model got. */
async function heardOnResume(world: AgentSessions & { id: string }, from?: string): Promise<string> {
  const before = world.simulator.requests.length
  const body = { env: world.env, ...(from !== undefined && { from }) }
  const resumed = await world.daemon.call<SessionView>('POST', `/sessions/${world.id}/resume`, { body })
  assert.equal(resumed.status, 200, JSON.stringify(resumed.body))
  await viewWhen(world.daemon, world.id, view => view.status === 'completed')
  return world.simulator.requests[before]?.prompt ?? ''
}

test('each stop leaves a checkpoint that tells the plan, the files, the decision and the next action; with the transcript intact the same conversation goes on with the essentials', async t => {
  const world = await stopped(t)
  const { daemon, id } = world
  const list = await daemon.call<{ checkpoints: CheckpointLine[] }>('GET', `/sessions/${id}/checkpoints`)
  assert.deepEqual(
    list.body.checkpoints.map(line => 'reason' in line && line.reason),
    ['shutdown', 'park'],
  )
  const { body } = await daemon.call<CheckpointView>('GET', `/sessions/${id}/checkpoints/latest`)
  const { checkpoint, changed } = body
  assert.deepEqual(checkpoint.completed_subtasks, ['Create the schema'])
  assert.deepEqual(checkpoint.pending_subtasks, ['Add the login route', 'Write tests'])
  assert.deepEqual(
    checkpoint.modified_files.map(({ path }) => path),
    ['auth.ts', 'made.txt'],
  )
  assert.deepEqual(checkpoint.key_decisions, [
    { question: 'Which database?', answer: 'Postgres', rationale: 'it is there already', by: 'human' },
  ])
  assert.match(checkpoint.next_action, /^Add the login route/)
  assert.match(checkpoint.conversation_summary, /Postgres it is\./)
  assert.deepEqual(changed, [])
  assert.equal((await daemon.call('GET', `/sessions/${id}/checkpoints/2031`)).status, 404)

  const prompt = await heardOnResume(world)
  assert.match(prompt, /CONTEXT RESTORATION:\nThe work was interrupted/)
  assert.match(prompt, /Which database\?/)
  assert.doesNotMatch(prompt, /Progress summary/)
  assert.equal(world.simulator.requests.at(-1)?.conversation, 'work')
})

test('with the transcript gone a new conversation hears the task, the steps, the decision and the changed files', async t => {
  const world = await stopped(t)
  for (const file of globSync(join(world.env['CLAUDE_CONFIG_DIR'] ?? '', 'projects', '*', '*.jsonl'))) rmSync(file)
  writeFileSync(join(world.project, 'auth.ts'), 'by a person')
  rmSync(join(world.project, 'made.txt'))
  writeFileSync(join(world.project, 'theirs.txt'), 'new')
  const prompt = await heardOnResume(world)
  for (const part of [
    'CONTEXT RESTORATION:',
    '| Build user authentication',
    'Completed:\n- "Create the schema"',
    'Remaining:\n- "Add the login route"\n- "Write tests"',
    '- "Which database?" → "Postgres" because "it is there already"',
    '- "auth.ts" (changed)\n- "made.txt" (deleted)\n- "theirs.txt" (created)',
    'Continue from: "Add the login route',
  ]) {
    assert.ok(prompt.includes(part), `${part}\n--- is not in ---\n${prompt}`)
  }
})

test('from a checkpoint that is named a new conversation goes on as it stood then; one that is not there is refused', async t => {
  const world = await stopped(t)
  const { daemon, id, env } = world
  const list = await daemon.call<{ checkpoints: CheckpointLine[] }>('GET', `/sessions/${id}/checkpoints`)
  const unknown = await daemon.call('POST', `/sessions/${id}/resume`, { body: { env, from: '2031' } })
  assert.equal(unknown.status, 404)
  assert.equal((await daemon.call<SessionView>('GET', `/sessions/${id}`)).body.status, 'stopped')
  const prompt = await heardOnResume(world, list.body.checkpoints.at(-1)?.id)
  assert.match(prompt, /interrupted by a wait for a person, and the earlier conversation is lost/)
  assert.match(prompt, /Key decisions[^\n]*:\n\(none\)/)
  assert.match(prompt, /Remaining:\n- "Add the login route"\n/)
})
