import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Talk, until } from '../conformance/world.ts'
import { stage } from './stage.ts'

// Another session closes the account's gate while this one begins: from that moment on its agent must not call the model.

/** All events of a session, up to its end. */
async function kindsOf(talk: Talk): Promise<string[]> {
  await talk.until('ended')
  return talk.seen.map(event => (event.kind === 'turn_ended' ? `${event.kind}: ${event.outcome}` : event.kind))
}

/** Text is emitted complete, together with the next event. */
const PLAN = { sessionUpdate: 'plan', entries: [{ content: 'x', status: 'pending', priority: 'low' }] }

const methods = (heard: { method?: string }[]) => heard.map(({ method }) => method)

test('a session that may not begin starts no agent', async t => {
  const { talk, heard } = await stage(t, {}, { open: { mayBegin: () => false } })
  assert.deepEqual(await kindsOf(talk), ['ended'])
  assert.deepEqual(heard(), [])
})

test('an agent whose session may not begin any more by the time it is ready hears no prompt', async t => {
  let looks = 0
  const { session, heard, talk } = await stage(t, {}, { open: { mayBegin: () => ++looks === 1 } })
  await until(() => looks === 2)
  await session[Symbol.asyncDispose]()
  assert.deepEqual(await kindsOf(talk), ['started', 'ended'])
  assert.equal(methods(heard()).includes('session/prompt'), false)
})

test('an agent that is withheld while it introduces itself hears no prompt, and is gone', async t => {
  const { session, heard, talk } = await stage(t, { initialize: [{ hang: true }] })
  await until(() => heard().length > 0)
  await session.withhold?.()
  assert.deepEqual(await kindsOf(talk), ['ended'])
  assert.deepEqual(methods(heard()), ['initialize'])
  assert.equal(session.hasSurvivors, false)
})

test('an agent whose model has not answered yet is ended on the spot, and no end of a turn is told', async t => {
  const { session, heard, talk } = await stage(t, { prompt: [{ hang: true }] })
  await until(() => methods(heard()).includes('session/prompt'))
  await session.withhold?.()
  assert.deepEqual(await kindsOf(talk), ['started', 'ended'])
  assert.equal(methods(heard()).includes('session/cancel'), false)
})

test('an agent at work that is withheld stops as by a pause, and can go on', async t => {
  const { session, heard, talk } = await stage(t, {
    prompt: [{ say: 'I begin.' }, { update: PLAN }, { awaitCancel: true }, { answer: { stopReason: 'cancelled' } }],
    later: [{ say: 'On.' }, { answer: { stopReason: 'end_turn' } }],
  })
  await talk.until('text')
  await session.withhold?.()
  assert.equal((await talk.turn()).outcome, 'paused')
  assert.ok(methods(heard()).includes('session/cancel'))
  await session.prompt('go on')
  assert.equal((await talk.turn()).outcome, 'completed')
})
