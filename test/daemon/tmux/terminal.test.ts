import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findBubblewrap } from '../../../src/base/sandbox/bubblewrap.ts'
import { bodiesOf, isEnd } from '../agent-sessions.ts'
import { terminalWorld } from './terminal-world.ts'

const SCENARIO = `
conversations:
  - match: write a file
    turns:
      - text: I write it.
        tools:
          - Write: { file_path: "{{cwd}}/made.txt", content: "made\\n" }
      - tools: [{ Bash: { command: tee forbidden, description: Try } }]
      - tools:
          - AskUserQuestion:
              questions: [{ question: Which database?, header: DB, multiSelect: false, options: [{ label: SQLite, description: "" }, { label: Postgres, description: "" }] }]
      - text: "It was told: {{prompt}}"
        usage: { input_tokens: 1200, output_tokens: 34 }
`

test('an agent in tmux is told its task, each of its calls is judged, and its end is seen by its hooks', async t => {
  const world = await terminalWorld(t, SCENARIO)
  const { id } = await world.start('Please write a file\nwith two lines; never mind the colours')
  const stream = await world.daemon.stream(`/events?session=${id}`)
  await stream.until(({ kind }) => kind === 'tool.finished')
  const seat = join(world.daemon.paths.run, 'tmux', id)
  assert.equal(existsSync(join(seat, 'start.sh')), false, 'the script with the keys is gone once it runs')
  for (const name of ['seat.json', 'settings.json', 'window.json'])
    assert.equal(statSync(join(seat, name)).mode & 0o077, 0)
  await stream.until(isEnd)
  const events = await world.log(id)
  assert.equal(readFileSync(join(world.project, 'made.txt'), 'utf8'), 'made\n')
  const isSandboxed = 'program' in (await findBubblewrap())
  assert.deepEqual(
    bodiesOf(events, 'agent.started').map(({ sandboxed }) => sandboxed),
    [isSandboxed],
  )
  assert.deepEqual(
    bodiesOf(events, 'permission.decided').map(({ tool, verdict }) => [tool, verdict]),
    [
      ['Write', 'allow'],
      ['Bash', 'deny'],
    ],
  )
  assert.equal(existsSync(join(world.project, 'forbidden')), false)
  // Nobody was there to answer: the window is closed, and the answer is given in a new one.
  assert.deepEqual(
    bodiesOf(events, 'turn.ended').map(({ outcome, denials }) => [outcome, denials]),
    [['parked', 2]],
  )
  assert.equal(existsSync(seat), false, 'nothing of the session is left')
  const [asked] = bodiesOf(events, 'question.parked')
  const answer = { ask_id: asked?.ask_id, answers: { 'Which database?': 'SQLite' }, env: world.env }
  const said = await world.daemon.call('POST', `/sessions/${id}/answers`, { body: answer })
  assert.equal(said.status, 200)
  await stream.until(isEnd)
  stream.close()
  const all = await world.log(id)
  assert.deepEqual(
    bodiesOf(all, 'agent.said')
      .map(({ text }) => text)
      .slice(0, 1),
    ['I write it.'],
  )
  assert.match(bodiesOf(all, 'agent.said').at(-1)?.text ?? '', /It was told: .*SQLite/s)
  assert.equal(bodiesOf(all, 'session.ended').at(-1)?.status, 'completed')
  const { body } = await world.daemon.call('GET', `/sessions/${id}`)
  assert.equal(body.host, 'tmux')
  assert.equal(body.vendor_id, bodiesOf(all, 'agent.started')[0]?.vendor_id, 'the same conversation')
  assert.deepEqual(readdirSync(join(world.daemon.paths.run, 'tmux')), [])
})
