import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import type { Database } from '../../src/store/database.ts'
import { type Migration, migrate } from '../../src/store/migrate.ts'
import { MIGRATIONS } from '../../src/store/migrations.ts'
import { openStore } from '../../src/store/open.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import { SCHEMA } from '../../src/store/sqlite-file.ts'
import { tempDir } from '../support/world.ts'
import { note, textOf } from './databases.ts'

/** Every kind of database; each opens the file, or schema, of this name as a program that knows these migrations. */
const OPENERS: { name: string; open(place: string, known: number): Promise<Database> }[] = [
  { name: 'SQLite', open: openSqlite },
]

const addColour: Migration = {
  number: SCHEMA + 1,
  name: 'colour',
  async up(db) {
    await db.schema.alterTable('sessions').addColumn('colour', 'text').execute()
  },
}

const breaksHalfway: Migration = {
  number: SCHEMA + 1,
  name: 'breaks halfway',
  async up(db) {
    await db.schema.createTable('half').addColumn('x', 'text').execute()
    await sql`insert into nowhere (x) values (1)`.execute(db)
  },
}

/** A task as a program with schema 23 wrote it. */
function insertOldTask(retries: number) {
  return sql`insert into tasks
    (id, project, title, description, state, priority, open_blockers, attempt, max_retries, created_at, position)
    values (${`t-${retries}`}, '/p', ${`retried ${retries} times`}, '', 'ready', 0, 0, 0, ${retries}, 1, ${retries})`
}

test('migrations are numbered without a gap up to the schema of the program', () => {
  assert.deepEqual(
    MIGRATIONS.map(({ number }) => number),
    MIGRATIONS.map((_, index) => 23 + index),
  )
  assert.equal(MIGRATIONS.at(-1)?.number, SCHEMA)
})

for (const { name, open } of OPENERS) {
  test(`${name}: a number of retries that nobody asked for is none after schema 24, and any other stays`, async t => {
    const file = join(tempDir(t), 'store.db')
    const old = await open(file, 23)
    await migrate(
      old,
      file,
      MIGRATIONS.filter(({ number }) => number <= 23),
    )
    for (const retries of [0, 3, 5]) await old.transaction(tx => insertOldTask(retries).execute(tx))
    await old.close()

    await using store = await openStore({ file })
    assert.equal(store.schema, SCHEMA)
    const tasks = await store.tasks.list({ project: '/p' })
    assert.deepEqual(
      tasks.map(({ id, title, max_retries }) => ({ id, title, max_retries })),
      [
        { id: 't-0', title: 'retried 0 times', max_retries: 0 },
        { id: 't-3', title: 'retried 3 times', max_retries: null },
        { id: 't-5', title: 'retried 5 times', max_retries: 5 },
      ],
    )
  })

  test(`${name}: a database of an older program is brought up to date with its data`, async t => {
    const file = join(tempDir(t), 'store.db')
    await using store = await openStore({ file })
    await store.append([note('old')])
    await store.sessions.insert({ id: 's-1', name: 'old', project: '/p', task: 't', agent: 'claude' })
    await store.close()

    const newer = await open(file, SCHEMA + 1)
    t.after(() => newer.close())
    assert.equal(await migrate(newer, file, [...MIGRATIONS, addColour]), SCHEMA + 1)
    assert.equal(await migrate(newer, file, [...MIGRATIONS, addColour]), SCHEMA + 1, 'a second time is a no-op')
    const rows = await newer.read.selectFrom('sessions').selectAll().execute()
    assert.deepEqual(
      rows.map(row => ({ name: row.name, ...('colour' in row && { colour: row.colour }) })),
      [{ name: 'old', colour: null }],
    )
  })

  test(`${name}: a migration that fails leaves the old schema intact and usable`, async t => {
    const file = join(tempDir(t), 'store.db')
    const database = await open(file, SCHEMA + 1)
    t.after(() => database.close())
    await migrate(database, file, MIGRATIONS)
    await assert.rejects(migrate(database, file, [...MIGRATIONS, breaksHalfway]))
    await database.close()

    await using store = await openStore({ file })
    await assert.rejects(store.transaction(tx => sql`select * from half`.execute(tx.db)))
    await store.append([note('goes on')])
    assert.deepEqual((await store.events({})).map(textOf), ['goes on'])
  })

  test(`${name}: a program that finds a newer schema only once it has the lock changes nothing`, async t => {
    const file = join(tempDir(t), 'store.db')
    const [older, newer] = await Promise.all([open(file, SCHEMA), open(file, SCHEMA + 1)])
    t.after(() => Promise.all([older.close(), newer.close()]))
    await migrate(newer, file, [...MIGRATIONS, addColour])
    await assert.rejects(migrate(older, file, MIGRATIONS), { code: 'store_newer', exit: 5 })
    assert.equal(await newer.readSchema(newer.read), SCHEMA + 1)
  })

  test(`${name}: a database of a version that was never released is refused and stays as it is`, async t => {
    const file = join(tempDir(t), 'store.db')
    const database = await open(file, SCHEMA)
    t.after(() => database.close())
    await database.transaction(tx => database.writeSchema(tx, 7))
    await assert.rejects(migrate(database, file, MIGRATIONS), { code: 'store_unreleased', exit: 5 })
    assert.equal(await database.readSchema(database.read), 7)
  })
}
