import type { Clock } from '../../base/clock.ts'
import type { Config } from '../../domain/config/settings.ts'
import {
  type AccountQuota,
  easesAt,
  isCurrent,
  levelAt,
  levelOf,
  type QuotaThresholds,
  type QuotaWindow,
  windowLength,
} from '../../domain/quota.ts'
import { accountLabel, speaksClaude } from '../../domain/vendors.ts'
import type { Store, Tx } from '../../store/store.ts'
import { openCcusage } from './ccusage.ts'
import { ESTIMATE_MS, estimateSpending, forecastQuota } from './quota-forecast.ts'

/** An estimate reads what every session of the last hour reported, and a board asks for it with every step. */
const FRESH_MS = 1_000

export type QuotaSettings = Config['quota']

export interface QuotaBookDeps {
  store: Pick<Store, 'quota' | 'transaction'>
  clock: Clock
  /** The settings in force now, for whoever asks without saying their own. */
  settings(): Promise<QuotaSettings>
}

/** How full accounts are, by the best source there is. */
export interface QuotaBook {
  /** A session of this account begins: what it is called, and where `ccusage` finds its files. Keeps no secret. */
  met(account: string, agent: { agent: string; env: Record<string, string> }, tx?: Tx): Promise<void>
  /** The vendor told how full its windows are. */
  seen(account: string, windows: readonly QuotaWindow[], tx?: Tx): Promise<void>
  /** What the vendor told so far counts as reset: a person has reason to think that it is over. */
  outdate(account: string, tx: Tx): Promise<void>
  /** What counts now: the vendor's word, else that of ccusage, else our own estimate. */
  windows(account: string, settings?: QuotaSettings): Promise<QuotaWindow[]>
  /** The same with everything a person wants to know. */
  of(account: string, settings?: QuotaSettings): Promise<AccountQuota>
  list(): Promise<AccountQuota[]>
}

/** Opens the book over the store's rows. */
export function openQuota({ store, clock, settings }: QuotaBookDeps): QuotaBook {
  const ccusage = openCcusage(clock)
  const rows = store.quota
  const look = async (account: string, held: QuotaSettings): Promise<QuotaLookup> => {
    const now = clock.now()
    const told = (await rows.windows(account)).map(({ account: _, ...window }) => window)
    const vendor = told.filter(({ source }) => source === 'vendor')
    const current = vendor.filter(window => isCurrent(window, now))
    if (current.some(({ window }) => window === 'five_hour')) return { windows: current, past: [], notes: [] }
    const past = vendor.filter(window => !isCurrent(window, now))
    const asked = await askCcusage(account, held)
    if ('window' in asked) return { windows: [...current, ...asked.window], past, notes: [] }
    if (current.length > 0) return { windows: current, past, notes: [] }
    return { windows: [await estimate(account, held.max_tokens_per_hour)], past, notes: [asked.problem] }
  }
  const estimates = new Map<string, QuotaWindow>()
  const estimate = async (account: string, maxTokensPerHour: number): Promise<QuotaWindow> => {
    const now = clock.now()
    const key = `${account} ${maxTokensPerHour}`
    const known = estimates.get(key)
    if (known && Math.abs(now - known.at) < FRESH_MS) return known
    const fresh = estimateSpending(await rows.spending(account, now - ESTIMATE_MS), maxTokensPerHour, now)
    estimates.set(key, fresh)
    return fresh
  }
  const askCcusage = async (account: string, held: QuotaSettings): Promise<CcusageAnswer> => {
    if (held.token_limit === undefined) return { problem: 'ccusage is not asked: quota.token_limit is not set' }
    const place = (await rows.accounts()).find(one => one.account === account)?.place
    if (!place) return { problem: 'ccusage is not asked: where the agent keeps its files is not known' }
    const reading = await ccusage({ program: held.ccusage, place, tokenLimit: held.token_limit })
    if ('problem' in reading) return reading
    if (reading.window) await recordQuotaHistory({ store, clock, account, windows: [reading.window] })
    return { window: reading.window ? [reading.window] : [] }
  }
  const describe = async (account: string, label: string, held: QuotaSettings): Promise<AccountQuota> => {
    const { windows, past, notes } = await look(account, held)
    const now = clock.now()
    const thresholds = thresholdsOf(held)
    const shown = await Promise.all(
      windows.map(async window => {
        const since = now - windowLength(window.window)
        const points = await rows.history({ account, window: window.window, source: window.source, since })
        const level = levelAt(window.utilization, thresholds)
        return { ...window, level, forecast: forecastQuota(points, window.window, now) ?? null }
      }),
    )
    return {
      account,
      label,
      windows: shown,
      past,
      level: levelOf(windows, thresholds, now),
      warns: levelOf(windows, { ...thresholds, gateOnEstimate: true }, now),
      eases_at: easesAt(windows, thresholds, now) ?? null,
      notes,
    }
  }
  return {
    async met(account, { agent, env }, tx) {
      const { HOME, PATH, CLAUDE_CONFIG_DIR } = env
      const reads = speaksClaude(agent) // ccusage would count another vendor's files as this one's
      const work = async (own: Tx) => {
        await rows.label(account, accountLabel(agent, env), own)
        if (reads) await rows.place(account, { HOME, PATH, CLAUDE_CONFIG_DIR }, own)
      }
      await (tx ? work(tx) : store.transaction(work))
    },
    seen: (account, windows, tx) => recordQuotaHistory({ store, clock, account, windows, tx }),
    async outdate(account, tx) {
      const now = clock.now()
      for (const { account: _, ...window } of await rows.windows(account, tx)) {
        if (isCurrent(window, now)) await rows.put(account, { ...window, resets_at: now }, tx)
      }
    },
    windows: async (account, held) => (await look(account, held ?? (await settings()))).windows,
    async of(account, held) {
      const label = (await rows.accounts()).find(one => one.account === account)?.label ?? account
      return describe(account, label, held ?? (await settings()))
    },
    async list() {
      const held = await settings()
      const named = new Map((await rows.accounts()).map(({ account, label }) => [account, label]))
      for (const { account } of await rows.windows()) if (!named.has(account)) named.set(account, account)
      return Promise.all([...named].map(([account, label]) => describe(account, label, held)))
    },
  }
}

/** The settings as the levels take them. */
function thresholdsOf(settings: QuotaSettings): QuotaThresholds {
  return {
    notice: settings.notice_percent,
    warning: settings.warning_percent,
    critical: settings.critical_percent,
    gateOnEstimate: settings.gate_on_estimate,
  }
}

interface QuotaLookup {
  windows: QuotaWindow[]
  /** The vendor's word whose reset has come. */
  past: QuotaWindow[]
  notes: string[]
}

type CcusageAnswer = { window: QuotaWindow[] } | { problem: string }

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** A word that changes nothing is kept that often, so that standing still can be told from silence. */
const UNCHANGED_MS = 5 * MINUTE_MS
const KEPT_MS = 14 * DAY_MS
/** What is older than a day is kept in steps: forecasts look at the last hours, people at the days. */
const STEP_MS = 10 * MINUTE_MS

interface HistoryDeps {
  store: Pick<Store, 'quota' | 'transaction'>
  clock: Clock
  account: string
  windows: readonly QuotaWindow[]
  tx?: Tx | undefined
}

/** Stores the newest word on some windows, and a point of history for each where it says something new. */
export async function recordQuotaHistory({ store, clock, account, windows, tx }: HistoryDeps): Promise<void> {
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
  store: HistoryDeps['store'],
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

function thin(store: HistoryDeps['store'], now: number, tx: Tx): Promise<void> {
  return store.quota.thin(
    { forgetBefore: now - KEPT_MS, forgetAfter: now, thinBefore: now - DAY_MS, stepMs: STEP_MS },
    tx,
  )
}
