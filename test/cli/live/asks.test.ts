import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AskDesk, openAsks } from '../../../src/cli/live/asks.ts'
import type { Moment, Reply } from '../../../src/cli/live/person.ts'
import type { OpenAsk } from '../../../src/domain/api.ts'
import { decided } from '../render/sample.ts'

const permission = (id: string): OpenAsk => ({
  kind: 'permission',
  ask_id: id,
  tool: 'Bash',
  target: `touch ${id}`,
  risk: 'MEDIUM',
  reason: 'r',
})

function put(desk: AskDesk, id: string): void {
  desk.put({ ask: permission(id), callId: `call-${id}`, lines: [`wanted ${id}`] })
}

/** A desk whose person answers when the test says so. */
function deskOf() {
  const asked: { id: string; moment: Moment; answer(reply: Reply | undefined): void }[] = []
  const pinned: (string[] | undefined)[] = []
  const posted: [string, Reply][] = []
  const desk = openAsks({
    person: {
      answer: (ask, moment) =>
        new Promise(answer => {
          asked.push({ id: ask.ask_id, moment, answer })
          moment.signal.addEventListener('abort', () => answer(undefined))
        }),
    },
    pin: lines => pinned.push(lines),
    post: async (id, reply) => void posted.push([id, reply]),
    tell: error => assert.fail(String(error)),
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
  desk.see(decided({ call_id: 'call-b' }), [])
  assert.deepEqual(pinned.at(-1), ['wanted a'])
  put(desk, 'c')
  desk.see(decided({ call_id: 'call-a' }), [])
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
  asked[0]?.moment.echo('(1 of 2) > blue')
  assert.deepEqual(pinned.at(-1), ['wanted a', '(1 of 2) > blue'])
  await desk[Symbol.asyncDispose]()
})
