import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import type { ReadStream } from 'node:tty'
import { RemoteError } from '../../../src/cli/errors.ts'
import {
  type AskContext,
  type AskQueue,
  type AskReply,
  openAskQueue,
  permissionPrompt,
} from '../../../src/cli/live/asks.ts'
import { openKeyboard, openScreen } from '../../../src/cli/live/terminal.ts'
import { terminalPerson } from '../../../src/cli/live/terminal-person.ts'
import { permissionLines } from '../../../src/cli/render/ask-lines.ts'
import type { OpenAsk } from '../../../src/domain/api.ts'
import type { EventBody } from '../../../src/domain/event.ts'
import { decided, event, plain } from '../render/sample.ts'

const permission = (id: string): OpenAsk => ({
  kind: 'permission',
  ask_id: id,
  tool: 'Bash',
  target: `touch ${id}`,
  risk: 'MEDIUM',
  reason: 'r',
})

function put(queue: AskQueue, id: string): void {
  queue.put({ ask: permission(id), callId: `call-${id}`, lines: [`wanted ${id}`] })
}

/** A queue whose person answers when the test says so. */
function openTestQueue() {
  const asked: { id: string; context: AskContext; answer(reply: AskReply | undefined): void }[] = []
  const pinned: (string[] | undefined)[] = []
  const posted: [string, AskReply][] = []
  const queue = openAskQueue({
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
  return { queue, asked, pinned, posted }
}

const settled = () => new Promise(resolve => setImmediate(resolve))

test('one ask is shown at a time, the others are counted, and an answer goes to the one that is shown', async () => {
  const { queue, asked, pinned, posted } = openTestQueue()
  put(queue, 'a')
  put(queue, 'b')
  put(queue, 'c')
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
  await queue[Symbol.asyncDispose]()
  assert.equal(pinned.at(-1), undefined)
})

test('an ask that is settled elsewhere is released at once, and is never shown if its turn has not come', async () => {
  const { queue, asked, pinned, posted } = openTestQueue()
  put(queue, 'a')
  put(queue, 'b')
  queue.apply(decided({ call_id: 'call-b' }), [])
  assert.deepEqual(pinned.at(-1), ['wanted a'])
  put(queue, 'c')
  queue.apply(decided({ call_id: 'call-a' }), [])
  assert.equal(pinned.at(-1), undefined, 'before anything else is printed')
  await settled()
  assert.deepEqual(
    asked.map(({ id }) => id),
    ['a', 'c'],
  )
  assert.deepEqual(pinned.at(-1), ['wanted c'])
  assert.deepEqual(posted, [])
  await queue[Symbol.asyncDispose]()
})

test('parts of an answer are shown under the ask', async () => {
  const { queue, asked, pinned } = openTestQueue()
  put(queue, 'a')
  asked[0]?.context.echo('(1 of 2) > blue')
  assert.deepEqual(pinned.at(-1), ['wanted a', '(1 of 2) > blue'])
  await queue[Symbol.asyncDispose]()
})

const parked = (id: string, call = `call-${id}`) =>
  event('permission.parked', {
    ...permission(id),
    ask_id: id,
    call_id: call,
    number: 1,
  } as EventBody<'permission.parked'>)
const ended = (status: EventBody<'session.ended'>['status']) => event('session.ended', { status, reason: '' })

test('an ask that is parked stays on the screen, and the person answers it as before', async () => {
  const { queue, asked, posted } = openTestQueue()
  put(queue, 'a')
  put(queue, 'b')
  queue.apply(parked('a'), [])
  assert.equal(queue.hasParked(), true)
  queue.apply(ended('waiting_input'), [])
  assert.equal(asked[0]?.context.signal.aborted, false)
  asked[0]?.answer({ verdict: 'allow' })
  await settled()
  assert.deepEqual(posted, [['a', { verdict: 'allow' }]])
  assert.deepEqual([queue.hasParked(), asked.length], [false, 1], 'b went with its agent')
  await queue[Symbol.asyncDispose]()
})

test('a parked ask is released when its session is stopped or the call is answered elsewhere', async () => {
  for (const end of [ended('stopped'), decided({ call_id: 'call-a' })]) {
    const { queue, asked } = openTestQueue()
    put(queue, 'a')
    queue.apply(parked('a'), [])
    queue.apply(end, [])
    assert.deepEqual([asked[0]?.context.signal.aborted, queue.hasParked()], [true, false], end.kind)
    await queue[Symbol.asyncDispose]()
  }
})

test('a parked ask is put to the person again when the answer is rejected', async () => {
  const failures: unknown[] = []
  const asked: ((reply: AskReply) => void)[] = []
  const queue = openAskQueue({
    person: { answer: () => new Promise(answer => asked.push(answer)) },
    pin: () => undefined,
    post: async () => {
      throw new RemoteError({ error: { code: 'account_differs', message: 'another login', next: '' } })
    },
    reportFailure: error => failures.push(error),
  })
  put(queue, 'a')
  queue.apply(parked('a'), [])
  asked[0]?.({ verdict: 'allow' })
  await settled()
  assert.deepEqual([failures.length, asked.length, queue.hasParked()], [1, 2, true])
})

test('what is asked for is shown whole; what the log holds only in part cannot be allowed by a key', async () => {
  const ask = permission('a')
  if (ask.kind !== 'permission') return
  const write = { ...ask, tool: 'Write' }
  const content = Array.from({ length: 90 }, (_, line) => `line ${line}`).join('\n')
  assert.ok(permissionLines(write, plain(), { file_path: 'a.ts', content }).some(line => line.includes('line 89')))
  const cut = permissionLines(write, plain(), { content: `${content}\n… (cut: 7 more characters)` })

  const { queue, asked } = openTestQueue()
  put(queue, 'a')
  assert.equal(asked[0]?.context.whole, true)
  asked[0]?.answer({ verdict: 'deny' })
  await settled()
  queue.put({ ask, callId: 'call-b', lines: cut })
  assert.equal(asked[1]?.context.whole, false)
  assert.match(permissionPrompt(ask, 200, true), /\[y\] allow/)
  assert.doesNotMatch(permissionPrompt(ask, 200, false), /\[y\]/)
  asked[1]?.answer(undefined)
})

test('the key that allows does nothing where not all is shown', async () => {
  const stdin = Object.assign(new PassThrough(), { setRawMode: () => stdin }) as unknown as ReadStream
  using keyboard = openKeyboard(stdin, { onInterrupt: () => {}, onEnd: () => {} })
  const screen = openScreen({ write: () => {}, isTTY: true, columns: 120 })
  const person = terminalPerson(keyboard, screen, plain(120))
  const context = { signal: AbortSignal.timeout(60_000), echo: () => {}, whole: false }
  const reply = person.answer(permission('a'), context)
  stdin.push('yn')
  assert.deepEqual(await reply, { verdict: 'deny' })
})
