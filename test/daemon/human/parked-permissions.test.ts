import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Escalation } from '../../../src/domain/escalation.ts'
import { type AgentSessions, agentSessions, bodiesOf } from '../agent-sessions.ts'
import { startDaemon, viewWhen } from '../daemon-process.ts'
import { inProcess, type Sessions } from '../in-process.ts'

const SCENARIO = `
conversations:
  - match: make the file
    turns:
      - tools: [{ Bash: { command: tee made, description: Make } }]
      - text: "It said: {{last_tool_result}}"
  - match: make it twice
    turns:
      - tools: [{ Bash: { command: tee made, description: Make } }]
      - tools: [{ Bash: { command: tee made, description: Make again } }]
      - text: Done.
  - match: run the script
    turns:
      - tools: [{ Bash: { command: bash x.sh, description: Run } }]
      - text: Done.
`
const WAIT = { env: { PCC_PERMISSIONS_UNATTENDED_HIGH: 'wait' } }

interface Waiting<World> {
  world: World
  id: string
  askId: string
  number: number
}

/** A session whose dangerous call waits for a person as decision 1. */
async function waiting(t: TestContext, task = 'Please make the file'): Promise<Waiting<Sessions>> {
  return waitingIn(await inProcess(t, SCENARIO, WAIT), task)
}

/** The same with a daemon as a process and the real agent. */
async function waitingForReal(t: TestContext, options = WAIT): Promise<Waiting<AgentSessions>> {
  return waitingIn(await agentSessions(t, SCENARIO, options), 'Please make the file')
}

async function waitingIn<World extends Sessions>(world: World, task: string): Promise<Waiting<World>> {
  const { id } = await world.start(task)
  const view = await viewWhen(world.daemon, id, ({ status }) => status === 'waiting_input')
  const [ask] = view.asks
  assert.ok(ask?.kind === 'permission')
  assert.deepEqual([ask.tool, ask.target, ask.risk], ['Bash', 'tee made', 'HIGH'])
  assert.equal(ask.number, 1)
  return { world, id, askId: ask.ask_id, number: ask.number ?? 0 }
}

test('permissions.unattended_high = "deny": a HIGH request with nobody there is refused at once', async t => {
  const world = await inProcess(t, SCENARIO)
  const { id } = await world.start('Please make the file')
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  const [decided] = bodiesOf(await world.log(id), 'permission.decided')
  assert.deepEqual([decided?.verdict, decided?.by], ['deny', 'policy'])
})

test('permissions.unattended_high = "wait": a HIGH request waits as a numbered row, and a yes lets that very call run', async t => {
  const { world, id } = await waitingForReal(t)
  const [row, ...others] = await rows(world.daemon)
  assert.deepEqual(others, [])
  assert.ok(row)
  const { number, kind, state, session_id, project, task, tool, normalised, risk, input } = row
  assert.deepEqual([number, kind, state, session_id, project], [1, 'permission', 'open', id, world.project])
  assert.deepEqual([task, tool, normalised, risk], ['Please make the file', 'Bash', 'Bash tee made', 'HIGH'])
  assert.deepEqual(input, { command: 'tee made', description: 'Make' })
  assert.ok(row.reasons.some(({ risk }) => risk === 'HIGH'))
  assert.equal((await world.daemon.call('GET', '/sessions')).body.decisions, 1)
  assert.deepEqual((await world.daemon.call('GET', '/escalations/1')).body, row)

  const reply = await answer(world.daemon, 1, { verdict: 'allow', env: world.env })
  assert.deepEqual([reply.status, reply.body.remembered, reply.body.escalation.state], [200, false, 'answered'])
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.ok(existsSync(join(world.project, 'made')))
  const log = await world.log(id)
  const [parked] = bodiesOf(log, 'permission.parked')
  assert.deepEqual([parked?.number, parked?.target], [1, 'tee made'])
  assert.deepEqual(
    bodiesOf(log, 'permission.decided').map(({ call_id, verdict, by }) => [call_id, verdict, by]),
    [[parked?.call_id, 'allow', 'human']],
  )
  assert.equal(bodiesOf(log, 'escalation.answered')[0]?.verdict, 'allow')
  assert.deepEqual(await rows(world.daemon), [])
})

test('after a no the agent goes on without it and the model sees the reason', async t => {
  const { world, id, number } = await waiting(t)
  const reply = await answer(world.daemon, number, { verdict: 'deny', reason: 'use the Write tool', env: world.env })
  assert.equal(reply.status, 200)
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.equal(existsSync(join(world.project, 'made')), false)
  const log = await world.log(id)
  assert.deepEqual(
    bodiesOf(log, 'permission.decided').map(({ verdict, by, reason }) => [verdict, by, reason]),
    [['deny', 'human', 'use the Write tool']],
  )
  assert.match(bodiesOf(log, 'agent.said').at(-1)?.text ?? '', /It said: .*use the Write tool/)
})

test('a yes is for one call: the same HIGH request waits again as a new decision', async t => {
  const { world, id, number } = await waiting(t, 'Please make it twice')
  await answer(world.daemon, number, { verdict: 'allow', env: world.env })
  await viewWhen(world.daemon, id, ({ status, asks }) => status === 'waiting_input' && asks[0]?.number === number + 1)
  assert.deepEqual(
    (await rows(world.daemon)).map(({ number, state, count }) => [number, state, count]),
    [[number + 1, 'open', 1]],
  )
  await answer(world.daemon, number + 1, { verdict: 'deny', env: world.env })
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
})

test('a yes is for the script as it was judged: if it has changed, the call is judged anew and waits again', async t => {
  const world = await inProcess(t, SCENARIO, WAIT)
  const script = join(world.project, 'x.sh')
  writeFileSync(script, 'rm -f old\n')
  const { id } = await world.start('Please run the script')
  const ask = async (line: RegExp) => {
    const { asks } = await viewWhen(world.daemon, id, view => line.test(JSON.stringify(view.asks)))
    return asks[0]?.number ?? 0
  }
  const first = await ask(/x\.sh line 1: rm/)
  writeFileSync(script, 'true\nrm -f other\ntee made < x.sh\n')
  assert.equal((await answer(world.daemon, first, { verdict: 'allow', env: world.env })).status, 200)
  const second = await ask(/x\.sh line 2: rm/)
  assert.notEqual(second, first)
  assert.equal(existsSync(join(world.project, 'made')), false)
  assert.deepEqual(bodiesOf(await world.log(id), 'permission.decided'), [])
  await answer(world.daemon, second, { verdict: 'allow', env: world.env })
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.ok(existsSync(join(world.project, 'made')))
  assert.equal(bodiesOf(await world.log(id), 'permission.decided')[0]?.verdict, 'allow')
})

test('what waits outlives a killed daemon, and its answer resumes the session', async t => {
  const { world, id } = await waitingForReal(t)
  const before = await rows(world.daemon)
  world.daemon.child.kill('SIGKILL')
  await world.daemon.ended
  const daemon = await startDaemon(t, { home: world.daemon.home, ...WAIT })
  assert.deepEqual(await rows(daemon), before)
  assert.equal((await answer(daemon, 1, { verdict: 'allow', env: world.env })).status, 200)
  await viewWhen(daemon, id, ({ status }) => status === 'completed')
  assert.ok(existsSync(join(world.project, 'made')))
})

test('an answer without an environment is given in that which the session was started with', async t => {
  const { world, id, number } = await waiting(t)
  assert.equal((await answer(world.daemon, number, { verdict: 'allow' })).status, 200)
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.ok(existsSync(join(world.project, 'made')))
})

test('where that was not kept, in the daemon of a later day, its own counts; with another login it stays open', async t => {
  const unkept = { env: { ...WAIT.env, PCC_SESSIONS_KEEP_ENVIRONMENT: 'false' } }
  const { world: before, id } = await waitingForReal(t, unkept)
  before.daemon.child.kill('SIGTERM')
  await before.daemon.ended
  const world = { ...before, daemon: await startDaemon(t, { home: before.daemon.home, ...unkept }) }
  const reply = await answer(world.daemon, 1, { verdict: 'allow' })
  assert.deepEqual([reply.status, reply.body.error.code], [409, 'account_differs'])
  assert.deepEqual(
    (await rows(world.daemon)).map(({ state }) => state),
    ['open'],
  )
  world.daemon.child.kill('SIGTERM')
  await world.daemon.ended
  const daemon = await startDaemon(t, { home: world.daemon.home, env: { ...world.env, ...WAIT.env } })
  assert.equal((await answer(daemon, 1, { verdict: 'allow' })).status, 200)
  await viewWhen(daemon, id, ({ status }) => status === 'completed')
  assert.ok(existsSync(join(world.project, 'made')))
})

test('of two answers at once, one from a terminal and one by number, one wins and the other is told who', async t => {
  const { world, id, askId, number } = await waiting(t)
  const [terminal, numbered] = await Promise.all([
    world.daemon.call('POST', `/sessions/${id}/answers`, {
      body: { ask_id: askId, verdict: 'deny', reason: 'at the terminal', by: 'ann', env: world.env },
    }),
    answer(world.daemon, number, { verdict: 'deny', reason: 'by number', by: 'bob', env: world.env }),
  ])
  assert.deepEqual([terminal.status, numbered.status].sort(), [200, 409])
  const late = terminal.status === 409 ? terminal : numbered
  const winner = terminal.status === 409 ? 'by number' : 'at the terminal'
  assert.equal(late.body.error.code, 'escalation_answered')
  assert.match(late.body.error.message, new RegExp(`^Decision ${number} was denied by human on .* UTC; the first`))
  await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  const log = await world.log(id)
  assert.deepEqual(
    bodiesOf(log, 'permission.decided').map(({ by, reason }) => [by, reason]),
    [['human', winner]],
  )
  assert.equal(bodiesOf(log, 'escalation.answered').length, 1)
  const again = await answer(world.daemon, number, { verdict: 'allow', env: world.env })
  assert.deepEqual([again.status, again.body.error.code], [409, 'escalation_answered'])
  const body = { ask_id: askId, verdict: 'deny', by: 'eve', env: world.env }
  const atTerminal = await world.daemon.call('POST', `/sessions/${id}/answers`, { body })
  assert.deepEqual([atTerminal.status, atTerminal.body.error.code], [409, 'escalation_answered'])
})

test('a session that is stopped needs no answer any more', async t => {
  const { world, id, number } = await waiting(t)
  assert.equal((await world.daemon.call('POST', `/sessions/${id}/stop`, { body: {} })).status, 200)
  assert.deepEqual(await rows(world.daemon), [])
  const row = (await rows(world.daemon, '?state=withdrawn')).find(each => each.number === number)
  assert.deepEqual([row?.number, row?.answered_by, row?.answer_reason], [number, null, 'stopped by a person'])
  const reply = await answer(world.daemon, number, { verdict: 'allow', env: world.env })
  assert.deepEqual([reply.status, reply.body.error.code], [409, 'escalation_withdrawn'])
  assert.match(
    reply.body.error.message,
    new RegExp(`^Decision ${number} has needed no answer since .*: stopped by a person$`),
  )
  assert.equal(existsSync(join(world.project, 'made')), false)
})

function answer(daemon: Sessions['daemon'], number: number, body: object) {
  return daemon.call('POST', `/escalations/${number}/answer`, { body })
}

async function rows(daemon: Sessions['daemon'], query = ''): Promise<Escalation[]> {
  return (await daemon.call<{ escalations: Escalation[] }>('GET', `/escalations${query}`)).body.escalations
}
