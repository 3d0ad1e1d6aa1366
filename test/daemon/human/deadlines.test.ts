import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { EscalationView } from '../../../src/domain/escalation.ts'
import { openStore } from '../../../src/store/open.ts'
import { gitProject } from '../../support/world.ts'
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
const REFUSES = { ...SOON, PCC_PERMISSIONS_UNATTENDED_HIGH: 'wait', PCC_HUMAN_ON_DEADLINE_PERMISSION: 'deny' }
const SUGGESTS = { ...SOON, PCC_HUMAN_ON_DEADLINE_QUESTION: 'take_suggestion' }

/** Each a session of its own, which asks under these settings. */
const ASKING = {
  untimed: ['paint it', { PCC_HUMAN_ON_DEADLINE_QUESTION: 'deny' }],
  patient: ['paint it', SOON],
  denied: ['paint it', { ...SOON, PCC_HUMAN_ON_DEADLINE_QUESTION: 'deny' }],
  suggested: ['paint it', SUGGESTS],
  unsuggested: ['paint it', SUGGESTS],
  refused: ['make the file', REFUSES],
  settled: ['make the file', REFUSES],
} satisfies Record<string, [task: string, settings: Record<string, string>]>
type Name = keyof typeof ASKING

/** What else is true of a row when its deadline has passed. */
const MEANWHILE: Partial<Record<Name, object>> = {
  suggested: { context: JSON.stringify({ suggestion: { answer: ['blue'], confidence: 0.6, by: 'rules' } }) },
  unsuggested: { context: '{}' },
  refused: { context: JSON.stringify({ suggestion: { answer: ['allow'], confidence: 1, by: 'x' } }) },
  settled: { state: 'denied', verdict: 'deny', answered_by: 'deadline', answer_reason: 'it is too late' },
}

// All cases share one daemon and its successor: two daemons per case would cost more than everything else.
test('what nobody answers until its deadline is settled as the settings of its session say', async t => {
  const world = await agentSessions(t, SCENARIO)
  const names = Object.keys(ASKING) as Name[]
  const held = Object.fromEntries(await Promise.all(names.map(async name => [name, await waiting(t, world, name)])))
  const row = (name: Name): EscalationView => held[name].row
  const daemon = await pastDeadlines(t, world, held)
  const lastWords = (name: Name) => lastWordsOf(daemon, held[name].id)

  await t.test('without human.deadline_minutes, or with keep_waiting, nothing has a deadline', () => {
    assert.equal(row('untimed').deadline, null)
    assert.equal(row('patient').deadline, null)
  })

  await t.test('human.on_deadline.question = "deny": the agent is told to decide, and goes on', async () => {
    const { deadline, created_at } = row('denied')
    assert.equal(Math.round(((deadline ?? 0) - created_at) / 60_000), 7)
    assert.match(
      await lastWords('denied'),
      /You said: .*nobody answered in a minute; decide by yourself and say what you assumed/,
    )
  })

  await t.test(
    'human.on_deadline.question = "take_suggestion": the suggestion is the answer, and nothing is remembered of it',
    async () => {
      assert.match(await lastWords('suggested'), /You said: .*blue/)
      await using store = await openStore({ file: daemon.paths.database })
      assert.deepEqual(await store.answers.list(), [])
      const answered = await store.escalations.get(row('suggested').number)
      assert.equal(answered?.answered_by, 'deadline')
      assert.match(
        answered?.answer_reason ?? '',
        /^nobody answered in a minute; the suggestion of rules was taken \(60 %\)$/,
      )
    },
  )

  await t.test('without a suggestion there is nothing to take: it waits on', async () => {
    for (;;) {
      const { body } = await daemon.call<EscalationView>('GET', `/escalations/${row('unsuggested').number}`)
      assert.equal(body.state, 'open')
      if (body.deadline === null) break
    }
  })

  await t.test(
    'human.on_deadline.permission = "deny": the call is refused, never approved, and listed for the morning',
    async () => {
      const { id, project } = held['refused']
      const { number } = row('refused')
      assert.match(await lastWords('refused'), /It said: .*nobody answered in a minute; go on without it/)
      assert.equal(existsSync(join(project, 'made')), false)
      assert.deepEqual(await listed(daemon, id), [[number, 'denied', 1]])
      const word = await daemon.call('POST', `/escalations/${number}/answer`, { body: { verdict: 'deny' } })
      assert.deepEqual([word.status, word.body.escalation.answered_by], [200, 'human'])
      assert.deepEqual(await listed(daemon, id), [])
    },
  )

  await t.test(
    'a refusal that a daemon settled at the deadline before it died is brought by the next one',
    async () => {
      assert.match(await lastWords('settled'), /It said: .*it is too late/)
      assert.deepEqual(await listed(daemon, held['settled'].id), [[row('settled').number, 'denied', 1]])
    },
  )
})

interface Held {
  id: string
  project: string
  row: EscalationView
}

/** A session in a project of its own, because the same question of several sessions of one project is one decision. */
async function waiting(t: TestContext, world: AgentSessions, name: Name): Promise<Held> {
  const [task, settings] = ASKING[name]
  const project = gitProject(t)
  const { id } = await world.start(task, { project, settings })
  await viewWhen(world.daemon, id, ({ status }) => status === 'waiting_input')
  const { body } = await world.daemon.call<{ escalations: [EscalationView] }>('GET', `/escalations?session=${id}`)
  return { id, project, row: body.escalations[0] }
}

/** A daemon whose clock is past every deadline. */
async function pastDeadlines(t: TestContext, world: AgentSessions, held: Record<string, Held>): Promise<DaemonProcess> {
  world.daemon.child.kill('SIGTERM')
  await world.daemon.ended
  {
    await using store = await openStore({ file: world.daemon.paths.database })
    for (const [name, { row }] of Object.entries(held)) {
      if (row.deadline === null) continue
      // Counts as asked just now: the message says how long nobody answered, and a busy machine may have needed minutes to get here.
      const now = Date.now()
      const past = { created_at: now, deadline: now, ...MEANWHILE[name as Name] }
      await store.transaction(tx =>
        tx.db.updateTable('escalations').set(past).where('number', '=', row.number).execute(),
      )
    }
  }
  return startDaemon(t, { home: world.daemon.home })
}

async function lastWordsOf(daemon: DaemonProcess, id: string): Promise<string> {
  await viewWhen(daemon, id, ({ status }) => status === 'completed')
  const { body } = await daemon.call('GET', `/sessions/${id}/events`)
  return bodiesOf(body.events, 'agent.said').at(-1)?.text ?? ''
}

async function listed(daemon: DaemonProcess, session: string) {
  const { body } = await daemon.call<{ escalations: EscalationView[] }>('GET', `/escalations?session=${session}`)
  return body.escalations.map(({ number, state, count }) => [number, state, count])
}
