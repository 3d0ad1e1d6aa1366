import { type Kysely, type SqlBool, sql } from 'kysely'
import type { OutboxStore, Tx } from './store.ts'
import type { OutboxRow, Tables } from './tables.ts'
import type { Writer } from './writer.ts'

const ACTIVE: readonly OutboxRow['state'][] = ['waiting', 'told']

/** Rows per statement, because databases limit how many values a statement may have. */
const BATCH = 500

/** Opens the table of notices and the table of cursors. */
export function openOutboxStore(read: Kysely<Tables>, writer: Writer): OutboxStore {
  return {
    add: async (row, { db }) => {
      const notice = { ...row, state: 'waiting' as const, tries: 0, reminders: 0, problem: null }
      const insert = db.insertInto('outbox').values(notice)
      const added = await insert
        .onConflict(same => same.columns(['channel', 'dedup_key']).doNothing())
        .executeTakeFirst()
      return added.numInsertedOrUpdatedRows === 1n
    },
    due: (channel, until, limit) => {
      const active = read.selectFrom('outbox').selectAll().where('channel', '=', channel).where('state', 'in', ACTIVE)
      const due = active.where('next_at', '<=', until).orderBy('id')
      return (limit === undefined ? due : due.limit(limit)).execute()
    },
    backlog: async channel => {
      const rows = read.selectFrom('outbox').where('channel', '=', channel)
      const active = rows.where('state', 'in', ACTIVE)
      const waiting = await active.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirst()
      const oldest = await active.select('problem').orderBy('id').limit(1).executeTakeFirst()
      const sent = await rows
        .where('state', '=', 'done')
        .select(({ fn }) => fn.max('id').as('id'))
        .executeTakeFirst()
      const failed = await rows
        .where('state', '=', 'failed')
        .where('id', '>', sent?.id ?? 0)
        .select(({ fn }) => [fn.countAll<number>().as('count'), fn.max('problem').as('problem')])
        .executeTakeFirst()
      return {
        waiting: Number(waiting?.count ?? 0),
        failed: Number(failed?.count ?? 0),
        problem: oldest?.problem ?? failed?.problem ?? null,
      }
    },
    nextAt: async channel => {
      const active = read.selectFrom('outbox').where('channel', '=', channel).where('state', 'in', ACTIVE)
      const row = await active.select(({ fn }) => fn.min('next_at').as('at')).executeTakeFirst()
      return row?.at ?? undefined
    },
    setBack: async (channel, now) => {
      const ahead = read.selectFrom('outbox').select('id').where('channel', '=', channel).where('created_at', '>', now)
      if (!(await ahead.where('state', 'in', ACTIVE).limit(1).executeTakeFirst())) return
      await writer.transaction(async ({ db }) => {
        const moved = { next_at: sql<number>`next_at - created_at + ${now}`, created_at: now }
        await db.updateTable('outbox').set(moved).where('channel', '=', channel).where('created_at', '>', now).execute()
      })
    },
    update: (ids, patch) =>
      writer.transaction(async ({ db }) => {
        for (let at = 0; at < ids.length; at += BATCH) {
          const batch = db
            .updateTable('outbox')
            .set(patch)
            .where('id', 'in', ids.slice(at, at + BATCH))
          await batch.where('state', 'in', ACTIVE).execute()
        }
      }),
    forget: async (dedupKey, { db }) => {
      // The row gets another key instead of being deleted: its id could otherwise be reused while a message about it is being sent.
      const settled = { state: 'done' as const, dedup_key: sql<string>`dedup_key || ' settled ' || id` }
      await db.updateTable('outbox').set(settled).where('dedup_key', '=', dedupKey).execute()
    },
    settleOthers: async (prefix, keys, { db }) => {
      const begins = sql<SqlBool>`substr(dedup_key, 1, ${sql.val(prefix.length)}) = ${sql.val(prefix)}`
      const rows = await db.selectFrom('outbox').select(['id', 'dedup_key']).where(begins).execute()
      // "settled" comes first here: with the prefix still at the beginning, each round would find and settle these rows again.
      const gone = rows.filter(row => !keys.has(row.dedup_key)).map(({ id }) => id)
      const settled = { state: 'done' as const, dedup_key: sql<string>`'settled ' || id || ' ' || dedup_key` }
      if (gone.length > 0) await db.updateTable('outbox').set(settled).where('id', 'in', gone.slice(0, BATCH)).execute()
    },
    prune: before =>
      writer.transaction(async ({ db }) => {
        await db.deleteFrom('outbox').where('state', 'not in', ACTIVE).where('created_at', '<', before).execute()
      }),
    forgetOthers: (prefix, channels) =>
      writer.transaction(async ({ db }) => {
        const isOther = (name: string) => name.startsWith(prefix) && !channels.includes(name)
        // As a range, because that is what an index knows.
        const end = `${prefix.slice(0, -1)}${String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)}`
        const begun = db.selectFrom('cursors').select('name').where('name', '>=', prefix).where('name', '<', end)
        const used = db.selectFrom('outbox').select('channel').distinct()
        const listed = await used.where('channel', '>=', prefix).where('channel', '<', end).execute()
        for (const { name } of (await begun.execute()).filter(row => isOther(row.name)))
          await db.deleteFrom('cursors').where('name', '=', name).execute()
        for (const { channel } of listed.filter(row => isOther(row.channel)))
          await db.deleteFrom('outbox').where('channel', '=', channel).execute()
      }),
    cursor: async name => {
      const named = read.selectFrom('cursors').select('event_id').where('name', '=', name)
      return (await named.executeTakeFirst())?.event_id
    },
    moveCursor: (name, eventId, tx) =>
      tx ? moveCursor(tx, name, eventId) : writer.transaction(own => moveCursor(own, name, eventId)),
  }
}

async function moveCursor({ db }: Tx, name: string, event_id: number): Promise<void> {
  const insert = db.insertInto('cursors').values({ name, event_id })
  await insert.onConflict(same => same.column('name').doUpdateSet({ event_id })).execute()
}
