import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import { openStore } from '../../../src/store/open.ts'
import { type AgentSessions, agentSessions, bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'
import {
  all,
  callsAfterRefusal,
  callsWhileClosed,
  closings,
  isComplete,
  isLimited,
  limitFor,
  openVendor,
  waitsFor,
} from './gated.ts'

const question = (text: string) => `
      - tools:
          - AskUserQuestion:
              questions:
                - question: ${text}
                  header: Colour
                  multiSelect: false
                  options: [{ label: Red, description: warm }, { label: Blue, description: cold }]
      - text: "I was told: {{last_tool_result}}"`

/** One of them hits the limit; the others ask, are paused, or have just been started. */
const SCENARIO = `
conversations:
  - match: meet the limit
    turns:
      - tools: [${waitsFor('go')}]
      - fault: ${limitFor('110s')}
        text: Back again.
  - match: ask at the terminal
    turns:${question('Which colour at the terminal?')}
  - match: ask nobody
    turns:${question('Which colour for nobody?')}
  - match: be paused
    turns:
      - tools: [${waitsFor('paused', 'touch was.paused')}]
      - text: I went on.
  - match: start late
    turns: [{ text: Late but done. }]
    otherwise: { text: Late but done. } # an interrupted start may have left a word behind
`

async function post<Body = SessionView>(world: AgentSessions, path: string, body: object = {}): Promise<Body> {
  const reply = await world.daemon.call<Body>('POST', path, { body: { env: world.env, ...body } })
  assert.equal(reply.status, 200, JSON.stringify(reply.body))
  return reply.body
}

async function answer(world: AgentSessions, { id, asks }: SessionView, question: string): Promise<void> {
  await post(world, `/sessions/${id}/answers`, { ask_id: asks[0]?.ask_id, answers: { [question]: 'Blue' } })
}

test('whatever a session of a shut account waits for, it makes no call; what a person says meanwhile is kept until the reset', async t => {
  const world = await agentSessions(t, SCENARIO, { auth: 'oauth', env: { PCC_SESSIONS_MAX_CONCURRENT: '9' } })
  const { daemon, project, simulator } = world
  const meets = await world.start('Please meet the limit')
  const attached = await world.start('Please ask at the terminal', { attach: true })
  const terminal = await daemon.stream(`/events?session=${attached.id}&attach=1`)
  const nobody = await world.start('Please ask nobody')
  const paused = await world.start('Please be paused')
  const isAsking = (view: SessionView) => view.status === 'waiting_input' && view.asks.length > 0
  const [asked, parked] = await all(daemon, [attached.id, nobody.id], isAsking)
  assert.ok(asked && parked)
  for (const { id } of [meets, paused]) await viewWhen(daemon, id, ({ activity }) => /until/.test(activity ?? ''))
  await post(world, `/sessions/${paused.id}/pause`)
  writeFileSync(join(project, 'paused'), '')
  await viewWhen(daemon, paused.id, ({ status }) => status === 'paused')

  const starting = world.start('Please start late, while the limit is met')
  writeFileSync(join(project, 'go'), '')
  await viewWhen(daemon, meets.id, isLimited)
  const [closing] = await closings(daemon)
  assert.ok(closing)
  const opens = closing.until
  openVendor(world)

  // The question at a terminal is answered: its agent gets the answer, and stops before it calls the model.
  await answer(world, asked, 'Which colour at the terminal?')
  await viewWhen(daemon, attached.id, isLimited)
  terminal.close()
  await answer(world, parked, 'Which colour for nobody?')
  const kept = await viewWhen(daemon, nobody.id, isLimited)
  const resumed = await post(world, `/sessions/${paused.id}/resume`)
  const started = await world.start('Please start late, while it is shut')
  for (const view of [kept, resumed, started]) {
    assert.equal(view.status, 'rate_limited', 'it says at once that it waits')
    assert.ok((view.resumes_at ?? 0) > opens)
    assert.match(view.reason ?? '', /5-hour limit/)
  }
  const late = await starting
  // On a fast machine it was done before the limit was hit.
  await viewWhen(daemon, late.id, view => isLimited(view) || isComplete(view))
  assert.ok(Date.now() < opens, 'all of this happened while the account was shut')
  await using store = await openStore({ file: daemon.paths.database })
  for (const { id } of [kept, resumed, started]) {
    const row = await store.sessions.get(id)
    assert.deepEqual([row?.agent_pid, row?.marker], [null, null], 'no process waits with it')
  }

  // The oldest resumes by itself. The others would follow one after the other; a person may be quicker once the gate is open.
  await viewWhen(daemon, meets.id, isComplete)
  assert.deepEqual(callsWhileClosed(simulator.requests, closing), [])
  // The sessions that waited for something did not call the model, not even before we heard of the limit.
  const called = callsAfterRefusal(simulator.requests, closing).filter(({ prompt }) => !/the limit is met/.test(prompt))
  assert.deepEqual(called, [])
  const ids = [meets, attached, nobody, paused, late, started].map(({ id }) => id)
  for (const id of ids) {
    const { body } = await daemon.call<SessionView>('GET', `/sessions/${id}`)
    if (isLimited(body)) await daemon.call('POST', `/sessions/${id}/resume`, { body: { env: world.env } })
  }
  await all(daemon, ids, isComplete)
  for (const id of [attached.id, nobody.id]) {
    const [said] = bodiesOf(await world.log(id), 'task.finished')
    assert.match(said?.result ?? '', /I was told: .*Blue/)
  }
  assert.ok(existsSync(join(project, 'was.paused')))
  for (const id of ids) assert.equal(bodiesOf(await world.log(id), 'task.finished').length, 1)
})
