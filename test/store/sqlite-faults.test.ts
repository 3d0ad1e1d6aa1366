import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import type { AppError } from '../../src/base/errors.ts'
import type { NewEvent } from '../../src/domain/event.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store, Tx } from '../../src/store/store.ts'
import { tempDir } from '../support/world.ts'
import { note, takeUntil, textOf, upTo } from './databases.ts'

const PAGE_BYTES = 4096
const LARGE = 'x'.repeat(200_000)

test('a full disk refuses the write with its cause, leaves nothing half-written, and the store stays usable', async t => {
  const { store, file } = await opened(t)
  await store.append([note('before')])
  const writes: [string, () => Promise<unknown>][] = [
    ['one event', () => store.append([note(LARGE)])],
    ['a batch', () => store.append([note('small'), note(LARGE), note('small')])],
    [
      'a transaction',
      () =>
        store.transaction(async tx => {
          await tx.append([note('small')])
          await store.sessions.insert({ id: 's-1', name: 'x', project: '/p', task: LARGE, agent: 'claude' }, tx)
        }),
    ],
    ['a session', () => store.sessions.insert({ id: 's-1', name: 'x', project: '/p', task: LARGE, agent: 'claude' })],
  ]
  for (const [what, write] of writes) {
    await allowPages(store, 'no more')
    await assert.rejects(write, (error: AppError) => {
      assert.equal(error.code, 'store_unusable', what)
      assert.ok(error.message.includes(file) && error.message.includes('the disk is full'), error.message)
      return true
    })
    assert.deepEqual((await store.events({})).map(textOf), ['before'], what)
    assert.deepEqual(await store.sessions.list(), [], what)
  }
  await allowPages(store, 'plenty')
  const [next] = await store.append([note(LARGE)])
  assert.equal(next?.id, 2)
  assert.equal(integrityOf(file), 'ok')
})

test('a transaction that a full disk rolled back accepts nothing more, even if the error was ignored', async t => {
  const { store } = await opened(t)
  await allowPages(store, 'no more')
  const row = { id: 's-1', name: 'x', project: '/p', task: 't', agent: 'claude' }
  for (const goOn of [
    (tx: Tx) => tx.append([note('last')]),
    (tx: Tx) => store.sessions.insert(row, tx),
    () => 'nothing',
  ]) {
    const careless = store.transaction(async tx => {
      await tx.append([note('first')])
      await tx.append([note(LARGE)]).catch(() => 'ignored')
      await goOn(tx)
    })
    await assert.rejects(careless, { code: 'store_unusable', message: /undid this transaction/ })
  }
  assert.deepEqual(await store.events({}), [])
  assert.deepEqual(await store.sessions.list(), [])
  assert.equal((await store.append([note('next')]))[0]?.id, 1)
})

test('appends of one turn of the event loop are one commit', async t => {
  const { store, file } = await opened(t)
  const logBytes = () => statSync(`${file}-wal`).size
  const empty = logBytes()
  await Promise.all(upTo(300).map(number => store.append([note(`${number}`)])))
  const together = logBytes() - empty
  assert.ok(together < 300 * PAGE_BYTES, 'a commit of its own writes at least a page')
  assert.deepEqual((await store.events({})).map(textOf), upTo(300).map(String))
})

test('a database that another program keeps locked fails after the wait, and is usable afterwards', async t => {
  const { store, file } = await opened(t)
  await store.transaction(tx => sql`pragma busy_timeout = 20`.execute(tx.db)) // the wait is SQLite's; a short one will do
  const other = new DatabaseSync(file)
  t.after(() => other.close())
  other.exec('begin immediate')
  await assert.rejects(store.append([note('x')]), { code: 'store_unusable', message: /kept it locked/ })
  assert.deepEqual(await store.events({}), [], 'reading goes on')
  other.exec('rollback')
  assert.equal((await store.append([note('x')]))[0]?.id, 1)
})

test('a follower skips a damaged part of the file and continues after it', async t => {
  const { store, file } = await opened(t)
  const events = upTo(3000).map(
    (number): NewEvent => note(`event-${number}-${'.'.repeat(60)}`, number % 2 ? 'odd' : 'even'),
  )
  await store.append(events)
  await store.close()
  damagePageWith(file, 'event-1500-')

  await using damaged = await openStore({ file })
  await assert.rejects(damaged.events({}), { code: 'store_damaged', message: /is damaged/ })
  const following = takeUntil(damaged.follow(0), 'end')
  await damaged.append([note('end')])
  const seen = (await following).map(event => event.id)
  const lost = upTo(3001).filter(id => !seen.includes(id))
  assert.deepEqual(
    seen,
    seen.toSorted((a, b) => a - b),
  )
  assert.ok(lost.includes(1500) && lost.length < 60, `lost ${lost.length}`)
  assert.deepEqual(
    lost,
    upTo(lost.length).map(index => index + (lost[0] ?? 0) - 1),
    'one stretch: a page',
  )

  const even = await takeUntil(damaged.follow(0, { subject: 'even' }), `event-3000-${'.'.repeat(60)}`)
  assert.deepEqual(
    even.map(event => event.id),
    seen.filter(id => id % 2 === 0 && id <= 3000),
  )
})

async function opened(t: TestContext): Promise<{ store: Store; file: string }> {
  const file = join(tempDir(t), 'store.db')
  const store = await openStore({ file })
  t.after(() => store.close())
  return { store, file }
}

/** Uses SQLite's own limit to simulate a full disk. */
async function allowPages(store: Store, how: 'no more' | 'plenty'): Promise<void> {
  await store.transaction(async tx => {
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(tx.db)
    const pages = how === 'plenty' ? 1_000_000 : (rows[0]?.page_count ?? 0) + 2
    await sql.raw(`pragma max_page_count = ${pages}`).execute(tx.db)
  })
}

/** Overwrites the page of the file that holds the text. */
function damagePageWith(file: string, text: string): void {
  const bytes = readFileSync(file)
  const at = bytes.indexOf(text)
  assert.ok(at > 0)
  const start = Math.floor(at / PAGE_BYTES) * PAGE_BYTES
  bytes.fill(0xff, start, start + PAGE_BYTES)
  writeFileSync(file, bytes)
}

function integrityOf(file: string): unknown {
  const database = new DatabaseSync(file)
  const found = database.prepare('pragma integrity_check').get()?.['integrity_check']
  database.close()
  return found
}
