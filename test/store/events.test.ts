import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent } from '../../src/domain/event.ts'
import type { Tx } from '../../src/store/store.ts'
import { DATABASES, note, textOf, upTo } from './databases.ts'

for (const { name, open } of DATABASES) {
  test(`${name}: an appended event comes back with its id, time and schema, and is read the same`, async t => {
    const store = await open(t, { clock: { now: () => 1234 } })
    const [first, second] = await store.append([note('a'), { ...note('b'), time: 99 }])
    assert.deepEqual(first, { ...note('a'), id: 1, time: 1234, schema_version: 1 })
    assert.equal(second?.time, 99)
    assert.deepEqual(await store.events({}), [first, second])
  })

  test(`${name}: an empty append stores nothing`, async t => {
    const store = await open(t)
    assert.deepEqual(await store.append([]), [])
    assert.deepEqual(await store.events({}), [])
  })

  test(`${name}: texts of every kind are read back unchanged`, async t => {
    const store = await open(t)
    const texts = [
      '',
      "it's",
      '"quoted"',
      'line\nbreak',
      'nul\u0000inside',
      '\u{1f600} ünïcode',
      '\ud800 lone half',
      '?$1:x',
    ]
    await store.append(texts.map(text => note(text)))
    assert.deepEqual((await store.events({})).map(textOf), texts)
  })

  test(`${name}: events from a time on are found among many older ones, also where the clock was set back`, async t => {
    const store = await open(t)
    const MINUTE = 60_000
    // Each minute one event; every fiftieth came while the clock was half an hour slow.
    const timeOf = (n: number) => n * MINUTE - (n % 50 === 0 ? 30 * MINUTE : 0)
    const all = Array.from({ length: 6_000 }, (_, n): NewEvent => ({ ...note(String(n)), time: timeOf(n) }))
    await store.append(all)
    for (const first of [0, 1, 2_999, 3_000, 3_001, 5_998, 7_000]) {
      const from = first * MINUTE
      const expected = all.filter(({ time = 0 }) => time >= from).map(({ time }) => time)
      assert.deepEqual(
        (await store.events({ from })).map(({ time }) => time),
        expected,
        `from ${first}`,
      )
    }
  })

  test(`${name}: events are queried by subject, kind, place and number`, async t => {
    const store = await open(t)
    const said = (text: string, subject: string): NewEvent => ({
      actor: 'agent',
      subject,
      kind: 'agent.said',
      body: { text },
    })
    await store.append([note('1', 'a'), said('2', 'b'), note('3', 'b'), said('4', 'a'), note('5', 'a')])
    const ids = async (query: Parameters<typeof store.events>[0]) => (await store.events(query)).map(event => event.id)
    assert.deepEqual(await ids({ subject: 'a' }), [1, 4, 5])
    assert.deepEqual(await ids({ after: 3 }), [4, 5])
    assert.deepEqual(await ids({ kinds: ['agent.said'] }), [2, 4])
    assert.deepEqual(await ids({ kinds: [] }), [])
    assert.deepEqual(await ids({ limit: 2 }), [1, 2])
    assert.deepEqual(await ids({ tail: 2 }), [4, 5])
    assert.deepEqual(await ids({ tail: 3, limit: 2 }), [3, 4])
    assert.deepEqual(await ids({ subject: 'a', kinds: ['session.noted'], after: 1, tail: 5 }), [5])
    assert.deepEqual(await ids({ subject: 'nobody' }), [])
  })

  test(`${name}: stored events can be neither changed nor deleted`, async t => {
    const store = await open(t)
    const [kept] = await store.append([note('kept')])
    const change = store.transaction(tx => tx.db.updateTable('events').set({ body: '{}' }).execute())
    await assert.rejects(change, /append-only/)
    const removal = store.transaction(tx => tx.db.deleteFrom('events').execute())
    await assert.rejects(removal, /append-only/)
    assert.deepEqual(await store.events({}), [kept])
  })

  test(`${name}: a transaction's events and rows appear together at its commit`, async t => {
    const store = await open(t)
    const seen = await store.transaction(async tx => {
      await store.sessions.insert({ id: 's-1', name: 'one', project: '/p', task: 't', agent: 'claude' }, tx)
      await store.append([note('inside')], tx)
      await tx.append([note('too')])
      return {
        events: await store.events({}),
        session: await store.sessions.get('s-1'),
        own: await store.sessions.get('s-1', tx),
      }
    })
    assert.deepEqual([seen.events, seen.session, seen.own?.name], [[], undefined, 'one'], 'outside sees nothing yet')
    assert.deepEqual((await store.events({})).map(textOf), ['inside', 'too'])
    assert.equal((await store.sessions.get('s-1'))?.name, 'one')
  })

  test(`${name}: a transaction that throws leaves nothing, and its error arrives unchanged`, async t => {
    const store = await open(t)
    const problem = new Error('changed my mind')
    const failed = store.transaction(async tx => {
      await tx.append([note('gone')])
      await store.sessions.insert({ id: 's-1', name: 'gone', project: '/p', task: 't', agent: 'claude' }, tx)
      throw problem
    })
    await assert.rejects(failed, error => error === problem)
    const [next] = await store.append([note('next')])
    assert.equal(next?.id, 1, 'ids have no gap where something was undone')
    assert.deepEqual(await store.sessions.list(), [])
  })

  test(`${name}: a write inside a transaction without its tx is refused instead of waiting forever`, async t => {
    const store = await open(t)
    const writes: (() => Promise<unknown>)[] = [
      () => store.append([note('x')]),
      () => store.transaction(() => 1),
      () => store.sessions.update('s-1', { turns: 1 }),
      () => store.close(),
    ]
    for (const write of writes) await assert.rejects(store.transaction(write), /must be given its tx/)
    await store.append([note('after')])
    assert.deepEqual((await store.events({})).map(textOf), ['after'])
  })

  test(`${name}: work that was started in a transaction may write once the transaction is over`, async t => {
    const store = await open(t)
    const over = Promise.withResolvers<void>()
    const later = await store.transaction(() => ({ write: over.promise.then(() => store.append([note('later')])) }))
    over.resolve()
    await later.write
    assert.deepEqual((await store.events({})).map(textOf), ['later'])
  })

  test(`${name}: a batch that fails inside a transaction leaves none of its events behind`, async t => {
    const store = await open(t)
    const broken = { ...note('broken'), subject: undefined } as unknown as NewEvent
    await store.transaction(async tx => {
      await tx.append([note('a'), note('b')])
      await assert.rejects(tx.append([note('half'), broken, note('half')]))
      await tx.append([note('c')])
    })
    assert.deepEqual((await store.events({})).map(textOf), ['a', 'b', 'c'])
  })

  test(`${name}: a transaction that is over accepts no more events`, async t => {
    const store = await open(t)
    const late = await store.transaction<Tx>(tx => tx)
    await assert.rejects(late.append([note('late')]), /transaction is over/)
    assert.deepEqual(await store.events({}), [])
  })

  test(`${name}: appends and transactions happen in the order of the calls`, async t => {
    const store = await open(t)
    await Promise.all([
      store.append([note('1')]),
      store.append([note('2'), note('3')]),
      store.transaction(tx => tx.append([note('4')])),
      store.append([note('5')]),
      store.transaction(tx => tx.append([note('6')])),
    ])
    const events = await store.events({})
    assert.deepEqual(events.map(textOf), ['1', '2', '3', '4', '5', '6'])
    assert.deepEqual(
      events.map(event => event.id),
      upTo(6),
    )
  })

  test(`${name}: a read does not wait for an open transaction`, async t => {
    const store = await open(t)
    await store.append([note('before')])
    const { promise, resolve } = Promise.withResolvers<void>()
    const slow = store.transaction(() => promise)
    assert.deepEqual((await store.events({})).map(textOf), ['before'])
    resolve()
    await slow
  })

  test(`${name}: an append that cannot be written does not fail its neighbours`, async t => {
    const store = await open(t)
    const broken = { ...note('broken'), subject: undefined } as unknown as NewEvent
    const results = await Promise.allSettled([note('a'), broken, note('b')].map(event => store.append([event])))
    assert.deepEqual(
      results.map(result => result.status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.deepEqual((await store.events({})).map(textOf), ['a', 'b'])
  })

  test(`${name}: closing waits for the open transaction and for those after it`, async t => {
    const store = await open(t)
    const { promise, resolve } = Promise.withResolvers<void>()
    const slow = store.transaction(async tx => {
      await promise
      return tx.append([note('slow')])
    })
    const behind = store.transaction(tx => tx.append([note('behind')]))
    const closing = store.close()
    resolve()
    await closing
    assert.deepEqual([(await slow)[0]?.id, (await behind)[0]?.id], [1, 2])
  })

  test(`${name}: closing writes all pending appends, and a closed store says so`, async t => {
    const store = await open(t)
    const last = store.append([note('last')])
    await store.close()
    assert.equal((await last)[0]?.id, 1)
    await store.close()
    for (const use of [() => store.append([note('x')]), () => store.events({}), () => store.transaction(() => 1)]) {
      await assert.rejects(use, { code: 'store_unusable', message: /it was closed/ })
    }
  })
}
