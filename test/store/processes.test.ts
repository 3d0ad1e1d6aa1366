import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import type { StoredEvent } from '../../src/domain/event.ts'
import { openStore } from '../../src/store/open.ts'
import { SCHEMA } from '../../src/store/sqlite-file.ts'
import { tempDir } from '../support/world.ts'
import { startChild } from './child.ts'
import { note, takeUntil, textOf, upTo } from './databases.ts'

const APPEND_ON_GO = new URL('./children/append-on-go.ts', import.meta.url)
const WRITE_UNTIL_KILLED = new URL('./children/write-until-killed.ts', import.meta.url)

test('eight processes that open a new database at once all find the same schema and lose nothing', async t => {
  const files = upTo(3).map(() => join(tempDir(t), 'deep', 'store.db'))
  const children = upTo(8).map(index => startChild(t, APPEND_ON_GO, files.join(':'), `child${index}`, '20'))
  for (const file of files) {
    for (const child of children) assert.equal((await child.lines.next()).value ?? (await child.ended), 'ready')
    for (const child of children) child.process.stdin?.write('go')
    for (const child of children)
      assert.equal((await child.lines.next()).value ?? (await child.ended), `schema ${SCHEMA}`)

    await using store = await openStore({ file })
    const events = await store.events({})
    assert.deepEqual(
      events.map(event => event.id),
      upTo(160),
    )
    for (const index of upTo(8)) assert.deepEqual(ofWriter(events, `child${index}`), upTo(20), 'each in its own order')
  }
  const endings = await Promise.all(children.map(child => child.ended))
  assert.deepEqual(
    endings,
    upTo(8).map(() => '0'),
  )
})

test('a follower sees every event of this and other processes once and in order while all of them write', async t => {
  const file = join(tempDir(t), 'store.db')
  await using store = await openStore({ file, pollMs: 10 })
  const children = await readyChildren(t, 2, index => [file, `child${index}`, '200'])
  const followers = upTo(3).map(() => takeUntil(store.follow(0), 'end'))
  for (const child of children) child.process.stdin?.write('go')
  for (const number of upTo(200)) await store.append([note(`own-${number}`)])
  for (const child of children) assert.equal(await child.ended, '0')
  await store.append([note('end')])
  for (const taken of await Promise.all(followers)) {
    assert.deepEqual(
      taken.map(event => event.id),
      upTo(601),
    )
    for (const writer of ['own', 'child1', 'child2']) assert.deepEqual(ofWriter(taken, writer), upTo(200))
  }
})

test('a follower that waits is woken by an event of another process', async t => {
  const file = join(tempDir(t), 'store.db')
  await using store = await openStore({ file, pollMs: 10 })
  const taken = takeUntil(store.follow(0), 'child1-5')
  const [child] = await readyChildren(t, 1, () => [file, 'child1', '5'])
  child?.process.stdin?.write('go')
  assert.deepEqual(
    (await taken).map(event => event.id),
    upTo(5),
  )
  assert.equal(await child?.ended, '0')
})

test('a writer killed in the middle loses nothing it had acknowledged and leaves nothing half-written', async t => {
  const file = join(tempDir(t), 'store.db')
  const acknowledged = new Map<string, number>()
  for (const life of upTo(4)) {
    const child = startChild(t, WRITE_UNTIL_KILLED, file, `life${life}`)
    let left = 60 + life * 37
    for await (const line of child.lines) {
      const [label = '', size] = line.split(' ')
      acknowledged.set(label, Number(size))
      if (--left === 0) child.process.kill('SIGKILL')
    }
    assert.match(await child.ended, /^SIGKILL/)

    assert.deepEqual(integrityOf(file), 'ok')
    await using store = await openStore({ file })
    const events = await store.events({})
    assert.deepEqual(
      events.map(event => event.id),
      upTo(events.length),
    )
    const stored = Map.groupBy(events, textOf)
    for (const [label, size] of acknowledged) assert.equal(stored.get(label)?.length, size, `${label} was acknowledged`)
    for (const [label, rows] of stored) assert.equal(rows.length, Number(rows[0]?.subject), `${label} is whole`)
  }
  assert.ok(acknowledged.size > 400)
})

async function readyChildren(t: TestContext, count: number, args: (index: number) => string[]) {
  const children = upTo(count).map(index => startChild(t, APPEND_ON_GO, ...args(index)))
  for (const child of children) assert.equal((await child.lines.next()).value, 'ready')
  return children
}

/** The numbers of one writer's events, in the order of the log. */
function ofWriter(events: StoredEvent[], writer: string): number[] {
  return events
    .map(textOf)
    .filter(text => text.startsWith(`${writer}-`))
    .map(text => Number(text.slice(writer.length + 1)))
}

function integrityOf(file: string): unknown {
  const database = new DatabaseSync(file)
  const found = database.prepare('pragma integrity_check').get()?.['integrity_check']
  database.close()
  return found
}
