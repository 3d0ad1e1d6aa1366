import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { QuotaView } from '../../../src/domain/quota.ts'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'
import { isComplete, isLimited, otherAccount, waitsFor } from './gated.ts'

const NEARLY_FULL = '{ five_hour: { utilization: 0.92, resets: +50s }, seven_day: { utilization: 0.2, resets: +2d } }'

const SCENARIO = `
conversations:
  - match: use it up
    turns:
      - text: I begin.
        tools: [${waitsFor('go')}]
        rate_limits: ${NEARLY_FULL}
      - text: The first task is done.
    later:
      - match: the second task
        turns: [{ text: The second task is done. }]
  - match: be careful
    turns:
      - text: I begin.
        tools: [${waitsFor('go', 'touch in.flight')}]
        rate_limits: ${NEARLY_FULL}
      - text: I went on.
  - match: one more
    turns: [{ text: One more is done. }]
`

test('at 92 % nothing new begins: what runs finishes or pauses as told, and all of it goes on when the window is fresh', async t => {
  const world = await agentSessions(t, SCENARIO, { auth: 'oauth' })
  const { daemon, project, simulator } = world
  const careful = { env: otherAccount(world, 'careful'), settings: { PCC_QUOTA_ON_CRITICAL: 'pause' } }
  const first = await world.start('Please use it up')
  const paused = await world.start('Please be careful', careful)
  const warnings = [first, paused].map(async ({ id }) => {
    const events = await daemon.stream(`/events?session=${id}`)
    await events.until(({ kind }) => kind === 'limit.warned')
    events.close()
  })
  await Promise.all(warnings)
  const added = await daemon.call('POST', `/sessions/${first.id}/tasks`, { body: { task: 'Do the second task' } })
  assert.equal(added.status, 201)
  const another = await world.start('Please do one more')
  const waiting = await viewWhen(daemon, another.id, ({ reason }) => reason !== null)
  assert.deepEqual([waiting.status, waiting.queued], ['idle', true])
  assert.match(waiting.reason ?? '', /allowance is fresh: 92% of the 5-hour window is used, until 20\S+ \(pcc quota\)/)

  const quota = (await daemon.call<QuotaView>('GET', '/quota')).body
  const fresh = Math.max(...quota.accounts.flatMap(({ eases_at }) => eases_at ?? []))
  writeFileSync(join(project, 'go'), '')
  const held = await viewWhen(daemon, first.id, isLimited)
  assert.match(held.reason ?? '', /nearly used up, so no new task is begun/)
  assert.deepEqual(
    bodiesOf(await world.log(first.id), 'task.finished').map(({ result }) => result),
    ['The first task is done.'],
    'what ran was finished',
  )
  await viewWhen(daemon, paused.id, isLimited)
  assert.ok(existsSync(join(project, 'in.flight')), 'the tool in flight was finished')
  assert.deepEqual(bodiesOf(await world.log(paused.id), 'task.finished'), [])
  assert.ok(Date.now() < fresh, 'all of this happened before the reset')
  const calls = simulator.requests.length

  for (const { id } of [first, paused, another]) await viewWhen(daemon, id, isComplete)
  assert.deepEqual(
    simulator.requests.slice(calls).filter(({ time }) => time < fresh - 1000),
    [],
  )
  const results = bodiesOf(await world.log(first.id), 'task.finished').map(({ result }) => result)
  assert.deepEqual(results, ['The first task is done.', 'The second task is done.'])
  assert.equal(bodiesOf(await world.log(paused.id), 'task.finished')[0]?.result, 'I went on.')
})
