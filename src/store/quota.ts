import type { Kysely } from 'kysely'
import type { Clock } from '../base/clock.ts'
import type { AccountGate } from '../domain/limit.ts'
import type { QuotaWindow } from '../domain/quota.ts'
import type { AccountGateStore, QuotaStore, Tx } from './store.ts'
import type { GatesTable, Tables } from './tables.ts'
import {
  type CcusageEnv,
  type QuotaHistoryKey,
  type QuotaHistoryQuery,
  type QuotaHistoryRetention,
  readUsageReports,
} from './usage-reports.ts'
import type { Writer } from './writer.ts'

export interface QuotaStoreDeps {
  read: Kysely<Tables>
  writer: Writer
  clock: Clock
}

/** The tables of quota. */
export function openQuotaStore({ read, writer, clock }: QuotaStoreDeps): QuotaStore {
  const write = <T>(tx: Tx | undefined, work: (db: Kysely<Tables>) => Promise<T>) =>
    tx ? work(tx.db) : writer.transaction(own => work(own.db))
  return {
    label: (account, label, tx) => write(tx, db => putAccount(db, { account, label, updated_at: clock.now() })),
    place: (account, place, tx) =>
      write(tx, db => putAccount(db, { account, place: JSON.stringify(place), updated_at: clock.now() })),
    accounts: async () => {
      const rows = await read.selectFrom('quota_accounts').selectAll().orderBy('label').orderBy('account').execute()
      return rows.map(row => ({ ...row, place: parseCcusageEnv(row.place) }))
    },
    windows: async (account, tx) => {
      const select = (tx?.db ?? read).selectFrom('quota_windows').selectAll()
      const rows = account === undefined ? select : select.where('account', '=', account)
      return rows.orderBy('account').orderBy('window').orderBy('source').execute()
    },
    put: (account, window, tx) => write(tx, db => put(db, account, window)),
    keep: (account, window, tx) => write(tx, db => keep(db, account, window)),
    drop: (point, tx) => write(tx, db => drop(db, point)),
    history: (query, tx) => history(tx?.db ?? read, query),
    thin: (times, tx) => write(tx, db => thin(db, times)),
    spending: (account, since) => readUsageReports(read, account, since),
  }
}

type AccountPatch = { account: string; label?: string; place?: string; updated_at: number }

async function putAccount(db: Kysely<Tables>, { account, ...patch }: AccountPatch): Promise<void> {
  await db
    .insertInto('quota_accounts')
    .values({ account, label: account, place: null, ...patch })
    .onConflict(same => same.column('account').doUpdateSet(patch))
    .execute()
}

/** A damaged value counts as missing: `ccusage` is then not called. */
function parseCcusageEnv(text: string | null): CcusageEnv | null {
  try {
    return text === null ? null : (JSON.parse(text) as CcusageEnv)
  } catch {
    return null
  }
}

async function put(db: Kysely<Tables>, account: string, row: QuotaWindow): Promise<void> {
  const { window, source, ...figures } = row
  await db
    .insertInto('quota_windows')
    .values({ account, window, source, ...figures })
    .onConflict(same => same.columns(['account', 'window', 'source']).doUpdateSet(figures))
    .execute()
}

async function keep(db: Kysely<Tables>, account: string, row: QuotaWindow): Promise<void> {
  const { utilization, resets_at } = row
  await db
    .insertInto('quota_history')
    .values({ account, ...row })
    .onConflict(same => same.columns(['account', 'window', 'source', 'at']).doUpdateSet({ utilization, resets_at }))
    .execute()
}

async function drop(db: Kysely<Tables>, { account, window, source, at }: QuotaHistoryKey) {
  await db
    .deleteFrom('quota_history')
    .where('account', '=', account)
    .where('window', '=', window)
    .where('source', '=', source)
    .where('at', '=', at)
    .execute()
}

function history(db: Kysely<Tables>, { account, window, source, since }: QuotaHistoryQuery): Promise<QuotaWindow[]> {
  return db
    .selectFrom('quota_history')
    .select(['window', 'utilization', 'resets_at', 'source', 'at'])
    .where('account', '=', account)
    .where('window', '=', window)
    .where('source', '=', source)
    .where('at', '>=', since)
    .orderBy('at')
    .execute()
}

async function thin(
  db: Kysely<Tables>,
  { forgetBefore, forgetAfter, thinBefore, stepMs }: QuotaHistoryRetention,
): Promise<void> {
  await db
    .deleteFrom('quota_history')
    .where(({ eb, or }) => or([eb('at', '<', forgetBefore), eb('at', '>', forgetAfter)]))
    .execute()
  const rows = await db
    .selectFrom('quota_history')
    .select(['account', 'window', 'source', 'at'])
    .where('at', '<', thinBefore)
    .orderBy('at', 'desc')
    .execute()
  // The last point of each step stays, because it says how full the window was when the step ended.
  const keptSteps = new Set<string>()
  for (const row of rows) {
    const step = `${row.account} ${row.window} ${row.source} ${Math.floor(row.at / stepMs)}`
    if (keptSteps.has(step)) await drop(db, row)
    else keptSteps.add(step)
  }
}

/** Opens the table of account gates. A gate is read and written in one transaction, because two limits of one account may arrive at once. */
export function openAccountGateStore(read: Kysely<Tables>): AccountGateStore {
  return {
    get: async (account, tx) => {
      const select = (tx?.db ?? read).selectFrom('gates').selectAll()
      const row = await select.where('account', '=', account).executeTakeFirst()
      return row && parseGate(row)
    },
    list: async () => (await read.selectFrom('gates').selectAll().orderBy('account').execute()).map(parseGate),
    put: async (gate, at, tx) => {
      const { account, ...rest } = { ...gate, held: gate.held ? 1 : 0, updated_at: at }
      await tx.db
        .insertInto('gates')
        .values({ account, ...rest })
        .onConflict(same => same.column('account').doUpdateSet(rest))
        .execute()
    },
  }
}

function parseGate({ updated_at: _, ...gate }: GatesTable): AccountGate {
  return { ...gate, held: gate.held !== 0 }
}
