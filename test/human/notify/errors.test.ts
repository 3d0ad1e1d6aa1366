import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openEscalations } from '../../../src/human/escalations.ts'
import { notifyWorld, receiver } from './notify-harness.ts'

const MESSAGE = 'the vendor does not answer; it was tried 5 times'

test('a session that stands still after failures is told with the number of its decision, once', async t => {
  const world = await notifyWorld(t)
  const ntfy = await receiver(t)
  world.start({ values: { 'notifications.ntfy.server': ntfy.url, 'notifications.ntfy.topic': 'work' } })
  // This is what the supervisor does: the session is paused, and the row asks for a person.
  const number = await openEscalations({ store: world.store, clock: systemClock }).record({
    ...{
      kind: 'error',
      session_id: 's-1',
      project: '/home/ann/shop',
      task: 'Build the API',
      call_id: '',
      state: 'open',
    },
    ...{ tool: 'session', target: MESSAGE, input: {}, risk: 'LOW', reason: MESSAGE, reasons: [], normalised: 'error' },
  })
  const ended = { status: 'paused', reason: MESSAGE } as const
  await world.append({ actor: 'daemon', subject: 's-1', kind: 'session.ended', body: ended })
  const { title, message } = (await ntfy.nth(1)).body
  assert.equal(title, `Failed (decision ${number}) · api-work in shop`)
  assert.match(message, /^the vendor does not answer; it was tried 5 times\n/)
  assert.match(message, new RegExp(`pcc respond ${number} --approve`))
})

test('a session that a person paused is nothing to tell', async t => {
  const world = await notifyWorld(t)
  const ntfy = await receiver(t)
  world.start({ values: { 'notifications.ntfy.server': ntfy.url, 'notifications.ntfy.topic': 'work' } })
  const of = { actor: 'human', subject: 's-1', kind: 'session.ended' } as const
  await world.append({ ...of, body: { status: 'paused', reason: 'paused by a person' } })
  await world.append({ ...of, body: { status: 'completed', reason: '' } })
  assert.match((await ntfy.nth(1)).body.title, /completed$/)
  assert.equal(ntfy.got.length, 1)
})
