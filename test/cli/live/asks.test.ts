import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RemoteError } from '../../../src/cli/errors.ts'
import { type AskContext, type AskQueue, type AskReply, openAskQueue } from '../../../src/cli/live/asks.ts'
import type { OpenAsk } from '../../../src/domain/api.ts'
import type { EventBody } from '../../../src/domain/event.ts'
import { decided, event } from '../render/sample.ts'

const permission = (id: string): OpenAsk => ({
  kind: 'permission',
  ask_id: id,
  tool: 'Bash',
  target: `touch ${id}`,
  risk: 'MEDIUM',
  reason: 'r',
})

function put(desk: AskQueue, id: string): void {
  desk.put({ ask: permission(id), callId: `call-${id}`, lines: [`wanted ${id}`] })
}

/** A desk whose person answers when the test says so. */
function deskOf() {
  const asked: { id: string; context: AskContext; answer(reply: AskReply | undefined): void }[] = []
  const pinned: (string[] | undefined)[] = []
  const posted: [string, AskReply][] = []
  const desk = openAskQueue({
    person: {
      answer: (ask, context) =>
        new Promise(answer => {
          asked.push({ id: ask.ask_id, context, answer })
          context.signal.addEventListener('abort', () => answer(undefined))
        }),
    },
    pin: lines => pinned.push(lines),
    post: async (id, reply) => void posted.push([id, reply]),
    reportFailure: error => assert.fail(String(error)),
  })
  return { desk, asked, pinned, posted }
}

const settled = () => new Promise(resolve => setImmediate(resolve))

test('one ask is shown at a time, the others are counted, and an answer goes to the one that is shown', async () => {
  const { desk, asked, pinned, posted } = deskOf()
  put(desk, 'a')
  put(desk, 'b')
  put(desk, 'c')
  assert.deepEqual(
    asked.map(({ id }) => id),
    ['a'],
  )
  assert.deepEqual(pinned.at(-1), ['wanted a', '           (2 more wait: Bash → touch b, …)'])
  asked[0]?.answer({ verdict: 'deny' })
  await settled()
  assert.deepEqual(pinned.at(-1), ['wanted b', '           (1 more waits: Bash → touch c)'])
  asked[1]?.answer({ verdict: 'allow' })
  await settled()
  assert.deepEqual(pinned.at(-1), ['wanted c'])
  assert.deepEqual(posted, [
    ['a', { verdict: 'deny' }],
    ['b', { verdict: 'allow' }],
  ])
  await desk[Symbol.asyncDispose]()
  assert.equal(pinned.at(-1), undefined)
})

test('what somebody else settles is let go at once, and one that still waits is never shown', async () => {
  const { desk, asked, pinned, posted } = deskOf()
  put(desk, 'a')
  put(desk, 'b')
  desk.apply(decided({ call_id: 'call-b' }), [])
  assert.deepEqual(pinned.at(-1), ['wanted a'])
  put(desk, 'c')
  desk.apply(decided({ call_id: 'call-a' }), [])
  assert.equal(pinned.at(-1), undefined, 'before anything else is printed')
  await settled()
  assert.deepEqual(
    asked.map(({ id }) => id),
    ['a', 'c'],
  )
  assert.deepEqual(pinned.at(-1), ['wanted c'])
  assert.deepEqual(posted, [])
  await desk[Symbol.asyncDispose]()
})

test('parts of an answer are shown under what is asked', async () => {
  const { desk, asked, pinned } = deskOf()
  put(desk, 'a')
  asked[0]?.context.echo('(1 of 2) > blue')
  assert.deepEqual(pinned.at(-1), ['wanted a', '(1 of 2) > blue'])
  await desk[Symbol.asyncDispose]()
})

const parked = (id: string, call = `call-${id}`) =>
  event('permission.parked', {
    ...permission(id),
    ask_id: id,
    call_id: call,
    number: 1,
  } as EventBody<'permission.parked'>)
const ended = (status: EventBody<'session.ended'>['status']) => event('session.ended', { status, reason: '' })

test('what nobody answered in time stays before the person, who answers it as before', async () => {
  const { desk, asked, posted } = deskOf()
  put(desk, 'a')
  put(desk, 'b')
  desk.apply(parked('a'), [])
  assert.equal(desk.hasParked(), true)
  desk.apply(ended('waiting_input'), [])
  assert.equal(asked[0]?.context.signal.aborted, false)
  asked[0]?.answer({ verdict: 'allow' })
  await settled()
  assert.deepEqual(posted, [['a', { verdict: 'allow' }]])
  assert.deepEqual([desk.hasParked(), asked.length], [false, 1], 'b went with its agent')
  await desk[Symbol.asyncDispose]()
})

test('what waits without an agent is let go when its session is stopped or the call is answered elsewhere', async () => {
  for (const over of [ended('stopped'), decided({ call_id: 'call-a' })]) {
    const { desk, asked } = deskOf()
    put(desk, 'a')
    desk.apply(parked('a'), [])
    desk.apply(over, [])
    assert.deepEqual([asked[0]?.context.signal.aborted, desk.hasParked()], [true, false], over.kind)
    await desk[Symbol.asyncDispose]()
  }
})

test('an answer that is not taken is asked for again where the session waits without an agent', async () => {
  const told: unknown[] = []
  const asked: ((reply: AskReply) => void)[] = []
  const desk = openAskQueue({
    person: { answer: () => new Promise(answer => asked.push(answer)) },
    pin: () => undefined,
    post: async () => {
      throw new RemoteError({ error: { code: 'account_differs', message: 'another login', next: '' } })
    },
    reportFailure: error => told.push(error),
  })
  put(desk, 'a')
  desk.apply(parked('a'), [])
  asked[0]?.({ verdict: 'allow' })
  await settled()
  assert.deepEqual([told.length, asked.length, desk.hasParked()], [1, 2, true])
})
