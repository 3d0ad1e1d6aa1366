import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import { type AgentSessions, agentSessions, bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'
import { all, closedUntil, isComplete, isLimited, limitFor, openVendor, otherAccount } from './gated.ts'

/** Each session asks its own question, because the same question of several sessions is one decision. */
const taskOf = (name: string) => `user authentication, ${name}`
const questionOf = (name: string) => `Which database for ${taskOf(name)}?`

const NAMES = ['deleted', 'cut', 'half', 'newer']

/** Each session plans, writes a file, asks and is answered; then its account is limited. */
const SCENARIO = `
conversations:
  - name: new
    match: the earlier conversation is lost
    turns: [{ text: I go on from the checkpoint. }]
  - name: first
    match: user authentication
    turns:
      - tools:
          - TodoWrite:
              todos:
                - { content: Create the schema, status: completed, activeForm: Creating }
                - { content: Add the login route, status: in_progress, activeForm: Adding }
                - { content: Write tests, status: pending, activeForm: Writing }
          - Bash: { command: "touch auth.ts", description: Make a file }
      - tools:
          - AskUserQuestion:
              questions:
                - question: Which database for {{first_prompt}}?
                  header: Database
                  multiSelect: false
                  options:
                    - { label: Postgres, description: it is there already }
                    - { label: SQLite, description: no server }
      - fault: ${limitFor('10s')}
        text: This is never said in the first conversation.
`

/** The session of this name while it waits for its limit, with its question already answered. */
async function limitedSession(world: AgentSessions, name: string): Promise<SessionView> {
  const { daemon } = world
  const env = otherAccount(world, name)
  const { id } = await world.start(taskOf(name), { name, env })
  const { asks } = await viewWhen(daemon, id, view => view.status === 'waiting_input' && view.asks.length > 0)
  const answer = { ask_id: asks[0]?.ask_id, answers: { [questionOf(name)]: 'Postgres' }, env }
  const answered = await daemon.call('POST', `/sessions/${id}/answers`, { body: answer })
  assert.equal(answered.status, 200, JSON.stringify(answered.body))
  return viewWhen(daemon, id, isLimited)
}

function transcriptOf({ env }: AgentSessions, { vendor_id }: SessionView): string {
  const [file] = globSync(join(env['CLAUDE_CONFIG_DIR'] ?? '', 'projects', '*', `${vendor_id}.jsonl`))
  assert.ok(file, 'the agent has written its conversation down')
  return file
}

function newestCheckpoint({ daemon }: AgentSessions, { id }: SessionView): string {
  const dir = join(daemon.paths.data, 'checkpoints', id)
  const files = readdirSync(dir).sort()
  assert.equal(files.length, 2, 'one for the question, one for the limit')
  return join(dir, files.at(-1) ?? '')
}

/** The prompt when only the checkpoint of the limit is left. */
const atTheLimit = (name: string) => [
  'CONTEXT RESTORATION:',
  `| ${taskOf(name)}`,
  'Completed:\n- "Create the schema"',
  'Remaining:\n- "Add the login route"\n- "Write tests"',
  `- "${questionOf(name)}" → "Postgres" because "it is there already"`,
  '"auth.ts" (changed)',
]

test('a conversation that is lost while its account is shut goes on after the reset as a new one that knows everything', async t => {
  const world = await agentSessions(t, SCENARIO, { auth: 'oauth' })
  const sessions = await Promise.all(NAMES.map(name => limitedSession(world, name)))
  const [deleted, cut, half, newer] = sessions
  assert.ok(deleted && cut && half && newer)
  const opens = await closedUntil(world.daemon)
  assert.equal(opens.length, NAMES.length, 'each account has a gate of its own')

  for (const session of [deleted, half, newer]) rmSync(transcriptOf(world, session))
  truncateSync(transcriptOf(world, cut), 40)
  const halved = newestCheckpoint(world, half)
  truncateSync(halved, 100)
  const later = newestCheckpoint(world, newer)
  writeFileSync(later, JSON.stringify({ ...JSON.parse(readFileSync(later, 'utf8')), version: 99 }))
  writeFileSync(join(world.project, 'auth.ts'), 'by a person')
  openVendor(world)

  const before = world.simulator.requests.length
  await all(
    world.daemon,
    sessions.map(({ id }) => id),
    isComplete,
  )
  const after = world.simulator.requests.slice(before)
  assert.deepEqual(
    after.filter(({ time }) => time < Math.min(...opens)),
    [],
  )
  assert.deepEqual(
    after.map(({ conversation }) => conversation),
    NAMES.map(() => 'new'),
  )
  const heard = (session: SessionView) =>
    after.find(request => request.session === vendors.get(session.id))?.prompt ?? ''
  const vendors = new Map<string, string>()
  for (const { id } of sessions) vendors.set(id, (await viewWhen(world.daemon, id, isComplete)).vendor_id ?? '')
  for (const session of [deleted, cut]) {
    for (const part of atTheLimit(session.name))
      assert.ok(heard(session).includes(part), `${part} is not in ${heard(session)}`)
    assert.match((await notesOf(world, session)).join(), /record of the conversation is gone or damaged/)
  }
  // The checkpoint before that was written when the question was asked: it has everything but the answer.
  for (const [session, file, problem] of [
    [half, halved, /passed over/],
    [newer, later, /passed over: a newer pcc wrote it \(version 99/],
  ] as const) {
    assert.match(heard(session), /Completed:\n- "Create the schema"[\s\S]*Key decisions[^\n]*:\n\(none\)/)
    const note = (await notesOf(world, session)).find(text => text.includes(basename(file, '.json')))
    assert.match(note ?? '', problem)
  }
})

async function notesOf(world: AgentSessions, { id }: SessionView): Promise<string[]> {
  return bodiesOf(await world.log(id), 'session.noted').map(({ text }) => text)
}
