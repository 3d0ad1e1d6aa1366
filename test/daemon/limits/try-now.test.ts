import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import type { QuotaView } from '../../../src/domain/quota.ts'
import { type AgentSessions, agentSessions, bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'
import { closedUntil, isComplete, isLimited, openVendor } from './gated.ts'

const DAY = 24 * 3_600_000

const SCENARIO = `
conversations:
  - match: the long task
    turns:
      - tools: [{ Bash: { command: "touch first", description: Work } }]
      - fault: { kind: limit, window: seven_day, resets: +72h, until_file: "{{cwd}}/open" }
        text: The long task is done.
  - match: another task
    turns: [{ text: The other task is done. }]
`

/** Two sessions of one account wait for a reset that is days away; the older one has hit the limit. */
async function twoWaiting(world: AgentSessions): Promise<{ older: string; newer: string }> {
  const older = await world.start('Please do the long task')
  await viewWhen(world.daemon, older.id, isLimited)
  const newer = await world.start('Please do another task')
  await viewWhen(world.daemon, newer.id, isLimited)
  return { older: older.id, newer: newer.id }
}

async function tryNow({ daemon }: AgentSessions): Promise<QuotaView> {
  const { status, body } = await daemon.call<QuotaView>('POST', '/quota/release', { body: { now: true } })
  assert.equal(status, 200)
  return body
}

test('a limit that is over days before its reset: a person has it tried now, and the work goes on', async t => {
  const world = await agentSessions(t, SCENARIO, { auth: 'oauth' })
  const { older, newer } = await twoWaiting(world)
  openVendor(world)
  const plain = await world.daemon.call<QuotaView>('POST', '/quota/release', { body: {} })
  const gate = plain.body.accounts[0]?.gate
  assert.ok((gate?.closed_until ?? 0) > Date.now() + 2 * DAY, 'letting go of a hold opens no limit')
  assert.equal(plain.body.tried, undefined)
  const { tried } = await tryNow(world)
  assert.deepEqual(
    tried?.map(({ sessions }) => sessions),
    [[older, newer]],
  )
  await viewWhen(world.daemon, older, isComplete)
  const log = await world.log(older)
  assert.match(
    bodiesOf(log, 'session.noted')
      .map(({ text }) => text)
      .join('\n'),
    /says that the limit is over \(pcc quota release --now\): this session goes on at once/,
  )
  assert.deepEqual(
    bodiesOf(log, 'task.finished').map(({ result }) => result),
    ['The long task is done.'],
  )
  assert.deepEqual(await closedUntil(world.daemon), [])
  const { body } = await world.daemon.call<SessionView>('GET', `/sessions/${newer}`)
  assert.ok((body.resumes_at ?? 0) < Date.now() + 60_000, 'the other one follows')
})

test('a limit that is still there: what a person has tried costs one call, and the account is closed again', async t => {
  const world = await agentSessions(t, SCENARIO, { auth: 'oauth' })
  const { older, newer } = await twoWaiting(world)
  const before = world.simulator.requests.length
  const [closed] = await closedUntil(world.daemon)
  const { ended_at: firstEnd } = await viewWhen(world.daemon, older, isLimited)
  await tryNow(world)
  const endedAgain = (view: SessionView) => isLimited(view) && (view.ended_at ?? 0) > (firstEnd ?? 0)
  for (const { resumes_at } of [
    await viewWhen(world.daemon, older, endedAgain),
    await viewWhen(world.daemon, newer, isLimited),
  ]) {
    assert.ok((resumes_at ?? 0) > Date.now() + 2 * DAY, 'both wait for the reset again')
  }
  assert.deepEqual(
    world.simulator.requests.slice(before).map(({ response }) => response),
    ['limit'],
  )
  assert.ok(((await closedUntil(world.daemon))[0] ?? 0) >= (closed ?? Number.POSITIVE_INFINITY))
  assert.deepEqual(bodiesOf(await world.log(newer), 'session.resumed'), [])
})
