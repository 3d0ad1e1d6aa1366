import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import { tempDir } from '../../support/world.ts'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { startDaemon, viewWhen } from '../daemon-process.ts'

const scenario = (renewed: string) => `
conversations:
  - match: ask something
    turns:
      - tools:
          - AskUserQuestion:
              questions: [{ question: Which colour?, header: Colour, multiSelect: false, options: [{ label: red, description: "" }, { label: blue, description: "" }] }]
      - fault: { kind: unauthorized, until_file: "${renewed}" }
      - { text: "I go on.", repeat: 2 }
`

const answers = { 'Which colour?': 'red' }

test('a login that fails when a parked question is answered keeps the answer, and the session goes on when it is renewed', {
  timeout: 60_000,
}, async t => {
  const renewed = join(tempDir(t), 'renewed')
  const world = await agentSessions(t, scenario(renewed))
  const { id } = await world.start('ask something')
  const parked = await viewWhen(world.daemon, id, ({ ended_at }) => ended_at !== null)
  const [ask] = parked.asks
  const answer = (env: Record<string, string>) =>
    world.daemon.call('POST', `/sessions/${id}/answers`, { body: { ask_id: ask?.ask_id, answers, env } })

  assert.deepEqual((await answer(world.env)).body, { ok: true })
  const waits = await viewWhen(
    world.daemon,
    id,
    ({ ended_at, reason }) => ended_at !== null && /refused/.test(reason ?? ''),
  )
  assert.deepEqual([waits.status, waits.asks, waits.resumes_at !== null], ['paused', [], true])
  assert.match(
    waits.reason ?? '',
    /login was refused[\s\S]*export ANTHROPIC_API_KEY=<new key> && pcc resume[\s\S]*goes on by itself/,
  )
  const { body: row } = await world.daemon.call('GET', '/escalations/1')
  assert.equal(row.state, 'answered', 'nobody is asked twice')

  writeFileSync(renewed, '')
  assert.deepEqual((await world.daemon.call('POST', '/accounts/try', {})).body, { ok: true })
  const done = await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.deepEqual(done.asks, [])
  assert.equal(bodiesOf(await world.log(id), 'question.answered').length, 1)
  assert.ok(world.simulator.requests.some(request => /Which colour\?[^|]*red/.test(JSON.stringify(request))))
})

test('a parked question is answered from any shell, and its session keeps the login that it has', {
  timeout: 60_000,
}, async t => {
  const renewed = join(tempDir(t), 'renewed')
  writeFileSync(renewed, '')
  const world = await agentSessions(t, scenario(renewed))
  const { id } = await world.start('ask something')
  const parked = await viewWhen(world.daemon, id, ({ ended_at }) => ended_at !== null)
  const { ANTHROPIC_API_KEY: _, ...env } = world.env
  const body = { ask_id: parked.asks[0]?.ask_id, answers, env }
  assert.equal((await world.daemon.call('POST', `/sessions/${id}/answers`, { body })).status, 200)
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  const quota = await world.daemon.call('GET', '/quota')
  assert.equal(quota.body.accounts.length, 1, 'no second account was used')
})

test('the log of a session that a dead daemon left gets its end, once', { timeout: 60_000 }, async t => {
  const world = await agentSessions(t, scenario('/nowhere'))
  const attached = await world.start('ask something', { attach: true, auto_resume: false })
  await viewWhen(world.daemon, attached.id, ({ status }) => status === 'waiting_input')
  world.daemon.child.kill('SIGKILL')
  await world.daemon.ended
  for (const life of ['first', 'second']) {
    const next = await startDaemon(t, { home: world.daemon.home })
    const { body } = await next.call('GET', `/sessions/${attached.id}/events`)
    const ends = bodiesOf(body.events, 'session.ended')
    assert.deepEqual(
      ends.map(({ status }) => status),
      ['paused'],
      life,
    )
    assert.match(ends[0]?.reason ?? '', /^interrupted: the daemon ended while it ran$/)
    const { body: view } = await next.call<SessionView>('GET', `/sessions/${attached.id}`)
    assert.deepEqual([view.status, view.cost_usd, view.turns, view.ended_at !== null], ['paused', null, 1, true])
    next.child.kill('SIGTERM')
    await next.ended
  }
})
