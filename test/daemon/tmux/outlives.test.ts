import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { StoredEvent } from '../../../src/domain/event.ts'
import { bodiesOf, isEnd } from '../agent-sessions.ts'
import { startDaemon } from '../daemon-process.ts'
import { terminalWorld } from './terminal-world.ts'

const SCENARIO = `
conversations:
  - match: three files
    turns:
      - tools: [{ Write: { file_path: "{{cwd}}/first.txt", content: "1\\n" } }]
      - tools: [{ Bash: { command: sleep 5, description: Wait } }]
      - tools: [{ Write: { file_path: "{{cwd}}/second.txt", content: "2\\n" } }]
      - text: "I stop here: {{last_tool_result}}"
      - tools: [{ Write: { file_path: "{{cwd}}/third.txt", content: "3\\n" } }]
      - text: All three.
`

test('an agent in tmux outlives its daemon, gets nothing through meanwhile, and is taken up by the next one in the same window', async t => {
  const world = await terminalWorld(t, SCENARIO)
  const { daemon } = world
  const { id } = await world.start('Please write three files')
  const stream = await daemon.stream(`/events?session=${id}`)
  const isSleeping = (event: StoredEvent) => event.kind === 'permission.decided' && event.body.tool === 'Bash'
  await stream.until(isSleeping)
  const seat = join(daemon.paths.run, 'tmux', id)
  const file = join(seat, 'seat.json')
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), away_ms: 100 }))
  const pane = world.tmux('list-panes', '-a', '-F', '#{session_name} #{pane_pid}')
  daemon.child.kill('SIGKILL')
  await daemon.ended
  stream.close()

  await until(() => existsSync(join(seat, 'refusals/refused')))
  await until(() => /"status":"idle"/.test(stateOf(seat)))
  assert.equal(existsSync(join(world.project, 'second.txt')), false, 'nobody was there to allow it')

  const next = await startDaemon(t, { home: daemon.home })
  const after = await next.stream(`/events?session=${id}`)
  await after.until(({ kind }) => kind === 'agent.started')
  await after.until(({ kind }) => kind === 'session.resumed')
  await after.until(({ kind }) => kind === 'agent.started')
  assert.equal(world.tmux('list-panes', '-a', '-F', '#{session_name} #{pane_pid}'), pane, 'the same window and process')
  await after.until(isEnd)
  after.close()
  const { body } = await next.call<{ events: StoredEvent[] }>('GET', `/sessions/${id}/events`)
  const { events } = body
  const vendorIds = bodiesOf(events, 'agent.started').map(({ vendor_id }) => vendor_id)
  assert.equal(new Set(vendorIds).size, 1)
  assert.match(
    bodiesOf(events, 'agent.said')
      .map(({ text }) => text)
      .join('\n'),
    /I stop here: .*the daemon of pcc is away.*pcc daemon start/,
  )
  assert.equal(existsSync(join(world.project, 'third.txt')), true, 'it was told that it may go on')
  assert.deepEqual(
    bodiesOf(events, 'turn.ended').map(({ outcome, text }) => [outcome, text]),
    [['completed', 'All three.']],
  )
  assert.equal(bodiesOf(events, 'session.ended').at(-1)?.status, 'completed')
  assert.equal(existsSync(seat), false)
})

function stateOf(seat: string): string {
  const { config, pid, sandboxed } = JSON.parse(readFileSync(join(seat, 'window.json'), 'utf8'))
  return readFileSync(
    join(
      config,
      'sessions',
      sandboxed ? (readdirSync(join(config, 'sessions')).find(each => each.endsWith('.json')) ?? '') : `${pid}.json`,
    ),
    'utf8',
  )
}

/** Polls, because there is no event for changes that another process makes to files. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setTimeout(resolve, 50))
}
