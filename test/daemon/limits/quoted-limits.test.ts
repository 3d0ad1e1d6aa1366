import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { QuotaView } from '../../../src/domain/quota.ts'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'
import { isComplete } from './gated.ts'

const WORDS = "You've hit your 5-hour limit · resets 3am (UTC)"
const EVENT = '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","rateLimitType":"five_hour"}}'
const RESULT =
  '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"api_error":"usage_limit_reached"}'

/** Says it, thinks it, reads it, prints it, writes it, and has a subagent say it. */
const SCENARIO = `
conversations:
  - name: subagent
    match: look at the limit
    turns:
      - text: ${JSON.stringify(`I looked: ${WORDS}`)}
  - match: write about limits
    turns:
      - thinking: ${JSON.stringify(WORDS)}
        text: ${JSON.stringify(WORDS)}
        tools: [{ Read: { file_path: "{{cwd}}/limits.md" } }]
      - text: ${JSON.stringify(EVENT)}
        tools:
          - Bash: { command: "cat limits.md limits.md", description: Print }
          - Agent: { description: Look, prompt: look at the limit, subagent_type: general-purpose }
      - tools: [{ Bash: { command: "cat limits.md >&2; exit 1", description: Print as an error } }]
      - text: ${JSON.stringify(`${WORDS}\n${RESULT}`)}
`

test('an agent whose files, tools, words and subagent quote limits is never held back', async t => {
  const world = await agentSessions(t, SCENARIO, { auth: 'oauth' })
  writeFileSync(join(world.project, 'limits.md'), `${WORDS}\n${EVENT}\n${RESULT}\n`)
  const { id } = await world.start(`Please write about limits: ${WORDS}`)
  const view = await viewWhen(world.daemon, id, ({ ended_at }) => ended_at !== null)
  assert.ok(isComplete(view), `${view.status}: ${view.reason}`)
  const log = await world.log(id)
  assert.deepEqual(
    [bodiesOf(log, 'limit.hit'), bodiesOf(log, 'limit.warned'), bodiesOf(log, 'session.resumed')],
    [[], [], []],
  )
  assert.ok(bodiesOf(log, 'agent.said').some(({ text, agent_id }) => agent_id !== undefined && text.includes(WORDS)))
  const read = bodiesOf(log, 'tool.finished').filter(({ output }) => output.includes('usage_limit_reached'))
  assert.deepEqual(
    read.map(({ ok }) => ok),
    [true, true, false],
  )
  const { body } = await world.daemon.call<QuotaView>('GET', '/quota')
  assert.deepEqual(
    body.accounts.map(({ gate }) => gate?.closed_until ?? null),
    [null],
  )
  assert.equal(bodiesOf(log, 'task.finished').length, 1)
})
