import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { SessionDeps } from '../../../src/supervisor/session/context.ts'
import { stepForEvent, waitUntilCallStored } from '../../../src/supervisor/session/events.ts'
import { aLiveSession, type LiveMembers } from './live-session.ts'

const CALL = { callId: 'c-1', tool: 'Read', input: {} }

test('a call is not judged before the earlier events of the agent are handled, however long a busy machine takes', async t => {
  const { live, isJudged } = asked(t, { isHandlingEvent: true })
  t.mock.timers.tick(5_000)
  assert.equal(await isJudged(), false, 'a budget may be found spent in between')
  live.agent.isHandlingEvent = false
  t.mock.timers.tick(100)
  assert.equal(await isJudged(), true)
})

test('a call that is not in the stream waits for its grace, and does not wait forever for a stream that stands still', async t => {
  const quiet = asked(t, { isHandlingEvent: false })
  t.mock.timers.tick(99)
  assert.equal(await quiet.isJudged(), false)
  t.mock.timers.tick(1)
  assert.equal(await quiet.isJudged(), true)
  const stuck = asked(t, { isHandlingEvent: true })
  t.mock.timers.tick(10_000)
  assert.equal(await stuck.isJudged(), true)
  const gone = asked(t, { isHandlingEvent: true, over: true })
  t.mock.timers.tick(100)
  assert.equal(await gone.isJudged(), true, 'a session that is over reports nothing more')
})

test('a call that the stream reports is judged at once, without its grace', async t => {
  const { live, isJudged } = asked(t, { isHandlingEvent: true })
  stepForEvent({ kind: 'tool_request', ...CALL }, live)
  assert.equal(await isJudged(), true)
})

/** A call of a session that has ended, so that nothing has to be stored. */
function asked(t: TestContext, more: LiveMembers) {
  t.mock.timers.reset()
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })
  const live = aLiveSession({ state: 'ended' }, more)
  let judged = false
  void waitUntilCallStored(CALL, { live, deps: {} as SessionDeps }).then(() => {
    judged = true
  })
  const isJudged = () => new Promise<boolean>(resolve => setImmediate(() => resolve(judged)))
  return { live, isJudged }
}
