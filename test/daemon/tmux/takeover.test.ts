import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { StoredEvent } from '../../../src/domain/event.ts'
import type { SessionContext } from '../../../src/supervisor/session/context.ts'
import { handOverTerminal } from '../../../src/supervisor/session/terminal.ts'
import { BIN } from '../../support/program.ts'
import { bareEnv, tempDir } from '../../support/world.ts'
import { bodiesOf, isEnd } from '../agent-sessions.ts'
import { type DaemonProcess, startDaemon } from '../daemon-process.ts'
import { terminalWorld } from './terminal-world.ts'

const SCENARIO = `
conversations:
  - match: work slowly
    turns:
      - tools: [{ Bash: { command: sleep 2, description: Wait } }]
      - tools:
          - AskUserQuestion:
              questions: [{ question: Which database?, header: DB, multiSelect: false, options: [{ label: SQLite, description: "" }, { label: Postgres, description: "" }] }]
      - tools: [{ Bash: { command: tee forbidden, description: Try } }]
      - text: "Asked at the terminal."
      - text: "The person said: {{prompt}}"
`

test('a person who takes the terminal is asked there and types there; calls are judged as before; handed back, it ends as it stands', async t => {
  const world = await terminalWorld(t, SCENARIO)
  const { daemon } = world
  const { id } = await world.start('Please work slowly')
  const stream = await daemon.stream(`/events?session=${id}`)
  await stream.until(({ kind }) => kind === 'permission.decided')
  const taken = await daemon.call('POST', `/sessions/${id}/takeover`)
  assert.deepEqual([taken.status, taken.body.taken_over], [200, true])
  // The agent's own dialog waits for the person: no request to pcc presses a key in it.
  await stream.until(({ kind }) => kind === 'tool.finished')
  await waitsForPerson(join(daemon.paths.run, 'tmux', id))
  const said = await daemon.call('POST', `/sessions/${id}/prompt`, { body: { text: 'Go on' } })
  assert.deepEqual([said.status, said.body.error.code], [409, 'terminal_taken'])
  const early = await daemon.call('POST', `/sessions/${id}/handback`)
  assert.deepEqual([early.status, early.body.error.code], [409, 'terminal_asks'])
  assert.equal((await daemon.call('GET', `/sessions/${id}`)).body.taken_over, true)
  assert.equal(hasAnswer(await world.log(id)), false)
  // The person presses Enter: the first answer.
  await pressUntil(
    () => world.tmux('send-keys', '-t', id, 'Enter'),
    () => world.log(id),
    hasAnswer,
  )
  await stream.until(({ kind, body }) => kind === 'permission.decided' && 'verdict' in body && body.verdict === 'deny')
  assert.equal(existsSync(join(world.project, 'forbidden')), false, 'the gate stays')
  await stream.until(event => event.kind === 'agent.said' && event.body.text === 'Asked at the terminal.')
  world.tmux('send-keys', '-t', id, '-l', 'Say it again')
  world.tmux('send-keys', '-t', id, 'Enter')
  await stream.until(event => event.kind === 'agent.said' && /The person said: Say it again/.test(event.body.text))
  assert.deepEqual(bodiesOf(await world.log(id), 'turn.ended'), [], 'what ends under the hands of a person is theirs')
  const back = await daemon.call('POST', `/sessions/${id}/handback`)
  assert.equal(back.body.taken_over, undefined)
  await stream.until(isEnd)
  stream.close()
  const events = await world.log(id)
  assert.deepEqual(
    bodiesOf(events, 'turn.ended').map(({ outcome, text }) => [outcome, text]),
    [['completed', 'The person said: Say it again']],
  )
  assert.equal(bodiesOf(events, 'session.ended')[0]?.status, 'completed')
  assert.match(
    bodiesOf(events, 'session.noted')
      .map(({ text }) => text)
      .join('\n'),
    /A person has taken the terminal.*\n.*given the terminal back/,
  )
})

const ASKS = `
conversations:
  - match: work slowly
    turns:
      - tools: [{ Bash: { command: sleep 1, description: Wait } }]
      - tools: [{ Bash: { command: sleep 1, description: Wait } }]
      - text: "Done at first."
      - text: "The person said: {{prompt}}"
      - tools: [{ Bash: { command: tee forbidden, description: Try } }]
`

test('a pause of a session whose terminal a person has is answered at once, and holds when it is handed back, whatever the person did meanwhile', async t => {
  const world = await terminalWorld(t, ASKS)
  const { daemon } = world
  const { id } = await world.start('Please work slowly')
  const stream = await daemon.stream(`/events?session=${id}`)
  await stream.until(({ kind }) => kind === 'permission.decided')
  await daemon.call('POST', `/sessions/${id}/takeover`)
  const { stdout } = await runPcc(daemon, ['pause', id])
  assert.match(stdout, /it pauses when it is handed back.*\n.*pcc handback s-/)
  // The turn of the person goes on to its end, and so does the next one.
  await stream.until(event => event.kind === 'agent.said' && event.body.text === 'Done at first.')
  world.tmux('send-keys', '-t', id, '-l', 'Say it again')
  world.tmux('send-keys', '-t', id, 'Enter')
  await stream.until(event => event.kind === 'agent.said' && /The person said: Say it again/.test(event.body.text))
  const back = await runPcc(daemon, ['handback', id])
  assert.match(back.stdout, /pauses, as you asked.*\nGo on with: pcc resume s-/)
  await stream.until(isEnd)
  stream.close()
  assert.equal(bodiesOf(await world.log(id), 'session.ended')[0]?.status, 'paused')
})

test('where tmux is missing, a session in it is refused with how to get it, before anything is made for it', async t => {
  const daemon = await startDaemon(t, { env: { PATH: tempDir(t) } })
  const project = tempDir(t)
  const { status, body } = await daemon.call('POST', '/sessions', {
    body: { project, task: 'x', host: 'tmux', env: {} },
  })
  assert.deepEqual([status, body.error.code], [409, 'tmux_missing'])
  assert.match(body.error.next, /apt install tmux/)
  assert.deepEqual((await daemon.call('GET', '/sessions')).body.sessions, [])
})

/** Runs a command that has to end by itself, with the exit code 0. */
function runPcc({ home }: DaemonProcess, args: string[]) {
  const env = { ...bareEnv(home), PCC_HOME: `${home}/pcc` }
  return promisify(execFile)(process.execPath, [BIN, ...args], { env })
}

/** The agent reports it in a file that another process writes. */
async function waitsForPerson(seat: string): Promise<void> {
  const { config, pid, sandboxed } = JSON.parse(readFileSync(join(seat, 'window.json'), 'utf8'))
  const name = sandboxed
    ? (readdirSync(join(config, 'sessions')).find(each => each.endsWith('.json')) ?? '')
    : `${pid}.json`
  while (!/"status":\s*"waiting"/.test(readFileSync(join(config, 'sessions', name), 'utf8')))
    await new Promise(resolve => setTimeout(resolve, 50))
}

function hasAnswer(events: StoredEvent[]): boolean {
  return bodiesOf(events, 'tool.finished').some(({ output }) => /SQLite/.test(output ?? ''))
}

/** A dialog that is still being drawn accepts no key. */
async function pressUntil(
  press: () => void,
  log: () => Promise<StoredEvent[]>,
  holds: (events: StoredEvent[]) => boolean,
) {
  while (!holds(await log())) {
    press()
    await new Promise(resolve => setTimeout(resolve, 1000))
  }
}

test('a session whose agent has no terminal cannot be taken over', async () => {
  const context = {
    live: { id: 's-000001', agent: { session: { interrupt: async () => undefined } } },
  } as unknown as SessionContext
  await assert.rejects(handOverTerminal(context, 'takeover'), {
    code: 'not_in_terminal',
    message: /s-000001 has no terminal/,
  })
})
