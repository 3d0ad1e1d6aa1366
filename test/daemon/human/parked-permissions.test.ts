import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type AgentSessions, agentSessions, bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'

const SCENARIO = `
conversations:
  - match: make the file
    turns:
      - tools: [{ Bash: { command: tee made, description: Make } }]
      - text: "It said: {{last_tool_result}}"
`
const WAIT = { env: { PCC_PERMISSIONS_UNATTENDED_HIGH: 'wait' } }

/** A session whose dangerous call waits for a person. */
async function waiting(t: TestContext): Promise<{ world: AgentSessions; id: string; askId: string; question: string }> {
  const world = await agentSessions(t, SCENARIO, WAIT)
  const { id } = await world.start('Please make the file')
  const view = await viewWhen(world.daemon, id, ({ status }) => status === 'waiting_input')
  const [ask] = view.asks
  assert.ok(ask?.kind === 'question')
  return { world, id, askId: ask.ask_id, question: ask.questions[0]?.question ?? '' }
}

async function answered(answer: 'allow' | 'deny', t: TestContext) {
  const { world, id, askId, question } = await waiting(t)
  assert.equal(question, 'May it run this? Bash: tee made')
  const body = { ask_id: askId, answers: { [question]: answer }, env: world.env }
  const reply = await world.daemon.call('POST', `/sessions/${id}/answers`, { body })
  assert.ok(reply.status < 300, JSON.stringify(reply.body))
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  const decided = bodiesOf(await world.log(id), 'permission.decided').map(({ verdict, by }) => [verdict, by])
  return { decided, made: existsSync(join(world.project, 'made')) }
}

test('permissions.unattended_high = "deny": a HIGH request with nobody there is refused at once', async t => {
  const world = await agentSessions(t, SCENARIO)
  const { id } = await world.start('Please make the file')
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  const [decided] = bodiesOf(await world.log(id), 'permission.decided')
  assert.deepEqual([decided?.verdict, decided?.by], ['deny', 'policy'])
})

test('permissions.unattended_high = "wait": the session waits, and a yes lets that very call run', async t => {
  assert.deepEqual(await answered('allow', t), { decided: [['allow', 'human']], made: true })
})

test('permissions.unattended_high = "wait": after a no the agent goes on without it', async t => {
  assert.deepEqual(await answered('deny', t), { decided: [['deny', 'human']], made: false })
})
