import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Tripwire } from '../../../src/agents/claude/gate.ts'

const INTERRUPTED =
  "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. Check whether it took effect before relying on it or running it again.]"

function result(content: unknown, is_error: boolean) {
  return {
    type: 'user',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content, is_error }] },
  }
}

test('what a conversation notes about a call of a process that died is no call that ran unjudged', () => {
  assert.equal(new Tripwire().read(result(INTERRUPTED, true)), undefined)
  assert.equal(new Tripwire().read(result([{ type: 'text', text: INTERRUPTED }], true)), undefined)
})

test('the same words in what a tool gave back excuse nothing', () => {
  assert.equal(new Tripwire().read(result(INTERRUPTED, false)), 'c1', 'it ran')
  assert.equal(new Tripwire().read(result(`Exit code 1\n${INTERRUPTED}`, true)), 'c1', 'it ran, and failed')
  assert.equal(new Tripwire().read(result(`${INTERRUPTED}\nand more`, true)), 'c1')
})

test('a call that was asked about may fail, and one that was allowed may succeed', () => {
  const tripwire = new Tripwire()
  tripwire.judging('c1')
  assert.equal(tripwire.read(result('Exit code 1', true)), undefined)
  assert.equal(tripwire.read(result('fine', false)), 'c1', 'nobody said yes')
  tripwire.allowed('c1')
  assert.equal(tripwire.read(result('fine', false)), undefined)
})
