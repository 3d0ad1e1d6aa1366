import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import { reply } from '../../brain/sample.ts'
import { KEY, openVendor } from '../../brain/vendors.ts'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { startDaemon, viewWhen } from '../daemon-process.ts'

const asks = (question: string, labels: string[]) => {
  const options = labels.map(label => ({ label, description: '' }))
  return { AskUserQuestion: { questions: [{ question, header: '', multiSelect: false, options }] } }
}
const SCENARIO = JSON.stringify({
  conversations: [
    {
      match: 'ask twice',
      turns: [
        { tools: [asks('Which colour?', ['red', 'blue'])] },
        { tools: [asks('Which shape?', ['round', 'square'])] },
        { text: 'You said: {{last_tool_result}}' },
      ],
    },
  ],
})
const UNSURE = JSON.stringify({ answers: [], confidence: 0, reasoning: 'Nothing says so.' })

test('a brain has its key again after kill -9 of the daemon: it answers the next question of the session', {
  timeout: 120_000,
}, async t => {
  const gemini = await openVendor(t, 'gemini', [{ says: UNSURE }, { says: reply(['square']) }])
  const world = await agentSessions(t, SCENARIO)
  const settings = {
    PCC_BRAIN_TYPE: 'gemini',
    PCC_BRAIN_GEMINI_API_KEY: KEY,
    PCC_BRAIN_GEMINI_BASE_URL: String(gemini.settings['brain.gemini.base_url']),
  }
  const { id } = await world.start('ask twice', { config: null, settings })
  await viewWhen(world.daemon, id, ({ status, ended_at }) => status === 'waiting_input' && ended_at !== null)
  const kept = join(world.daemon.paths.run, 'secrets', `${id}.json`)
  assert.equal(statSync(kept).mode & 0o777, 0o600)
  world.daemon.child.kill('SIGKILL')
  await world.daemon.ended
  assert.ok(!readFileSync(world.daemon.paths.database).includes(KEY), 'it is in no row')

  const next = await startDaemon(t, { home: world.daemon.home })
  const answered = await next.call('POST', '/escalations/1/answer', { body: { answer: 'red', env: world.env } })
  assert.equal(answered.status, 200, JSON.stringify(answered.body))
  const over = await viewWhen(next, id, ({ status, asks }) => status === 'completed' || asks[0]?.number === 2)
  assert.equal(over.status, 'completed', JSON.stringify(over.asks))
  const { body } = await next.call('GET', `/sessions/${id}/events`)
  assert.deepEqual(
    bodiesOf(body.events, 'question.answered').map(({ answers, by }) => [answers, by]),
    [
      [{ 'Which colour?': 'red' }, 'human'],
      [{ 'Which shape?': 'square' }, 'brain:gemini'],
    ],
  )
  assert.ok(gemini.asked().some(sent => sent.includes('Which shape?')))
  assert.ok(!JSON.stringify([body, world.simulator.requests]).includes(KEY), 'neither the log nor the agent has it')
  const { body: view } = await next.call<SessionView>('GET', `/sessions/${id}`)
  assert.ok(!JSON.stringify(view).includes(KEY))
})
