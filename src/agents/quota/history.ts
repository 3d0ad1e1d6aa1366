import type { Clock } from '../../base/clock.ts'
import type { QuotaWindow } from '../../domain/account/quota.ts'
import type { Store, Tx } from '../../store/store.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** A word that changes nothing is kept that often, so that standing still can be told from silence. */
const UNCHANGED_MS = 5 * MINUTE_MS
const KEPT_MS = 14 * DAY_MS
/** What is older than a day is kept in steps: forecasts look at the last hours, people at the days. */
const STEP_MS = 10 * MINUTE_MS

interface Keeping {
  store: Pick<Store, 'quota' | 'transaction'>
  clock: Clock
  account: string
  windows: readonly QuotaWindow[]
  tx?: Tx | undefined
}

/** Stores the newest word on some windows, and a point of history for each where it says something new. */
export async function keepHistory({ store, clock, account, windows, tx }: Keeping): Promise<void> {
  if (windows.length === 0) return
  const work = async (own: Tx) => {
    const known = await store.quota.windows(account, own)
    for (const window of windows) {
      const before = known.find(one => one.window === window.window && one.source === window.source)
      const now = clock.now()
      // From a time that has not come: the clock was set back, and what it says now counts.
      const isFromTheFuture = before !== undefined && before.at > now
      if (before && before.at > window.at && !isFromTheFuture) continue
      if (isFromTheFuture || isNewDay(before, window)) await thin(store, now, own)
      await store.quota.put(account, window, own)
      await keepPoint(store, { account, window, tx: own })
    }
  }
  await (tx ? work(tx) : store.transaction(work))
}

/** Of one minute only the last word is kept, and of words that say the same one in five minutes. */
async function keepPoint(
  store: Keeping['store'],
  { account, window, tx }: { account: string; window: QuotaWindow; tx: Tx },
): Promise<void> {
  const query = { account, window: window.window, source: window.source, since: window.at - UNCHANGED_MS }
  const recent = await store.quota.history(query, tx)
  const [earlier, last] = [recent.at(-2), recent.at(-1)]
  if (last && isSame(last, window)) return
  if (earlier && last && window.at - earlier.at < MINUTE_MS) await store.quota.drop({ account, ...last }, tx)
  await store.quota.keep(account, window, tx)
}

function isSame(before: QuotaWindow, after: QuotaWindow): boolean {
  return before.utilization === after.utilization && before.resets_at === after.resets_at
}

function isNewDay(before: QuotaWindow | undefined, after: QuotaWindow): boolean {
  return before !== undefined && Math.floor(before.at / DAY_MS) !== Math.floor(after.at / DAY_MS)
}

function thin(store: Keeping['store'], now: number, tx: Tx): Promise<void> {
  return store.quota.thin(
    { forgetBefore: now - KEPT_MS, forgetAfter: now, thinBefore: now - DAY_MS, stepMs: STEP_MS },
    tx,
  )
}
