import { type RawBuilder, sql } from 'kysely'
import type { WordIndex } from './database.ts'

/** An FTS5 table with a copy of the words, kept by triggers: whoever writes a row cannot forget it. */
export function wordIndex({ name, table, keys, columns, once }: WordIndex): string[] {
  const all = [...keys, ...columns].join(', ')
  const copied = (row: string) => [...keys, ...columns].map(column => `${row}.${column}`).join(', ')
  const insert = `insert into ${name} (${all}) values (${copied('new')})`
  return [
    `create virtual table ${name} using fts5(${keys.map(key => `${key} unindexed`).join(', ')}, ${columns.join(', ')}, tokenize = 'porter unicode61 remove_diacritics 2')`,
    `insert into ${name} (${all}) select ${copied(table)} from ${table} where ${once} is not null`,
    `create trigger ${name}_inserted after insert on ${table} when new.${once} is not null begin ${insert}; end`,
    `create trigger ${name}_filled after update of ${once} on ${table} when new.${once} is not null and old.${once} is null begin ${insert}; end`,
  ]
}

/** Every word is quoted, so that none is taken for an operator, and fits the beginning of one that was written. */
export function foundByWords(
  { name, keys }: WordIndex,
  words: readonly string[],
  need: 'all' | 'any',
): RawBuilder<unknown> {
  const query = words.map(word => `"${word.replaceAll('"', '""')}"*`).join(need === 'all' ? ' AND ' : ' OR ')
  const table = sql.table(name)
  const columns = sql.join(keys.map(key => sql.ref(key)))
  return sql`(select ${columns}, bm25(${table}) as rank from ${table} where ${table} match ${query})`
}
