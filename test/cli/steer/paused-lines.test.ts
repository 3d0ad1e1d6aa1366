import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pausedLines, pausingLine } from '../../../src/cli/commands/steer/paused-lines.ts'
import { NOON, session } from '../render/sample.ts'

const NAME = 's-abc123 (auth-feature)'

test('a session that was quicker than its pause is told as what it became', () => {
  const before = session({ status: 'processing' })
  const after = (status: Parameters<typeof session>[0]) => pausedLines(session({ ended_at: NOON, ...status }), before)
  assert.deepEqual(after({ status: 'paused' }), [`Session paused: ${NAME}`, 'Go on with: pcc resume s-abc123'])
  assert.deepEqual(after({ status: 'completed' }), [`Session was complete before it could pause: ${NAME}`])
  assert.deepEqual(after({ status: 'waiting_input' }), [
    `Session waits for your answer, and does nothing until then: ${NAME}`,
    'See: pcc pending',
  ])
  assert.deepEqual(after({ status: 'stopped' })[0], `Session was stopped before it could pause: ${NAME}`)
  assert.deepEqual(after({ status: 'error', reason: 'no credit\nTry: pcc retry s-abc123' }), [
    `Session failed before it could pause: ${NAME}`,
    'no credit',
    'Try: pcc retry s-abc123',
  ])
})

test('what a pause waits for is said: the tool in flight, or an answer', () => {
  assert.equal(pausingLine(session({})), `Session ${NAME} pauses after the tool in flight.`)
  const asks = [{ kind: 'question' as const, ask_id: 'a', questions: [] }]
  assert.equal(pausingLine(session({ asks })), `Session ${NAME} pauses when it has its answer (pcc attach s-abc123).`)
})
