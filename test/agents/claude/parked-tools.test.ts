import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claudeDriver } from '../../../src/agents/claude/driver.ts'
import type { OpenSession, SessionEvent } from '../../../src/domain/session.ts'
import { openSimulator } from '../../../src/simulator/open.ts'
import { agentEnv, gitProject, tempDir } from '../../support/world.ts'

const SCENARIO = `
conversations:
  - match: go
    turns:
      - tools: [{ mcp__pcc__ask_human: { question: Which colour? } }]
      - text: "I was told: {{prompt}}"
        expect: { prompt_contains: blue }
`

test('a question by a tool of ours that nobody answers ends the turn; what is said to it comes as the next prompt', async t => {
  const simulator = await openSimulator({ text: SCENARIO })
  t.after(() => simulator.close())
  const driver = claudeDriver()
  t.after(() => driver.close())
  const open: OpenSession = {
    ...{ id: 's-1', cwd: gitProject(t), isolation: 'marker', settingSources: [], ownTools: ['ask_human'] },
    env: agentEnv(tempDir(t), simulator.url),
    asks: {
      permission: async () => ({ verdict: 'deny', risk: 'HIGH', reason: 'no', confidence: 1, by: 'policy' }),
      question: async () => ({ park: true, reason: 'nobody is there' }),
    },
  }
  await using first = await driver.open({ ...open, prompt: 'go' })
  const parked = await turnOf(first.events)
  assert.equal(parked.outcome, 'parked')
  assert.deepEqual([parked.parked?.tool, parked.parked?.gone], ['mcp__pcc__ask_human', true])
  assert.equal(simulator.requests.length, 1, 'the model is not called again meanwhile')
  await first[Symbol.asyncDispose]()
  const resume = { vendorId: first.vendorId ?? '', fork: false }
  await using second = await driver.open({ ...open, resume, prompt: 'They said blue.' })
  const over = await turnOf(second.events)
  assert.equal(over.outcome, 'completed')
  assert.equal(over.text, 'I was told: They said blue.')
  assert.deepEqual(simulator.requests.at(-1)?.unexpected, [])
})

async function turnOf(events: AsyncIterable<SessionEvent>) {
  for await (const event of events) if (event.kind === 'turn_ended') return event
  throw new Error('the session ended without a turn')
}
