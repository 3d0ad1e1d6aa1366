import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnswerAsk, OpenAsk } from '../../src/domain/api.ts'
import { AttachedTerminals } from '../../src/human/terminals.ts'

const permission: OpenAsk = {
  kind: 'permission',
  ask_id: 'a-1',
  tool: 'Bash',
  target: 'ls',
  risk: 'MEDIUM',
  reason: '',
}
const question: OpenAsk = {
  kind: 'question',
  ask_id: 'q-1',
  questions: [
    { question: 'Which?', header: '', multiSelect: false, options: [] },
    { question: 'How many?', header: '', multiSelect: true, options: [] },
  ],
}
const yes: AnswerAsk = { ask_id: 'a-1', verdict: 'allow', by: 'human' }
const never = new AbortController().signal

test('an ask without anybody attached comes back at once', async () => {
  const terminals = new AttachedTerminals()
  assert.deepEqual(await terminals.ask('s', permission, { signal: never }), { unanswered: 'nobody' })
  const leave = terminals.attach('other')
  assert.deepEqual(await terminals.ask('s', permission, { signal: never }), { unanswered: 'nobody' })
  leave()
})

test('an ask is open until its first answer; the second one is refused', async () => {
  const terminals = new AttachedTerminals()
  terminals.attach('s')
  const reply = terminals.ask('s', permission, { signal: never })
  assert.deepEqual(terminals.open('s'), [permission])
  terminals.answer('s', yes)
  assert.deepEqual(await reply, { answered: yes })
  assert.deepEqual(terminals.open('s'), [])
  assert.throws(() => terminals.answer('s', yes), { code: 'ask_unknown' })
  assert.throws(() => terminals.answer('t', yes), { code: 'ask_unknown' })
})

test('asks wait while one of several people stays, and come back as nobody when the last leaves', async () => {
  const terminals = new AttachedTerminals()
  const first = terminals.attach('s')
  const second = terminals.attach('s')
  const replies = [terminals.ask('s', permission, { signal: never }), terminals.ask('s', question, { signal: never })]
  first()
  first()
  assert.equal(terminals.open('s').length, 2)
  second()
  assert.deepEqual(await Promise.all(replies), [{ unanswered: 'nobody' }, { unanswered: 'nobody' }])
  assert.equal(terminals.isAttached('s'), false)
})

test('who is expected counts until they come, and not on when they have left again', async () => {
  const terminals = new AttachedTerminals()
  terminals.expect('s')
  assert.equal(terminals.isAttached('s'), true)
  const leave = terminals.attach('s')
  const reply = terminals.ask('s', permission, { signal: never })
  leave()
  assert.deepEqual(await reply, { unanswered: 'nobody' })
  assert.equal(terminals.isAttached('s'), false)
})

test('a withdrawn ask is no longer open', async () => {
  const terminals = new AttachedTerminals()
  terminals.attach('s')
  const stop = new AbortController()
  const reply = terminals.ask('s', permission, { signal: stop.signal })
  stop.abort()
  assert.deepEqual(await reply, { unanswered: 'withdrawn' })
  assert.deepEqual(await terminals.ask('s', permission, { signal: stop.signal }), { unanswered: 'withdrawn' })
  assert.deepEqual(terminals.open('s'), [])
})

test('a terminal that stays silent for too long has nobody before it', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const terminals = new AttachedTerminals({ patienceMs: 1000 })
  terminals.attach('s')
  const reply = terminals.ask('s', permission, { signal: never })
  t.mock.timers.tick(1000)
  assert.deepEqual(await reply, { unanswered: 'nobody' })
})

test('an ask that nobody answers comes back after the grace, which begins anew with every key, answer and arrival', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const terminals = new AttachedTerminals()
  terminals.attach('s')
  let told: unknown
  const wait = { signal: never, graceMs: 1000 }
  void terminals.ask('s', question, wait).then(reply => {
    told = reply
  })
  const first = terminals.ask('s', permission, wait)
  const passes = async (ms: number) => {
    t.mock.timers.tick(ms)
    await Promise.resolve()
    await Promise.resolve()
  }
  for (const sign of [
    () => terminals.stir('s'),
    () => terminals.attach('s'),
    () => terminals.answer('s', yes),
    () => terminals.stir('another'),
  ]) {
    await passes(900)
    assert.equal(told, undefined, String(sign))
    sign()
  }
  assert.deepEqual(await first, { answered: yes })
  await passes(100)
  assert.deepEqual(told, { unanswered: 'silence' })
  assert.deepEqual(terminals.open('s'), [])
})

test('what cannot wait elsewhere stays open after the grace, and that is told once', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const terminals = new AttachedTerminals({ patienceMs: 10_000 })
  terminals.attach('s')
  let heard = 0
  const unheard = () => {
    heard += 1
  }
  const reply = terminals.ask('s', permission, { signal: never, graceMs: 1000, unheard })
  t.mock.timers.tick(1000)
  terminals.stir('s')
  t.mock.timers.tick(9000)
  assert.deepEqual([heard, terminals.open('s').length], [1, 1])
  t.mock.timers.tick(1000)
  assert.deepEqual(await reply, { unanswered: 'nobody' })
})

test('an answer that does not fit leaves the ask open and says what is missing', async () => {
  const terminals = new AttachedTerminals()
  terminals.attach('s')
  const asked = [terminals.ask('s', permission, { signal: never }), terminals.ask('s', question, { signal: never })]
  const answers = { 'Which?': 'red' }
  assert.throws(() => terminals.answer('s', { ask_id: 'a-1', answers, by: 'human' }), /allow or deny/)
  assert.throws(() => terminals.answer('s', { ask_id: 'q-1', verdict: 'allow', by: 'human' }), /answer for each part/)
  assert.throws(() => terminals.answer('s', { ask_id: 'q-1', answers, by: 'human' }), /How many\?/)
  assert.throws(
    () => terminals.answer('s', { ask_id: 'q-1', answers: { ...answers, 'How many?': [] }, by: 'human' }),
    /How many\?/,
  )
  assert.equal(terminals.open('s').length, 2)
  const declined: AnswerAsk = { ask_id: 'q-1', verdict: 'deny', reason: 'later', by: 'human' }
  terminals.answer('s', declined)
  terminals.answer('s', yes)
  assert.deepEqual(await Promise.all(asked), [{ answered: yes }, { answered: declined }])
})
