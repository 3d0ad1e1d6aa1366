import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import type { CheckpointLine } from '../../../src/domain/checkpoint.ts'
import type { StoredEvent } from '../../../src/domain/event.ts'
import type { Pcc } from '../../cli/pcc.ts'
import { agentWorld } from '../agent-world.ts'
import { onTerminal } from '../pty.ts'

const WAIT = 'until [ -e go ]; do sleep 0.1; done; touch waited'

const SCENARIO = `
conversations:
  - name: again
    match: CONTEXT RESTORATION
    turns:
      - text: Restored and done.
  - name: long
    match: work for long
    turns:
      - tools: [{ Bash: { command: "${WAIT}", description: Wait } }]
      - tools: [{ Bash: { command: "touch second", description: Work } }]
      - text: All of it is done.
  - name: limited
    match: hit the limit
    turns:
      - tools: [{ Bash: { command: "touch begun", description: Work } }]
      - fault: { kind: limit, window: five_hour, resets: +2h }
  - name: broken
    match: bad request
    turns:
      - tools: [{ Bash: { command: "touch begun", description: Work } }]
      - fault: { kind: http, status: 422, type: invalid_request_error, message: Not valid., until_file: "{{cwd}}/mended" }
      - text: Tried and done.
`

async function viewOf(pcc: Pcc, ref: string): Promise<SessionView> {
  return JSON.parse((await pcc.run(['status', ref, '--json'])).stdout) as SessionView
}

/** Resolves when the agent of a session is in its waiting command. */
async function atWork(pcc: Pcc, ref: string): Promise<void> {
  const logs = pcc.spawn(['logs', ref, '-f'])
  for await (const chunk of logs.stdout ?? []) if (String(chunk).includes('Bash → until')) break
  logs.kill('SIGKILL')
}

const start = (pcc: Pcc, project: string, task: string, ...more: string[]) =>
  pcc.run(['start', project, '--task', task, '--session-name', 'night', '--detach', ...more])

test('a pause waits for the tool in flight, a second one changes nothing, and resume goes on where it stopped', async t => {
  const { pcc, project, simulator } = await agentWorld(t, SCENARIO)
  await start(pcc, project, 'work for long')
  await atWork(pcc, 'night')
  const asked = await pcc.run(['pause', 'night', '--detach'])
  assert.match(asked.stdout, /^Session s-\w+ \(night\) pauses after the tool in flight\.\n$/)
  const pausing = pcc.spawn(['pause', 'night'])
  const [said] = (await once(pausing.stderr ?? pausing, 'data')) as [Buffer]
  assert.match(String(said), /^Session s-\w+ \(night\) pauses after the tool in flight\.\n$/)
  assert.equal(pausing.exitCode, null, 'it waits')
  writeFileSync(join(project, 'go'), '')
  const printed = pausing.stdout ? await text(pausing.stdout) : ''
  assert.match(printed, /^Session paused: (s-\w+) \(night\)\nGo on with: pcc resume \1\n$/)
  assert.equal(pausing.exitCode ?? (await once(pausing, 'exit'))[0], 0)
  assert.deepEqual(
    ['waited', 'second'].map(file => existsSync(join(project, file))),
    [true, false],
  )

  const again = await pcc.run(['pause', 'night'])
  assert.equal(again.code, 0)
  assert.match(again.stdout, /^Session is paused already: (s-\w+) \(night\)\nGo on with: pcc resume \1\n$/)
  const json = JSON.parse((await pcc.run(['pause', 'night', '--json'])).stdout) as SessionView
  assert.equal(json.status, 'paused')

  const resumed = await pcc.run(['resume', 'night'])
  assert.equal(resumed.code, 0, resumed.stdout + resumed.stderr)
  assert.match(
    resumed.stdout,
    /^Going on with session s-\w+ \(night\)\n─+\n\n\[.*\] ▶ Session goes on: resumed by a person\n/,
  )
  assert.match(resumed.stdout, /All of it is done\.\n(.|\n)*Status: +✓ Completed/)
  assert.doesNotMatch(resumed.stdout, /Bash → until/, 'what happened before is not shown again')
  assert.ok(existsSync(join(project, 'second')))
  const last = JSON.stringify(simulator.requests.at(-1)?.body)
  assert.ok(last.includes('touch waited'), 'the agent remembers')
  const complete = await pcc.run(['resume', 'night'])
  assert.deepEqual([complete.code, /has nothing left to do: its task t-\w+ is done/.test(complete.stderr)], [2, true])
})

test('a limited session that is paused does not go on by itself; resumed, it waits for the reset; stopped, it is over', async t => {
  const { pcc, project, simulator } = await agentWorld(t, SCENARIO, 'oauth')
  const { code } = await pcc.run([
    'start',
    project,
    '--task',
    'hit the limit',
    '--session-name',
    'night',
    '--no-auto-resume',
  ])
  assert.equal(code, 4)
  const calls = simulator.requests.length
  const first = await pcc.run(['resume', 'night', '--detach'])
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /^Session waits, its account is limited: s-\w+ \(night\)\n.*pcc resume s-/)
  const paused = await pcc.run(['pause', 'night'])
  assert.equal(paused.code, 0, paused.stderr)
  assert.match(
    paused.stdout,
    /^Session paused: .*\nIt does not go on by itself when the limit resets\.\nGo on with: pcc resume /,
  )
  const { status, resumes_at } = await viewOf(pcc, 'night')
  assert.deepEqual([status, resumes_at], ['paused', null])
  const stopped = await pcc.run(['stop', 'night'])
  assert.match(stopped.stdout, /^Session stopped: (s-\w+) \(night\)\nGo on with: pcc resume \1\n$/)
  const over = await pcc.run(['pause', 'night', '--json'])
  assert.deepEqual([over.code, JSON.parse(over.stderr).error.code], [2, 'session_over'])
  assert.equal(simulator.requests.length, calls, 'and the model was not called')
})

test('a session that waits for its reset says when it goes on, resumed or listed', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO, 'oauth')
  await start(pcc, project, 'hit the limit', '--auto-resume')
  await pcc.run(['logs', 'night', '-f'])
  const resumed = await pcc.run(['resume', 'night', '--detach'])
  assert.match(
    resumed.stdout,
    /^Session waits for the limit to reset, and goes on by itself at \S+.*: s-\w+ \(night\)\n/,
  )
  const view = JSON.parse((await pcc.run(['resume', 'night', '--detach', '--json'])).stdout) as SessionView
  assert.ok((view.resumes_at ?? 0) > Date.now())
  assert.match((await pcc.run(['list'])).stdout, / Resumes: \d/)
})

test('a checkpoint that is named begins a new conversation from there; one that is not there is refused', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  writeFileSync(join(project, 'go'), '')
  await pcc.run(['start', project, '--task', 'work for long', '--session-name', 'night', '--max-turns', '1'])
  const { checkpoints } = JSON.parse((await pcc.run(['checkpoints', 'night', '--json'])).stdout) as {
    checkpoints: CheckpointLine[]
  }
  const unknown = await pcc.run(['resume', 'night', '--from', 'zzz'])
  assert.deepEqual([unknown.code, unknown.stdout], [2, ''])
  assert.match(unknown.stderr, /has no usable checkpoint "zzz"(.|\n)*pcc checkpoints s-/)
  const { code, stdout } = await pcc.run(['resume', 'night', '--from', checkpoints[0]?.id ?? '', '--json'])
  assert.equal(code, 0, stdout)
  const events = stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as StoredEvent)
  assert.equal(events[0]?.kind, 'session.resumed')
  assert.equal(events.at(-1)?.kind, 'session.ended')
  assert.ok(stdout.includes('Restored and done.'))
})

test('what failed is tried again; what has not failed is not', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  const failed = await pcc.run(['start', project, '--task', 'bad request', '--session-name', 'night'])
  assert.equal(failed.code, 1, failed.stdout)
  assert.match(failed.stdout, /pcc retry s-\w+/)
  writeFileSync(join(project, 'mended'), '')
  const retried = await pcc.run(['retry', 'night'])
  assert.equal(retried.code, 0, retried.stdout + retried.stderr)
  assert.match(retried.stdout, /▶ Session goes on: tried again\n(.|\n)*Tried and done\./)
  const nothing = await pcc.run(['retry', 'night'])
  assert.deepEqual(
    [nothing.code, /Nothing in session s-\w+ has failed; it is completed/.test(nothing.stderr)],
    [2, true],
  )
})

test('an attached terminal stays with a session that stands still and shows it going on; Ctrl+C leaves with exit code 4', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  await start(pcc, project, 'work for long')
  await atWork(pcc, 'night')
  const watching = onTerminal(t, pcc, ['attach', 'night'])
  await watching.see(/Attached to session/)
  await pcc.run(['pause', 'night', '--detach'])
  writeFileSync(join(project, 'go'), '')
  await watching.see(/Session paused\./)
  await watching.see(/Stands still until: pcc resume s-\w+ \(Ctrl\+C leaves\)/)
  const late = onTerminal(t, pcc, ['attach', 'night'])
  await late.see(/Session paused\.(.|\n)*Stands still until: pcc resume s-/)
  const leaving = onTerminal(t, pcc, ['attach', 'night'])
  await leaving.see(/Stands still until/)
  leaving.type('\x03')
  await leaving.see(/Detached; session stands still\. Go on with: pcc resume s-/)
  assert.equal(await leaving.exit, 4)
  assert.equal((await pcc.run(['resume', 'night', '--detach'])).code, 0)
  for (const terminal of [watching, late]) {
    await terminal.see(/▶ Session goes on: resumed by a person/)
    await terminal.see(/All of it is done\./)
    assert.equal(await terminal.exit, 0)
  }
})

test('of two that wait for a place the one with the higher priority is first', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  await pcc.run(['config', 'set', 'sessions.max_concurrent', '1'])
  const begin = (name: string, ...more: string[]) =>
    pcc.run(['start', project, '--task', 'work for long', '--detach', '--session-name', name, ...more])
  await begin('first')
  await begin('low', '--priority', '-1')
  await begin('high', '--priority', '10')
  writeFileSync(join(project, 'go'), '')
  await pcc.run(['logs', 'low', '-f'])
  const begun = async (name: string) => {
    const lines = (await pcc.run(['logs', name, '--json', '--level', 'debug'])).stdout.trimEnd().split('\n')
    return lines.map(line => JSON.parse(line) as StoredEvent).find(({ kind }) => kind === 'agent.started')?.id ?? 0
  }
  const order = [await begun('first'), await begun('high'), await begun('low')]
  assert.deepEqual(
    order,
    [...order].sort((a, b) => a - b),
  )
  assert.ok(order.every(id => id > 0))
})
