import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import type { Escalation } from '../../../src/domain/escalation.ts'
import { agentSessions, bodiesOf } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'
import { inProcess, type Sessions } from '../in-process.ts'
import { sharedDaemon } from '../shared-daemon.ts'

/** Retries follow at once; how long they wait is tested with `decide`. */
const SOON = { env: { PCC_SESSIONS_RETRY_SECONDS: '0' } }
const AT_ONCE = { shared: sharedDaemon(SOON) }

const STORM = `
conversations:
  - match: the storm
    turns:
      - fault: { kind: overloaded, until_file: "{{cwd}}/calm" }
        text: The storm is over.
`

const LASTING = `
conversations:
  - { match: no such model, turns: [{ fault: model_not_found }] }
  - { match: no money, turns: [{ fault: credit_too_low }] }
  - { match: a wrong key, turns: [{ fault: forbidden }] }
`

/** The agent first compacts a conversation by itself, which fails here; then it is asked to. */
const TOO_LONG = `
conversations:
  - match: "[earlier conversation truncated"
    turns: [{ fault: prompt_too_long }]
    otherwise: { fault: prompt_too_long }
  - match: being continued
    turns: [{ text: It fits now. }]
  - match: grows too long
    turns:
      - tools: [{ Bash: { command: "touch first", description: Work } }]
      - fault: prompt_too_long
    later:
      - match: Respond with TEXT ONLY
        turns: [{ text: "<summary>The first file was made.</summary>" }]
  - match: never fits
    turns:
      - tools: [{ Bash: { command: "touch second", description: Work } }]
      - fault: prompt_too_long
`

async function pending({ daemon }: Sessions): Promise<Escalation[]> {
  return (await daemon.call<{ escalations: Escalation[] }>('GET', '/escalations')).body.escalations
}

/** The session after its last retry. */
function givenUp({ daemon }: Sessions, id: string): Promise<SessionView> {
  return viewWhen(daemon, id, view => view.status === 'paused' && view.resumes_at === null)
}

test('sessions.retry_seconds: what may pass is tried three times, then it waits for a person: yes tries again, no leaves it', async t => {
  const world = await inProcess(t, STORM, SOON)
  const { daemon } = world
  const started = await Promise.all(['yes', 'no', 'resume'].map(name => world.start(`Sail through the storm: ${name}`)))
  const [yes, no, resumed] = started.map(({ id }) => id)
  assert.ok(yes && no && resumed)
  for (const id of [yes, no, resumed]) {
    const view = await givenUp(world, id)
    assert.match(view.reason ?? '', /Overloaded[\s\S]*Tried 4 times; go on with: pcc resume/)
    const tries = bodiesOf(await world.log(id), 'session.ended').flatMap(
      ({ reason }) => /try \d of \d/.exec(reason) ?? [],
    )
    assert.deepEqual(tries, ['try 1 of 3', 'try 2 of 3', 'try 3 of 3'])
  }
  const rows = await pending(world)
  assert.deepEqual(new Set(rows.map(({ kind, session_id }) => `${kind} ${session_id}`)).size, 3)
  const numberOf = (id: string) => rows.find(({ session_id }) => session_id === id)?.number
  const answer = (id: string, body: object) =>
    daemon.call('POST', `/escalations/${numberOf(id)}/answer`, { body: { by: 'human', env: world.env, ...body } })

  assert.equal((await answer(yes, { answer: 'perhaps' })).status, 400, 'an error is no question')
  const calls = world.simulator.requests.length
  assert.equal((await answer(no, { verdict: 'deny' })).status, 200)
  assert.equal((await daemon.call<SessionView>('GET', `/sessions/${no}`)).body.status, 'paused')
  assert.equal(world.simulator.requests.length, calls)

  writeFileSync(join(world.project, 'calm'), '')
  assert.equal((await answer(yes, { verdict: 'allow' })).status, 200)
  assert.equal((await daemon.call('POST', `/sessions/${resumed}/resume`, { body: { env: world.env } })).status, 200)
  for (const id of [yes, resumed]) {
    await viewWhen(daemon, id, ({ status }) => status === 'completed')
    assert.equal(bodiesOf(await world.log(id), 'task.finished').length, 1)
  }
  assert.deepEqual(await pending(world), [], 'nothing is left to decide')
  assert.equal((await answer(resumed, { verdict: 'allow' })).status, 409, 'it went on without an answer')
})

test('a real agent that met an overloaded model is begun again by itself, and goes on when it is no more', async t => {
  const world = await agentSessions(t, STORM, AT_ONCE)
  const { id } = await world.start('Sail through the storm')
  const stream = await world.daemon.stream(`/events?session=${id}`)
  await stream.until(({ kind, body }) => kind === 'session.ended' && 'reason' in body && /try 1 of 3/.test(body.reason))
  stream.close()
  writeFileSync(join(world.project, 'calm'), '')
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.equal(bodiesOf(await world.log(id), 'task.finished').length, 1)
})

test('what does not pass by itself says what to do: a model is not tried again, and work waits for an account', async t => {
  const world = await agentSessions(t, LASTING, AT_ONCE)
  const advice: [task: string, status: SessionView['status'], next: RegExp][] = [
    ['no such model', 'paused', /\npcc resume s-\w+ --model <model>$/],
    ['no money', 'paused', /balance[\s\S]*goes on by itself/],
    ['a wrong key', 'paused', /export ANTHROPIC_API_KEY=<new key> && pcc resume[\s\S]*goes on by itself/],
  ]
  for (const [task, status, next] of advice) {
    // Each has an account of its own, because a fault holds back all sessions of one account.
    const { id } = await world.start(task, { env: { ...world.env, ANTHROPIC_API_KEY: `sk-ant-${task}` } })
    const view = await viewWhen(world.daemon, id, ({ ended_at }) => ended_at !== null)
    assert.deepEqual([view.status, view.resumes_at !== null], [status, task !== 'no such model'], task)
    assert.match(view.reason ?? '', next)
    assert.deepEqual(bodiesOf(await world.log(id), 'session.resumed'), [])
  }
  assert.deepEqual(await pending(world), [])
})

test('a conversation that is too long is shortened once and goes on; where that fails, the session does', async t => {
  const world = await agentSessions(t, TOO_LONG, AT_ONCE)
  const [grows, never] = await Promise.all([world.start('This grows too long'), world.start('This never fits')])
  await viewWhen(world.daemon, grows.id, ({ status }) => status === 'completed')
  const outcomes = bodiesOf(await world.log(grows.id), 'turn.ended').map(({ outcome }) => outcome)
  assert.deepEqual(outcomes, ['failed', 'completed', 'completed'])
  assert.equal(bodiesOf(await world.log(grows.id), 'task.finished')[0]?.result, 'It fits now.')
  const view = await viewWhen(world.daemon, never.id, ({ status }) => status === 'error')
  assert.match(view.reason ?? '', /too long for the model and could not be shortened[\s\S]*Give a shorter task/)
  assert.equal(bodiesOf(await world.log(never.id), 'turn.ended').length, 2, 'one try')
})

test('with its turns used up a session pauses with a checkpoint, and a resume goes on', async t => {
  const work = (name: string) => `{ Bash: { command: "touch ${name}", description: Work } }`
  const turns = ['one', 'two', 'three'].map(name => `      - tools: [${work(name)}]\n`).join('')
  const scenario = `conversations:\n  - match: in steps\n    turns:\n${turns}      - text: All done.\n`
  const world = await inProcess(t, scenario, SOON)
  const { id } = await world.start('Go in steps', { max_turns: 2 })
  const capped = await viewWhen(world.daemon, id, ({ ended_at }) => ended_at !== null)
  assert.deepEqual(
    [capped.status, capped.reason],
    ['paused', `the turn limit was reached; go on with: pcc resume ${id}`],
  )
  const { body } = await world.daemon.call('GET', `/sessions/${id}/checkpoints`)
  assert.deepEqual(
    body.checkpoints.map(({ reason }: { reason: string }) => reason),
    ['capped'],
  )
  assert.deepEqual(bodiesOf(await world.log(id), 'task.finished'), [])
  for (let rounds = 0; rounds < 3; rounds++) {
    const resumed = await world.daemon.call('POST', `/sessions/${id}/resume`, { body: { env: world.env } })
    assert.equal(resumed.status, 200)
    const view = await viewWhen(world.daemon, id, ({ status }) => status !== 'processing' && status !== 'idle')
    if (view.status === 'completed') break
    assert.equal(view.status, 'paused')
  }
  assert.equal(bodiesOf(await world.log(id), 'task.finished')[0]?.result, 'All done.')
})
