import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { EventPageCache, EventSignal, followEvents } from '../../src/store/events.ts'
import { migrate } from '../../src/store/migrate.ts'
import { MIGRATIONS } from '../../src/store/migrations.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import { SCHEMA } from '../../src/store/sqlite-file.ts'
import { tempDir } from '../support/world.ts'
import { DATABASES, note, takeUntil, textOf, upTo } from './databases.ts'

/** Longer than any test, so events arrive by the signal and not by polling. */
const NEVER = 1_000_000

for (const { name, open } of DATABASES) {
  test(`${name}: a follower gets past events, then new ones, in order and once`, async t => {
    const store = await open(t, { pollMs: NEVER })
    await store.append(upTo(1234).map(number => note(`${number}`)))
    const seen: number[] = []
    for await (const event of store.follow(0)) {
      seen.push(event.id)
      if (event.id === 1234) void store.append([note('live')])
      if (event.id === 1235) void store.transaction(tx => tx.append([note('in a transaction')]))
      if (event.id === 1236) break
    }
    assert.deepEqual(seen, upTo(1236))
  })

  test(`${name}: a follower starts after the id it names, even one that does not exist yet`, async t => {
    const store = await open(t, { pollMs: NEVER })
    await store.append([note('1'), note('2'), note('3')])
    const later = takeUntil(store.follow(4), 'end')
    assert.deepEqual((await takeUntil(store.follow(1), '3')).map(textOf), ['2', '3'])
    await store.append([note('4'), note('5'), note('end')])
    assert.deepEqual((await later).map(textOf), ['5', 'end'])
  })

  test(`${name}: a follower of one subject gets no events of others`, async t => {
    const store = await open(t, { pollMs: NEVER })
    const taken = takeUntil(store.follow(0, { subject: 'a' }), 'end')
    for (let round = 0; round < 5; round++) await store.append([note(`${round}`, 'a'), note('other', 'b')])
    await store.append([note('end', 'b'), note('end', 'a')])
    assert.deepEqual((await taken).map(textOf), ['0', '1', '2', '3', '4', 'end'])
  })

  test(`${name}: events of a rolled-back transaction are never seen`, async t => {
    const store = await open(t, { pollMs: NEVER })
    const taken = takeUntil(store.follow(0), 'end')
    for (let round = 0; round < 20; round++) {
      await assert.rejects(
        store.transaction(async tx => {
          await tx.append([note('undone')])
          throw new Error('undo')
        }),
      )
      await store.append([note('kept')])
    }
    await store.append([note('end')])
    assert.deepEqual((await taken).map(textOf), [...upTo(20).map(() => 'kept'), 'end'])
  })

  test(`${name}: many followers at different speeds see the same`, async t => {
    const store = await open(t, { pollMs: NEVER })
    const followers = upTo(8).map(async speed => {
      const seen: number[] = []
      for await (const event of store.follow(0)) {
        seen.push(event.id)
        if (event.id % speed === 0) await new Promise(resolve => setImmediate(resolve))
        if (event.id === 300) break
      }
      return seen
    })
    for (const number of upTo(100)) await store.append([note(`${number}`), note('b'), note('c')])
    for (const seen of await Promise.all(followers)) assert.deepEqual(seen, upTo(300))
  })

  test(`${name}: the signal ends a follower that waits, one that reads, and one that has not begun`, async t => {
    const store = await open(t, { pollMs: NEVER })
    await store.append([note('1'), note('2'), note('3')])
    const seen: string[] = []
    for await (const event of store.follow(0, { signal: AbortSignal.abort() })) seen.push(textOf(event))
    assert.equal(seen.length, 0, 'has not begun')

    const reads = new AbortController()
    for await (const event of store.follow(0, { signal: reads.signal })) {
      seen.push(textOf(event))
      reads.abort()
    }
    assert.deepEqual(seen, ['1'], 'reads')

    const waits = new AbortController()
    const waiting = store.follow(3, { signal: waits.signal })[Symbol.asyncIterator]().next()
    setImmediate(() => waits.abort())
    assert.equal((await waiting).done, true, 'waits')
  })

  test(`${name}: many waits leave no listeners on the signal`, async t => {
    const store = await open(t, { pollMs: NEVER })
    const { signal } = new AbortController()
    const taken = takeUntil(store.follow(0, { signal }), 'end')
    for (const number of upTo(50)) await store.append([note(`${number}`)])
    assert.ok(getEventListeners(signal, 'abort').length <= 1)
    await store.append([note('end')])
    assert.equal((await taken).length, 51)
    assert.deepEqual(getEventListeners(signal, 'abort'), [])
  })

  test(`${name}: closing the store at any moment of a follower's read ends it without an error`, async t => {
    for (const steps of upTo(15)) {
      const store = await open(t, { pollMs: NEVER })
      const next = store.follow(0)[Symbol.asyncIterator]().next()
      for (const _ of upTo(steps)) await null
      await store.close()
      assert.deepEqual(await next, { value: undefined, done: true }, `after ${steps} steps`)
    }
  })

  test(`${name}: closing the store ends its followers without an error`, async t => {
    const store = await open(t, { pollMs: NEVER })
    await store.append([note('1')])
    const waiting = store.follow(1)[Symbol.asyncIterator]().next()
    const reading = store.follow(0)[Symbol.asyncIterator]()
    const first = await reading.next()
    assert.equal(first.value?.id, 1)
    await store.close()
    assert.deepEqual(await waiting, { value: undefined, done: true })
    assert.deepEqual(await reading.next(), { value: undefined, done: true })
  })

  test(`${name}: an unreadable row is skipped, and one of a newer kind is passed on`, async t => {
    const store = await open(t, { pollMs: NEVER })
    await store.append([note('first')])
    const plain = { time: 1, actor: 'x', schema_version: 1, subject: 's-1' }
    await store.transaction(tx =>
      tx.db
        .insertInto('events')
        .values([
          { ...plain, kind: 'session.noted', body: '{"text":' },
          { ...plain, kind: 'session.noted', body: 'null' },
          { ...plain, kind: 'session.noted', body: '"text"' },
          { ...plain, kind: 'future.thing', body: '{"new":true}', schema_version: 2 },
        ])
        .execute(),
    )
    await store.append([note('end')])
    const taken = await takeUntil(store.follow(0), 'end')
    assert.deepEqual(
      taken.map(event => event.kind as string),
      ['session.noted', 'future.thing', 'session.noted'],
    )
    assert.deepEqual(taken[1]?.body, { new: true })
    assert.deepEqual(await store.events({}), taken)
  })
}

test('an event committed while a slow read is under way is not missed', async t => {
  const file = join(tempDir(t), 'store.db')
  const database = await openSqlite(file, SCHEMA)
  t.after(() => database.close())
  await migrate(database, file, MIGRATIONS)
  const wake = new EventSignal(async () => 0, NEVER)
  const row = { time: 1, actor: 'x', schema_version: 1, subject: 's-1', kind: 'session.noted', body: '{"text":"new"}' }
  let reads = 0
  const read = database.read.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      if (reads++ > 0) return result
      await database.appendAlone([row])
      wake.ring()
      return result
    },
  })
  const next = await followEvents({ database: { ...database, read }, wake, pages: new EventPageCache() }, 0).next()
  assert.equal(next.value?.id, 1)
})

test('many followers at the same position share one read per append, and each gets everything', async t => {
  const file = join(tempDir(t), 'store.db')
  const database = await openSqlite(file, SCHEMA)
  t.after(() => database.close())
  await migrate(database, file, MIGRATIONS)
  const wake = new EventSignal(async () => 0, NEVER)
  let reads = 0
  const read = database.read.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      reads++
      return result
    },
  })
  const followed = { database: { ...database, read }, wake, pages: new EventPageCache() }
  const followers = Array.from({ length: 5 }, () => followEvents(followed, 0, { alone: true }))
  for (const id of [1, 2, 3]) {
    const heard = Promise.all(followers.map(follower => follower.next()))
    await nextTurn()
    const body = JSON.stringify({ text: `number ${id}` })
    await database.appendAlone([
      { time: id, actor: 'x', schema_version: 1, subject: 's-1', kind: 'session.noted', body },
    ])
    wake.ring()
    assert.deepEqual(
      (await heard).map(({ value }) => value?.id),
      [id, id, id, id, id],
    )
  }
  // One read that found nothing yet, then one for each append.
  assert.equal(reads, 4)
  wake.close()
  await Promise.all(followers.map(follower => follower.return()))
})
