import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { agentSessions, bodiesOf, isEnd } from '../agent-sessions.ts'

const SCENARIO = `
conversations:
  - match: write a file
    turns:
      - text: I write it.
        tools:
          - Write: { file_path: "{{cwd}}/made.txt", content: "made\\n" }
      - tools: [{ Bash: { command: tee forbidden, description: Try } }]
      - text: Done.
        usage: { input_tokens: 1200, output_tokens: 34 }
`

test('an agent in tmux is told its task, each of its calls is judged, and its end is seen by its hooks', async t => {
  const world = await agentSessions(t, SCENARIO)
  const { id } = await world.start('Please write a file\nwith two lines', { host: 'tmux' })
  const stream = await world.daemon.stream(`/events?session=${id}`)
  const events = await stream.until(isEnd)
  stream.close()
  assert.equal(readFileSync(join(world.project, 'made.txt'), 'utf8'), 'made\n')
  assert.deepEqual(
    bodiesOf(events, 'permission.decided').map(({ tool, verdict }) => [tool, verdict]),
    [
      ['Write', 'allow'],
      ['Bash', 'deny'],
    ],
  )
  assert.equal(existsSync(join(world.project, 'forbidden')), false)
  assert.deepEqual(
    bodiesOf(events, 'agent.said').map(({ text }) => text),
    ['I write it.', 'Done.'],
  )
  assert.equal(bodiesOf(events, 'session.ended')[0]?.status, 'completed')
})
