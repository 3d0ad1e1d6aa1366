import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deliver } from '../../../src/human/notify/deliver.ts'
import type { SendResult } from '../../../src/human/notify/notice.ts'
import { deliverSteps } from './deliver-steps.ts'
import { notifyWorld, receiver, settingsWith } from './notify-harness.ts'

const DAY_MS = 24 * 60 * 60_000
const FAILED: SendResult = { ok: false, problem: '503' }

test('each failure waits twice as long, as the server asks at least, and after days what is no decision is given up', async t => {
  const { store } = await notifyWorld(t)
  let now = 1_000_000
  let reply: SendResult = FAILED
  let wake = () => {}
  const tried = { at: [] as number[] }
  const body = JSON.stringify({ kind: 'complete', key: 'k', title: 'Done', text: '' })
  const row = { channel: 'ntfy', kind: 'complete', dedup_key: 'k', body, next_at: now, created_at: now }
  assert.equal(await store.transaction(tx => store.outbox.add(row, tx)), true)
  assert.equal(await store.transaction(tx => store.outbox.add(row, tx)), false, 'the same is told once')
  const leave = new AbortController()
  const running = deliver({
    channel: {
      name: 'ntfy',
      send: async () => {
        tried.at.push(now)
        return reply
      },
    },
    store,
    settings: async () => settingsWith({}),
    news: signal =>
      new Promise(resolve => {
        wake = resolve
        signal.addEventListener('abort', () => resolve(), { once: true })
      }),
    clock: { now: () => now },
    signal: leave.signal,
    times: { gatherMs: 1 },
  })
  t.after(async () => {
    leave.abort()
    await running
  })
  const nextTry = async (): Promise<number | undefined> => {
    while ((await store.outbox.due('ntfy', now)).length > 0) await new Promise(resolve => setTimeout(resolve, 2))
    const next = await store.outbox.nextAt('ntfy')
    return next === undefined ? undefined : next - now
  }
  const move = (to: number) => {
    now = to
    wake()
  }
  const waits: (number | undefined)[] = []
  for (let n = 0; n < 10; n++) {
    const wait = await nextTry()
    waits.push(wait)
    if (n === 2) reply = { ok: false, problem: '429', retryAfterMs: 3_600_000 }
    if (n === 3) reply = FAILED
    move(now + (wait ?? 0))
  }
  assert.deepEqual(waits.slice(0, 4), [5_000, 10_000, 20_000, 3_600_000])
  assert.deepEqual(waits.slice(-2), [900_000, 900_000], 'never rarer than every quarter of an hour')
  await nextTry()
  move(now + 4 * DAY_MS)
  assert.equal(await nextTry(), undefined)
  assert.equal(tried.at.length, 12)
})

test('a decision that waits is never given up: after days of failures it is told, and so is its reminder', async t => {
  const steps = await deliverSteps(t, { 'notifications.remind_minutes': 30, 'notifications.reminders': 1 })
  await steps.sent()
  steps.reply(() => FAILED)
  await steps.ask('The second?')
  await steps.sent()
  await steps.move(4 * DAY_MS)
  assert.equal((await steps.sent()).length, 1, 'only the first has arrived')
  steps.reply(() => ({ ok: true }))
  await steps.move(15 * 60_000)
  const texts = (await steps.sent()).map(({ title, text }) => `${title.split(':')[0]} · ${text.split('\n')[0]}`)
  assert.deepEqual(texts.slice(1), [
    'Still waiting · The first?',
    'Question (decision 2) · api-work in shop · The second?',
  ])
})

test('one that was told is reminded of in its time, although another one of the same moment could not be told', async t => {
  const steps = await deliverSteps(t, { 'notifications.remind_minutes': 30, 'notifications.reminders': 1 })
  await steps.sent()
  await steps.answer(1)
  let isDown = true
  steps.reply(({ text }) => (isDown && text.startsWith('The third?') ? FAILED : { ok: true }))
  await steps.ask('The second?', 'The third?')
  const texts = async () => (await steps.sent()).slice(1).map(({ text }) => text.split('\n')[0])
  assert.deepEqual(await texts(), ['The second?'])
  isDown = false
  await steps.move(5_000)
  assert.deepEqual(await texts(), ['The second?', 'The third?'])
  await steps.move(30 * 60_000)
  assert.deepEqual((await texts()).slice(2), ['The second?', 'The third?'], 'and what was answered is not reminded of')
})

test('what happened more than a day ago is no news any more, except a decision that still waits', async t => {
  const world = await notifyWorld(t)
  const { store } = world
  const of = { actor: 'daemon', subject: 's-1' }
  await world.append({ ...of, kind: 'session.ended', body: { status: 'completed', reason: '' } })
  await world.park()
  // An answer always moves the cursor: when it has moved, all earlier events have been handled.
  const body = { number: 99, tool: 'Ask', target: 'x', risk: 'LOW', by: 'ann', remembered: false } as const
  const [last] = await store.append([{ ...of, kind: 'escalation.answered', body }])
  const values = { 'notifications.ntfy.topic': 'pcc', 'notifications.ntfy.server': 'http://127.0.0.1:9' }
  world.start({ values, clock: { now: () => Date.now() + 2 * DAY_MS }, times: { gatherMs: 600_000 } })
  while ((await store.outbox.cursor('notifications')) !== last?.id) await new Promise(setImmediate)
  const waiting = await store.outbox.due('ntfy', Number.MAX_SAFE_INTEGER)
  assert.deepEqual(
    waiting.map(({ dedup_key }) => dedup_key),
    ['decision:1'],
  )
})

test('a clock that is set back makes nobody wait for it: what was due is due, and what was put off waits as long as before', async t => {
  const { store } = await notifyWorld(t)
  const [before, after] = [10 * DAY_MS, 9 * DAY_MS]
  const body = JSON.stringify({ kind: 'complete', key: 'k', title: 'Done', text: '' })
  const row = (key: string, next_at: number) => {
    return { channel: 'ntfy', kind: 'complete', dedup_key: key, body, next_at, created_at: before }
  }
  await store.transaction(async tx => {
    await store.outbox.add(row('due', before), tx)
    await store.outbox.add(row('later', before + 5_000), tx)
  })
  await store.outbox.setBack('ntfy', after)
  const times = async () =>
    (await store.outbox.due('ntfy', Infinity)).map(({ dedup_key, next_at }) => [dedup_key, next_at])
  const expected = [
    ['due', after],
    ['later', after + 5_000],
  ]
  assert.deepEqual(await times(), expected)
  await store.outbox.setBack('ntfy', after + 1_000)
  assert.deepEqual(await times(), expected, 'a clock that goes on moves nothing')

  const leave = new AbortController()
  const said = Promise.withResolvers<void>()
  await store.transaction(tx => store.outbox.add(row('told', before), tx))
  const running = deliver({
    channel: {
      name: 'ntfy',
      send: async () => {
        said.resolve()
        return { ok: true }
      },
    },
    store,
    settings: async () => settingsWith({}),
    news: signal => new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true })),
    clock: { now: () => after - 1_000 },
    signal: leave.signal,
    times: { gatherMs: 1 },
  })
  await said.promise
  leave.abort()
  await running
})

test('what happened between two daemons is told by the second, although the first had nothing to tell yet', async t => {
  const world = await notifyWorld(t)
  const ntfy = await receiver(t)
  const values = { 'notifications.ntfy.topic': 'pcc', 'notifications.ntfy.server': ntfy.url }
  const { stop } = world.start({ values })
  while ((await world.store.outbox.cursor('notifications')) === undefined) await new Promise(setImmediate)
  await stop()
  const ended = { status: 'completed', reason: '' } as const
  await world.append({ actor: 'daemon', subject: 's-1', kind: 'session.ended', body: ended })
  const [last] = await world.store.events({ tail: 1 })
  world.start({ values, since: last?.id ?? 0 })
  assert.match((await ntfy.nth(1)).body.title, /completed/)
})
