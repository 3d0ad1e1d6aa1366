import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBook, fiveHours, HOUR, MINUTE, NOW, used } from './a-quota-book.ts'

test('the newest word of the vendor counts, each window for itself', async t => {
  const { book, clock } = await aBook(t)
  await book.seen('a', [fiveHours(0.4), fiveHours(0.2, { window: 'seven_day' })])
  clock.at += MINUTE
  await book.seen('a', [fiveHours(0.6, { at: clock.at })])
  await book.seen('a', [fiveHours(0.1, { at: NOW })]) // an older report that arrives late
  const { windows, level } = await book.of('a')
  assert.deepEqual(
    windows.map(({ window, utilization }) => [window, utilization]),
    [
      ['five_hour', 0.6],
      ['seven_day', 0.2],
    ],
  )
  assert.equal(level, 'notice')
})

test('accounts do not mix', async t => {
  const { book } = await aBook(t)
  await book.seen('a', [fiveHours(0.95)])
  await book.seen('b', [fiveHours(0.1)])
  assert.equal((await book.of('a')).level, 'critical')
  assert.equal((await book.of('b')).level, 'ok')
  assert.equal((await book.of('c')).level, 'unknown')
})

test('once the reset has come the vendor’s word is past, and nothing is held back by it', async t => {
  const { book, clock } = await aBook(t)
  await book.seen('a', [fiveHours(0.99)])
  assert.equal((await book.of('a')).eases_at, NOW + 5 * HOUR)
  clock.at = NOW + 5 * HOUR
  const { level, past, eases_at } = await book.of('a')
  assert.deepEqual([level, past.map(({ window }) => window), eases_at], ['unknown', ['five_hour'], null])
})

test('what was seen in a transaction that failed was not seen', async t => {
  const { book, store } = await aBook(t)
  await assert.rejects(
    store.transaction(async tx => {
      await book.seen('a', [fiveHours(0.99)], tx)
      throw new Error('no')
    }),
  )
  assert.equal((await book.of('a')).level, 'unknown')
})

test('a scripted series of the vendor’s words is forecast within a tenth', async t => {
  const { book, clock } = await aBook(t)
  for (let minute = 0; minute <= 60; minute++) {
    clock.at = NOW + minute * MINUTE
    await book.seen('a', [fiveHours(Math.round((0.2 + minute * 0.005) * 100) / 100, { at: clock.at })])
  }
  const [window] = (await book.of('a')).windows
  const full = NOW + 160 * MINUTE
  const off = Math.abs((window?.forecast?.full_at ?? 0) - full) / (full - clock.at)
  assert.ok(off < 0.1, `off by ${off}`)
})

test('without the vendor’s word our own count of the last hour is shown, and why', async t => {
  const world = await aBook(t)
  await used(world, { id: 's-1', account: 'a' }, [
    [70, { input_tokens: 40_000 }],
    [30, { input_tokens: 50_000, output_tokens: 10_000, cache_read_tokens: 900_000 }],
    [10, { input_tokens: 60_000, output_tokens: 15_000, cache_write_tokens: 5_000 }],
  ])
  await used(world, { id: 's-2', account: 'a' }, [[5, { output_tokens: 20_000 }]])
  await used(world, { id: 's-3', account: 'b' }, [[5, { output_tokens: 70_000 }]])
  const { windows, level, warns, notes } = await world.book.of('a')
  assert.deepEqual(
    windows.map(({ window, utilization, source }) => [window, utilization, source]),
    [['hour', 0.6, 'estimate']],
  )
  assert.deepEqual([level, warns], ['unknown', 'notice'])
  assert.deepEqual(notes, ['ccusage is not asked: quota.token_limit is not set'])
})

test('our own count is a second old at most', async t => {
  const world = await aBook(t)
  await used(world, { id: 's-1', account: 'a' }, [[30, { input_tokens: 10_000 }]])
  const now = async () => (await world.book.of('a')).windows[0]?.utilization
  assert.equal(await now(), 0.1)
  await used(world, { id: 's-1', account: 'a' }, [[20, { input_tokens: 30_000 }]])
  world.clock.at += 1_000
  assert.equal(await now(), 0.3)
})

test('an agent that was opened anew counts from zero', async t => {
  const world = await aBook(t)
  await used(world, { id: 's-1', account: 'a' }, [
    [40, { input_tokens: 10_000, cache_write_tokens: 30_000 }],
    [20, { input_tokens: 20_000, cache_write_tokens: 5_000 }],
  ])
  assert.equal((await world.book.of('a')).windows[0]?.utilization, 0.55)
})

test('a session with many reports is read as far back as it must be and no further', async t => {
  const world = await aBook(t)
  const reports = Array.from({ length: 900 }, (_, index) => {
    const minutesAgo = 90 - index / 10
    return [minutesAgo, { output_tokens: (index + 1) * 10 }] as [number, { output_tokens: number }]
  })
  await used(world, { id: 's-1', account: 'a' }, reports)
  const [window] = await world.book.windows('a')
  assert.ok(Math.abs((window?.utilization ?? 0) - 0.06) < 0.0002, `${window?.utilization}`)
})

test('an account is listed by its label as soon as a session has begun, and no secret is kept', async t => {
  const { book, store } = await aBook(t)
  await book.rememberAgent('a1', { agent: 'claude', env: { ANTHROPIC_API_KEY: 'hush', HOME: '/h', PATH: '/bin' } })
  await book.seen('zz', [fiveHours(0.1)])
  assert.deepEqual(
    (await book.list()).map(({ account, label }) => [account, label]),
    [
      ['a1', 'claude · api.anthropic.com · API key'],
      ['zz', 'zz'],
    ],
  )
  assert.equal(JSON.stringify(await store.quota.accounts()).includes('hush'), false)
  await book.rememberAgent('a1', { agent: 'claude', env: { CLAUDE_CODE_OAUTH_TOKEN: 'x', HOME: '/other' } })
  assert.deepEqual((await store.quota.accounts())[0]?.place, { HOME: '/other' })
})
