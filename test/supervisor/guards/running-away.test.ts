import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SessionEvent } from '../../../src/domain/session.ts'
import { bodiesOf } from '../../daemon/agent-sessions.ts'
import { tempDir } from '../../support/world.ts'
import { scriptedAgent } from '../session/scripted-agent.ts'
import { type ScriptedWorld, scriptedWorld } from '../session/scripted-world.ts'

const MINUTE = 60_000

const isPaused = ({ status }: { status: string }) => status === 'paused'
const isComplete = ({ status }: { status: string }) => status === 'completed'

/** Resolves when this many calls of the session have finished, and the guards have seen that. */
async function finished({ store }: ScriptedWorld, subject: string, times: number): Promise<void> {
  const enough = new AbortController()
  let left = times
  for await (const { kind } of store.follow(0, { subject, signal: enough.signal })) {
    if (kind === 'tool.finished') left -= 1
    if (left === 0) enough.abort()
  }
  await new Promise(resolve => setImmediate(resolve))
}

/** Lets minutes pass, with a check of the agents in each, as the timer does it. */
async function pass(world: ScriptedWorld, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    world.time.ahead += MINUTE
    await world.supervisor.lookAtAgents()
  }
}

function calls(times: number): SessionEvent[] {
  return Array.from({ length: times }, (_, index): SessionEvent[] => [
    { kind: 'tool_request', callId: `b-${index}`, tool: 'Bash', input: { command: `make # try ${index}` } },
    { kind: 'tool_result', callId: `b-${index}`, ok: false, output: 'error: no rule' },
  ]).flat()
}

test('breakers.repeated_calls: an agent in a circle is told, stopped softly and asked about; a person grants it a fresh allowance', async t => {
  const agent = scriptedAgent((_prompt, asked) => (asked === 0 ? { tells: calls(5) } : { tells: calls(3) }))
  const world = await scriptedWorld(t, agent, { PCC_BREAKERS_REPEATED_CALLS: '5' })
  const id = await world.start('first')
  const { reason } = await world.when(id, isPaused)
  assert.match(
    reason ?? '',
    /^It has made the same call 5 times with the same outcome: Bash make # try 4\n.*pcc resume/,
  )
  assert.deepEqual(
    bodiesOf(await world.events(id), 'guard.tripped').map(({ guard, did }) => [guard, did]),
    [
      ['repetition', 'told'],
      ['repetition', 'paused'],
    ],
  )
  const { escalations } = (await world.call('GET', '/escalations?state=open')).body
  assert.equal(escalations.length, 1)
  const answered = await world.call('POST', `/escalations/${escalations[0].number}/answer`, { verdict: 'allow' })
  assert.equal(answered.status, 200, JSON.stringify(answered.body))
  await world.when(id, isComplete)
})

test('sessions.stall_minutes: an agent that hangs goes on once by itself, and the second time a person is asked', async t => {
  const agent = scriptedAgent()
  const world = await scriptedWorld(t, agent, { PCC_SESSIONS_STALL_MINUTES: '3' })
  const first = agent.holdAt('last request')
  const id = await world.start('first')
  await first
  await finished(world, id, 1)
  await pass(world, 2)
  assert.equal((await world.view(id)).status, 'processing', 'two minutes are nothing')
  const second = agent.holdAt('last request')
  await pass(world, 1)
  await world.ended(id, 1)
  const [trip] = bodiesOf(await world.events(id), 'guard.tripped')
  assert.match(trip?.reason ?? '', /^The agent hangs: no sign of life for 3 minutes$/)
  world.pass(MINUTE)
  await second
  await finished(world, id, 2)
  assert.equal((await world.call('GET', '/escalations?state=open')).body.escalations.length, 0)
  await pass(world, 4)
  const { reason, resumes_at } = await world.when(id, isPaused)
  assert.match(reason ?? '', /It hung before/)
  assert.equal(resumes_at, null)
  assert.equal((await world.call('GET', '/escalations?state=open')).body.escalations.length, 1)
  assert.equal((await world.call('POST', `/sessions/${id}/resume`, {})).status, 200)
  await world.when(id, isComplete)
})

test('a silent tool is no hang for an hour, and time at work is booked while it runs', async t => {
  const agent = scriptedAgent()
  const world = await scriptedWorld(t, agent, { PCC_BUDGETS_SESSION_WALL_MINUTES: '55' })
  const there = agent.holdAt('tool')
  const id = await world.start('first')
  const goOn = await there
  await pass(world, 50)
  assert.equal((await world.view(id)).status, 'processing')
  const [row] = await world.store.spending.of([{ scope: 'session', key: id }])
  assert.equal(Math.round(row?.wall_minutes ?? 0), 50)
  assert.equal(bodiesOf(await world.events(id), 'budget.warned')[0]?.measure, 'wall_minutes')
  await pass(world, 6)
  goOn()
  assert.match((await world.when(id, isPaused)).reason ?? '', /^The session's budget of 55 min is spent/)
})

function rounds(times: number, what: (round: number) => string): SessionEvent[] {
  const counts = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }
  return Array.from({ length: times }, (_, round): SessionEvent[] => [
    { kind: 'usage', ...counts, turns: round + 1 },
    { kind: 'tool_request', callId: `r-${round}`, tool: 'Read', input: { file_path: what(round) } },
    { kind: 'tool_result', callId: `r-${round}`, ok: true, output: `text of ${what(round)}` },
  ]).flat()
}

test('breakers.no_progress_rounds: an agent that changes nothing is stopped, unless files changed that no call tells of', async t => {
  const project = tempDir(t, 'pcc-still-')
  const read = rounds(12, round => 'x'.repeat(round + 1))
  const agent = scriptedAgent(() => ({ tells: read }))
  const world = await scriptedWorld(t, agent, { PCC_BREAKERS_NO_PROGRESS_ROUNDS: '10' })
  const still = await world.start('first', { project })
  const { reason } = await world.when(still, isPaused)
  assert.match(reason ?? '', /^It has changed no file, no plan and no outcome of a test in 10 rounds/)

  const there = agent.holdAt('request')
  const moving = await world.start('second', { project })
  const goOn = await there
  writeFileSync(join(project, 'made-by-a-command'), '')
  goOn()
  await world.when(moving, isComplete)
})

test('sessions.max_waiting: one session more than may wait is refused, and nothing of it exists', async t => {
  const agent = scriptedAgent()
  const world = await scriptedWorld(t, agent, { PCC_SESSIONS_MAX_WAITING: '1', PCC_SESSIONS_MAX_CONCURRENT: '1' })
  const there = agent.holdAt('tool')
  const first = await world.start('first')
  const goOn = await there
  const second = await world.start('second')
  await assert.rejects(world.start('third'), /"code":"line_full".*1 waiting.*pcc config set sessions.max_waiting 2/)
  assert.equal((await world.store.sessions.list()).length, 2)
  goOn()
  await world.when(first, isComplete)
  await world.when(second, isComplete)
})

test('a process that was stopped hangs; one that works is alive although nothing is heard', async t => {
  const child = spawn('/bin/sh', ['-c', 'while [ -e "$0" ]; do :; done', process.execPath], { stdio: 'ignore' })
  t.after(() => child.kill('SIGKILL'))
  const agent = scriptedAgent()
  const { open } = agent.driver
  agent.driver.open = async options => Object.assign(await open(options), { pid: child.pid })
  const world = await scriptedWorld(t, agent)
  const there = agent.holdAt('last request')
  const id = await world.start('first')
  await there
  await finished(world, id, 1)
  const passWithWork = async () => {
    await pass(world, 3)
    await new Promise(resolve => setTimeout(resolve, 600)) // processor time is measured by the real clock
  }
  for (let times = 0; times < 3; times++) await passWithWork()
  assert.deepEqual(bodiesOf(await world.events(id), 'guard.tripped'), [], 'it works')
  child.kill('SIGSTOP')
  for (let times = 0; times < 3; times++) await passWithWork()
  await world.ended(id, 1)
  const [trip] = bodiesOf(await world.events(id), 'guard.tripped')
  assert.match(trip?.reason ?? '', /a process of it was stopped \(SIGSTOP\)/)
})
