import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import type { QuotaView } from '../../../src/domain/quota.ts'
import type { Pcc } from '../../cli/pcc.ts'
import { agentWorld } from '../agent-world.ts'

const READ = '{ Read: { file_path: "{{cwd}}/README.md" } }'

/** Nearly full with the first answer; the window resets in two hours. */
const SCENARIO = `
conversations:
  - name: nearly full
    match: use it up
    turns:
      - text: I begin.
        tools: [${READ}]
        rate_limits:
          five_hour: { utilization: 0.95, resets: +2h }
          seven_day: { utilization: 0.4, resets: +2d }
      - tools: [${READ}]
      - text: I am done.
  - name: second
    match: one more
    turns:
      - text: Done as well.
`

async function viewOf(pcc: Pcc, ref: string): Promise<SessionView> {
  return JSON.parse((await pcc.run(['status', ref, '--json'])).stdout) as SessionView
}

test('quota.on_critical = "finish" lets a session that runs finish, and keeps the next from starting', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO, 'oauth')
  const first = await pcc.run(['start', project, '--task', 'use it up'])
  assert.equal(first.code, 0, first.stdout)
  assert.match(first.stdout, /⚠ Limit: 95% of the 5-hour window is used/)
  const quota = JSON.parse((await pcc.run(['quota', '--json'])).stdout) as QuotaView
  assert.equal(quota.accounts[0]?.level, 'critical')
  await pcc.run(['start', project, '--task', 'one more', '--detach', '--session-name', 'next'])
  const { status, queued, reason } = await viewOf(pcc, 'next')
  assert.deepEqual([status, queued], ['idle', true], `${reason}`)
  assert.match((await pcc.run(['quota'])).stdout, /Waiting +1 session\n +s-\w+ \(next\) waits for a place/)
})

test('quota.on_critical = "pause" stops it after the tool in flight, until the reset', async t => {
  const { pcc, project, simulator } = await agentWorld(t, SCENARIO, 'oauth')
  const env = { PCC_QUOTA_ON_CRITICAL: 'pause', PCC_SESSIONS_AUTO_RESUME: 'false' }
  const { code, stdout } = await pcc.run(['start', project, '--task', 'use it up', '--session-name', 'first'], { env })
  assert.equal(code, 4, stdout)
  assert.doesNotMatch(stdout, /I am done/)
  const { status, ended_at } = await viewOf(pcc, 'first')
  assert.equal(status, 'rate_limited')
  assert.ok(ended_at !== null)
  assert.ok(simulator.requests.length <= 2, `${simulator.requests.length} calls of the model`)
})

test('quota.critical_percent moves the wall', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO, 'oauth')
  const env = { PCC_QUOTA_CRITICAL_PERCENT: '99', PCC_QUOTA_WARNING_PERCENT: '98' }
  assert.equal((await pcc.run(['start', project, '--task', 'use it up'], { env })).code, 0)
  assert.equal((await pcc.run(['start', project, '--task', 'one more'], { env })).code, 0)
})
