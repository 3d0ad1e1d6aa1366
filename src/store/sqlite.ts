import type { SQLInputValue } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Dialect,
  Kysely,
  type RawBuilder,
  SqliteAdapter,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely'
import type { Database, DialectDifferences, JsonDifferences, NewEventRow, WordIndex } from './database.ts'
import { BUSY_TIMEOUT_MS, SqliteConnection } from './sqlite-connection.ts'
import { explainSqlite, SQLITE_BUSY, SQLITE_CORRUPT, sqliteCode } from './sqlite-errors.ts'
import { APPLICATION_ID, createFile, inspectFile } from './sqlite-file.ts'
import type { Tables } from './tables.ts'

/** How SQLite writes JSON. A function accepts the result of another one as JSON; `json` turns a text into JSON. */
const sqliteJson: JsonDifferences = {
  object: fields =>
    `json_object(${Object.entries(fields)
      .map(([name, expression]) => `'${name}', ${expression}`)
      .join(', ')})`,
  list: (column, from) =>
    `(select json_group_array(${column}) from (select ${column} from ${from} order by ${column}))`,
  // Words contain neither quotes nor backslashes.
  words: column => whenNotEmpty(column, `'["' || replace(trim(${column}), ' ', '","') || '"]'`),
  // A delete character replaces the line break meanwhile: JSON does not escape it, and no accepted text contains one.
  lines: column =>
    whenNotEmpty(
      column,
      `'[' || replace(json_quote(replace(${column}, char(10), char(127))), char(127), '","') || ']'`,
    ),
  parsed: column => `json(${column})`,
  joined: column => `cast(group_concat(${column}, ',' || char(10)) as blob)`,
}

function whenNotEmpty(column: string, list: string): string {
  return `json(case ${column} when '' then '[]' else ${list} end)`
}

/** An FTS5 table with a copy of the words, kept up to date by triggers, so that no writer can forget it. */
function wordIndex({ name, table, keys, columns, once }: WordIndex): string[] {
  const all = [...keys, ...columns].join(', ')
  const columnsOf = (row: string) => [...keys, ...columns].map(column => `${row}.${column}`).join(', ')
  const insert = `insert into ${name} (${all}) values (${columnsOf('new')})`
  return [
    `create virtual table ${name} using fts5(${keys.map(key => `${key} unindexed`).join(', ')}, ${columns.join(', ')}, tokenize = 'porter unicode61 remove_diacritics 2')`,
    `insert into ${name} (${all}) select ${columnsOf(table)} from ${table} where ${once} is not null`,
    `create trigger ${name}_inserted after insert on ${table} when new.${once} is not null begin ${insert}; end`,
    `create trigger ${name}_filled after update of ${once} on ${table} when new.${once} is not null and old.${once} is null begin ${insert}; end`,
  ]
}

/** Every word is quoted, so that none is taken for an operator, and matches the beginning of a stored word. */
function foundByWords({ name, keys }: WordIndex, words: readonly string[], need: 'all' | 'any'): RawBuilder<unknown> {
  const query = words.map(word => `"${word.replaceAll('"', '""')}"*`).join(need === 'all' ? ' AND ' : ' OR ')
  const table = sql.table(name)
  const columns = sql.join(keys.map(key => sql.ref(key)))
  return sql`(select ${columns}, bm25(${table}) as rank from ${table} where ${table} match ${query})`
}

/** Opens one SQLite file with two connections: one that writes, and one that reads committed rows meanwhile. */
export async function openSqlite(
  file: string,
  knownSchema: number,
  onFailure: (error: unknown) => void = () => {},
): Promise<Database> {
  const opened: SqliteConnection[] = []
  try {
    await inspectFile(file, knownSchema)
    await createFile(file)
    const writer = new SqliteConnection(file, { readOnly: false, onFailure })
    opened.push(writer)
    await switchToWriteAheadLog(writer)
    const reader = new SqliteConnection(file, { readOnly: true, onFailure })
    opened.push(reader)
    return sqliteDatabase(writer, reader)
  } catch (error) {
    for (const connection of opened) connection.close()
    throw explainSqlite(file, error)
  }
}

const countRows: DialectDifferences['countRows'] = ({ table, column, counted }) => {
  const more = `insert into row_counts (counted, kind, count) select '${counted}', new.${column}, 1 where new.${column} is not null
    on conflict (counted, kind) do update set count = count + 1;`
  const less = `update row_counts set count = count - 1 where counted = '${counted}' and kind = old.${column};`
  const trigger = (when: string, body: string) =>
    `create trigger count_${counted}_${when.split(' ')[0]} after ${when} on ${table} begin ${body} end`
  return [
    `insert into row_counts (counted, kind, count) select '${counted}', ${column}, count(*) from ${table}
      where ${column} is not null group by ${column}`,
    trigger('insert', more),
    trigger('delete', less),
    `create trigger count_${counted}_update after update of ${column} on ${table} when old.${column} is not new.${column}
      begin ${less} ${more} end`,
  ]
}

const differences: DialectDifferences = {
  columns: { integer: 'integer', real: 'real' },
  json: sqliteJson,
  appendOnly: (table, pruned) => {
    const refuse = `begin select raise(abort, '${table} ${pruned ? 'are' : 'is'} append-only'); end`
    const update = `create trigger ${table}_refuse_update before update on ${table} ${refuse}`
    const remove = `create trigger ${table}_refuse_delete before delete on ${table}`
    if (pruned)
      return [update, `${remove} when not exists (select 1 from ${pruned} where subject = old.subject) ${refuse}`]
    // `insert or replace` removes a row without asking the trigger of deletions.
    const replace = `create trigger ${table}_refuse_replace before insert on ${table} when exists (select 1 from ${table} where id = new.id)`
    return [update, `${remove} ${refuse}`, `${replace} ${refuse}`]
  },
  countRows,
  wordIndex,
  foundByWords,
}

/**
 * After this many pages (16 MB) the log is copied into the file, with a flush to the disk. Short transactions write the same
 * few pages again and again, so four times the default number means four times fewer flushes for the same work.
 */
const PAGES_BETWEEN_CHECKPOINTS = 4_000

/** Pages returned to the disk at once, which takes a few milliseconds. */
const PAGES_GIVEN_BACK = 2_000

function sqliteDatabase(writer: SqliteConnection, reader: SqliteConnection): Database {
  const write = new Kysely<Tables>({ dialect: dialectOf(writer) })
  const read = new Kysely<Tables>({ dialect: dialectOf(reader) })
  const insertEvent = compileInsert(write)
  const insertRows = (rows: NewEventRow[]) =>
    Number(writer.runEach(insertEvent, rows.map(inColumnOrder))) - rows.length + 1
  return {
    differences,
    read,
    readRows: (text, parameters) => reader.rows(text, parameters as SQLInputValue[]),
    edition: () => writer.uses,
    transaction: work => writer.transaction(() => work(write)),
    // One row is atomic by itself; a transaction or savepoint around it would only cost time.
    appendAlone: rows => (rows.length === 1 ? insertRows(rows) : writer.alone(() => insertRows(rows))),
    appendWithin: (_tx, rows) => (rows.length === 1 ? insertRows(rows) : writer.within(() => insertRows(rows))),
    runWithin: (_tx, text, parameters) => writer.rows(text, parameters as SQLInputValue[]),
    changeWithin: (_tx, text, parameters) => writer.changes(text, parameters as SQLInputValue[]),
    readSchema: async tx => {
      const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(tx)
      return rows[0]?.user_version ?? 0
    },
    writeSchema: async (tx, schema) => {
      await sql.raw(`pragma user_version = ${schema}`).execute(tx)
      await sql.raw(`pragma application_id = ${APPLICATION_ID}`).execute(tx)
    },
    isDamage: thrown => sqliteCode(thrown) === SQLITE_CORRUPT,
    usedBytes: async () => {
      const numbers = sql<Pages>`select page_count, freelist_count, page_size
        from pragma_page_count, pragma_freelist_count, pragma_page_size`
      const [pages] = (await numbers.execute(read)).rows
      return pages ? (pages.page_count - pages.freelist_count) * pages.page_size : 0
    },
    giveBack: () => writer.script(`pragma incremental_vacuum(${PAGES_GIVEN_BACK})`),
    close: async () => {
      reader.close()
      writer.close()
    },
  }
}

interface Pages {
  page_count: number
  freelist_count: number
  page_size: number
}

function compileInsert(db: Kysely<Tables>): string {
  const row = { time: 0, actor: '', schema_version: 0, subject: '', kind: '', body: '' } satisfies NewEventRow
  return db.insertInto('events').values(row).compile().sql
}

function dialectOf(connection: SqliteConnection): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new SqliteDriver({ database: connection.forKysely() }),
    createIntrospector: db => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

/** The values in the column order of `compileInsert`. */
function inColumnOrder({ time, actor, schema_version, subject, kind, body }: NewEventRow) {
  return [time, actor, schema_version, subject, kind, body]
}

/**
 * With a write-ahead log, readers never wait for the writer. With synchronous NORMAL, a commit survives any death of this
 * process; only a power cut may lose the last few commits, never the file's consistency. FULL would cost a disk flush each.
 *
 * Several processes may switch a new file at once; SQLite then reports "locked" without waiting, so we wait here.
 */
async function switchToWriteAheadLog(writer: SqliteConnection): Promise<void> {
  const deadline = Date.now() + BUSY_TIMEOUT_MS
  for (;;) {
    try {
      writer.run('pragma busy_timeout = 20')
      // This applies to a new file only: an older one reuses its free space, but never shrinks.
      writer.run('pragma auto_vacuum = incremental')
      writer.run('pragma journal_mode = wal')
      writer.run('pragma synchronous = normal')
      writer.run(`pragma wal_autocheckpoint = ${PAGES_BETWEEN_CHECKPOINTS}`)
      writer.run(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
      return
    } catch (error) {
      if (sqliteCode(error) !== SQLITE_BUSY || Date.now() > deadline) throw error
    }
    await sleep(5 + Math.random() * 20)
  }
}
