import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentSessions } from '../agent-sessions.ts'
import { startDaemon } from '../daemon-process.ts'

const SCENARIO = `
conversations:
  - match: ask one
    turns:
      - tools:
          - AskUserQuestion: { questions: [{ question: Which hue?, header: Hue, multiSelect: false, options: [{ label: teal, description: "" }, { label: plum, description: "" }] }] }
      - text: Done.
`

test('what was asked at a terminal when the daemon was killed waits for nobody: it is asked again when the session goes on', async t => {
  const world = await agentSessions(t, SCENARIO)
  const { id } = await world.start('ask one', { attach: true })
  const terminal = await world.daemon.stream(`/events?session=${id}&attach=1`)
  await terminal.until(({ kind }) => kind === 'question.asked')
  assert.equal((await world.daemon.call('GET', '/escalations')).body.escalations.length, 1)
  world.daemon.child.kill('SIGKILL')
  await world.daemon.ended
  const daemon = await startDaemon(t, { home: world.daemon.home })
  assert.equal((await daemon.call('GET', '/escalations/1')).body.state, 'withdrawn')
  const late = await daemon.call('POST', '/escalations/1/answer', { body: { answer: 'plum', env: world.env } })
  assert.deepEqual([late.status, late.body.error.code], [409, 'escalation_withdrawn'])
})
