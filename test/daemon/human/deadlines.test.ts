import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { EscalationView } from '../../../src/domain/escalation.ts'
import { openStore } from '../../../src/store/open.ts'
import { type AgentSessions, agentSessions, bodiesOf } from '../agent-sessions.ts'
import { type DaemonProcess, startDaemon, viewWhen } from '../daemon-process.ts'

const OPTIONS = '[{ label: red, description: "" }, { label: blue, description: "" }]'
const SCENARIO = `
conversations:
  - match: paint it
    turns:
      - tools: [{ AskUserQuestion: { questions: [{ question: Which colour?, header: "", multiSelect: false, options: ${OPTIONS} }] } }]
      - text: "You said: {{last_tool_result}}"
  - match: make the file
    turns:
      - tools: [{ Bash: { command: tee made, description: Make } }]
      - text: "It said: {{last_tool_result}}"
`
const SOON = { PCC_HUMAN_DEADLINE_MINUTES: '7' }

test('without human.deadline_minutes, or with keep_waiting, nothing has a deadline', async t => {
  const { row } = await waiting(t, 'paint it', { PCC_HUMAN_ON_DEADLINE_QUESTION: 'deny' })
  assert.equal(row.deadline, null)
  const { row: patient } = await waiting(t, 'paint it', SOON)
  assert.equal(patient.deadline, null)
})

test('human.on_deadline.question = "deny": the agent is told to decide, and goes on', async t => {
  const held = await waiting(t, 'paint it', { ...SOON, PCC_HUMAN_ON_DEADLINE_QUESTION: 'deny' })
  assert.equal(Math.round(((held.row.deadline ?? 0) - held.row.created_at) / 60_000), 7)
  const said = await afterDeadline(t, held)
  assert.match(said, /You said: .*nobody answered in a minute; decide by yourself and say what you assumed/)
})

test('human.on_deadline.question = "take_suggestion": the suggestion is the answer, and nothing is remembered of it', async t => {
  const held = await waiting(t, 'paint it', { ...SOON, PCC_HUMAN_ON_DEADLINE_QUESTION: 'take_suggestion' })
  const suggestion = { answer: ['blue'], confidence: 0.6, by: 'rules' }
  const said = await afterDeadline(t, held, JSON.stringify({ suggestion }))
  assert.match(said, /You said: .*blue/)
  await using store = await openStore({ file: held.world.daemon.places.database })
  assert.deepEqual(await store.answers.list(), [])
  const row = await store.escalations.get(held.row.number)
  assert.equal(row?.answered_by, 'deadline')
  assert.match(row?.answer_reason ?? '', /^nobody answered in a minute; the suggestion of rules was taken \(60 %\)$/)
})

test('without a suggestion there is nothing to take: it waits on', async t => {
  const held = await waiting(t, 'paint it', { ...SOON, PCC_HUMAN_ON_DEADLINE_QUESTION: 'take_suggestion' })
  const { daemon } = await pastDeadline(t, held, { context: '{}' })
  for (;;) {
    const { body } = await daemon.call<EscalationView>('GET', `/escalations/${held.row.number}`)
    assert.equal(body.state, 'open')
    if (body.deadline === null) break
  }
})

const REFUSES = { ...SOON, PCC_PERMISSIONS_UNATTENDED_HIGH: 'wait', PCC_HUMAN_ON_DEADLINE_PERMISSION: 'deny' }

test('human.on_deadline.permission = "deny": the call is refused, never approved, and listed for the morning', async t => {
  const held = await waiting(t, 'make the file', REFUSES)
  const suggestion = { answer: ['allow'], confidence: 1, by: 'x' }
  const { daemon } = await pastDeadline(t, held, { context: JSON.stringify({ suggestion }) })
  assert.match(await lastWords(daemon, held), /It said: .*nobody answered in a minute; go on without it/)
  assert.equal(existsSync(join(held.world.project, 'made')), false)
  assert.deepEqual(await listed(daemon), [[1, 'denied', 1]])
  const word = await daemon.call('POST', '/escalations/1/answer', { body: { verdict: 'deny' } })
  assert.deepEqual([word.status, word.body.escalation.answered_by], [200, 'human'])
  assert.deepEqual(await listed(daemon), [])
})

test('a refusal that a daemon settled at the deadline before it died is brought by the next one', async t => {
  const held = await waiting(t, 'make the file', REFUSES)
  const refused = {
    state: 'denied',
    verdict: 'deny',
    answered_by: 'deadline',
    answer_reason: 'it is too late',
  } as const
  const { daemon } = await pastDeadline(t, held, refused)
  assert.match(await lastWords(daemon, held), /It said: .*it is too late/)
  assert.deepEqual(await listed(daemon), [[1, 'denied', 1]])
})

interface Held {
  world: AgentSessions
  id: string
  row: EscalationView
}

async function waiting(t: TestContext, task: string, settings: Record<string, string>): Promise<Held> {
  const world = await agentSessions(t, SCENARIO)
  const { id } = await world.start(task, { settings })
  await viewWhen(world.daemon, id, ({ status }) => status === 'waiting_input')
  const { body } = await world.daemon.call<EscalationView>('GET', '/escalations/1')
  return { world, id, row: body }
}

/** The daemon of a time when the deadline is past. */
async function pastDeadline(
  t: TestContext,
  { world, row }: Held,
  changes: object = {},
): Promise<{ daemon: DaemonProcess }> {
  world.daemon.child.kill('SIGTERM')
  await world.daemon.ended
  {
    await using store = await openStore({ file: world.daemon.places.database })
    const past = { deadline: row.created_at, ...changes }
    await store.transaction(tx => tx.db.updateTable('escalations').set(past).execute())
  }
  const daemon = await startDaemon(t, { home: world.daemon.home })
  return { daemon }
}

/** What the agent says once the deadline is past. */
async function afterDeadline(t: TestContext, held: Held, context?: string): Promise<string> {
  const { daemon } = await pastDeadline(t, held, context === undefined ? {} : { context })
  return lastWords(daemon, held)
}

async function lastWords(daemon: DaemonProcess, { id }: Held): Promise<string> {
  await viewWhen(daemon, id, ({ status }) => status === 'completed')
  const { body } = await daemon.call('GET', `/sessions/${id}/events`)
  return bodiesOf(body.events, 'agent.said').at(-1)?.text ?? ''
}

async function listed(daemon: DaemonProcess) {
  const { body } = await daemon.call<{ escalations: EscalationView[] }>('GET', '/escalations')
  return body.escalations.map(({ number, state, count }) => [number, state, count])
}
