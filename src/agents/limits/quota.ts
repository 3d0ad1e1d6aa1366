import { type Clock, DAY_MS, MINUTE_MS } from '../../base/clock.ts'
import { AGENTS, isAgentKind } from '../../domain/agents/agent-registry.ts'
import type { Config } from '../../domain/config/settings.ts'
import { HOOK_VENDORS, type HookVendor } from '../../domain/hooks.ts'
import {
  type AccountQuota,
  findCriticalReset,
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

/** An estimate reads the reports of every session of the last hour, and a board asks for it with every step. */
const FRESH_MS = 1_000

export type QuotaSettings = Config['quota']

export interface QuotaBookDeps {
  store: Pick<Store, 'quota' | 'transaction' | 'observed'>
  clock: Clock
  /** The person's settings now. What fills an account is theirs to say, whichever project's session uses it. */
  settings(): Promise<QuotaSettings>
}

/** How full accounts are, from the best available source. */
export interface QuotaBook {
  /** A session of this account begins: stores the account's label and where `ccusage` finds its files, but no secret. */
  rememberAgent(account: string, agent: { agent: string; env: Record<string, string> }, tx?: Tx): Promise<void>
  /** The vendor reported how full its windows are. */
  seen(account: string, windows: readonly QuotaWindow[], tx?: Tx): Promise<void>
  /** The vendor's reports so far count as reset, because a person has reason to think that the limit is over. */
  outdate(account: string, tx: Tx): Promise<void>
  /** How much of the tokens of an hour the agents of a vendor have used that pcc did not start. */
  observed(vendor: HookVendor): Promise<number>
  /** The windows that count now: the vendor's, else those of ccusage, else our own estimate. */
  windows(account: string): Promise<QuotaWindow[]>
  /** The windows with everything a person wants to know. */
  of(account: string): Promise<AccountQuota>
  list(): Promise<AccountQuota[]>
}

/** Opens the book over the store's rows. */
export function openQuota({ store, clock, settings }: QuotaBookDeps): QuotaBook {
  const ccusage = openCcusage(clock)
  const rows = store.quota
  const lookUp = async (account: string, limits: QuotaSettings): Promise<QuotaLookup> => {
    const now = clock.now()
    const stored = (await rows.windows(account)).map(({ account: _, ...window }) => window)
    const vendor = stored.filter(({ source }) => source === 'vendor')
    const current = vendor.filter(window => isCurrent(window, now))
    if (current.some(({ window }) => window === 'five_hour')) return { windows: current, past: [], notes: [] }
    const past = vendor.filter(window => !isCurrent(window, now))
    const answer = await askCcusage(account, limits)
    if ('window' in answer) return { windows: [...current, ...answer.window], past, notes: [] }
    if (current.length > 0) return { windows: current, past, notes: [] }
    return { windows: [await estimate(account, limits.max_tokens_per_hour)], past, notes: [answer.problem] }
  }
  const estimates = new Map<string, QuotaWindow>()
  const estimate = async (account: string, maxTokensPerHour: number): Promise<QuotaWindow> => {
    const now = clock.now()
    const key = `${account} ${maxTokensPerHour}`
    const known = estimates.get(key)
    if (known && Math.abs(now - known.at) < FRESH_MS) return known
    const since = now - ESTIMATE_MS
    const spent = { sessions: await rows.spending(account, since), observed: await observedTokens(account, since) }
    const fresh = estimateSpending(spent, maxTokensPerHour, now)
    estimates.set(key, fresh)
    return fresh
  }
  /** Which account an agent uses that a person starts is not known: it counts for every account of its vendor. */
  const observedTokens = async (account: string, since: number): Promise<number> => {
    const kind = (await rows.accounts()).find(row => row.account === account)?.label.split(' · ')[0] ?? ''
    const tag = isAgentKind(kind) ? AGENTS[kind].vendor.tag : undefined
    const vendors = HOOK_VENDORS.filter(vendor => AGENTS[vendor].vendor.tag === tag)
    const tokens = await Promise.all(vendors.map(vendor => store.observed.spent(vendor, since)))
    return tokens.reduce((sum, each) => sum + each, 0)
  }
  const askCcusage = async (account: string, limits: QuotaSettings): Promise<CcusageAnswer> => {
    if (limits.token_limit === undefined) return { problem: 'ccusage is not asked: quota.token_limit is not set' }
    const place = (await rows.accounts()).find(row => row.account === account)?.place
    if (!place) return { problem: 'ccusage is not asked: where the agent keeps its files is not known' }
    const reading = await ccusage({ program: limits.ccusage, place, tokenLimit: limits.token_limit })
    if ('problem' in reading) return reading
    if (reading.window) await recordQuotaHistory({ store, clock, account, windows: [reading.window] })
    return { window: reading.window ? [reading.window] : [] }
  }
  const describe = async (account: string, label: string, limits: QuotaSettings): Promise<AccountQuota> => {
    const { windows, past, notes } = await lookUp(account, limits)
    const now = clock.now()
    const thresholds = thresholdsOf(limits)
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
      eases_at: findCriticalReset(windows, thresholds, now) ?? null,
      notes,
    }
  }
  return {
    async rememberAgent(account, { agent, env }, tx) {
      const { HOME, PATH, CLAUDE_CONFIG_DIR } = env
      const isClaude = speaksClaude(agent) // ccusage would count another vendor's files as this one's
      const work = async (own: Tx) => {
        await rows.label(account, accountLabel(agent, env), own)
        if (isClaude) await rows.place(account, { HOME, PATH, CLAUDE_CONFIG_DIR }, own)
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
    observed: async vendor =>
      (await store.observed.spent(vendor, clock.now() - ESTIMATE_MS)) / (await settings()).max_tokens_per_hour,
    windows: async account => (await lookUp(account, await settings())).windows,
    async of(account) {
      const label = (await rows.accounts()).find(row => row.account === account)?.label ?? account
      return describe(account, label, await settings())
    },
    async list() {
      const limits = await settings()
      const named = new Map((await rows.accounts()).map(({ account, label }) => [account, label]))
      for (const { account } of await rows.windows()) if (!named.has(account)) named.set(account, account)
      return Promise.all([...named].map(([account, label]) => describe(account, label, limits)))
    },
  }
}

/** The settings in the form that the levels need. */
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
  /** The vendor's windows whose reset has passed. */
  past: QuotaWindow[]
  notes: string[]
}

type CcusageAnswer = { window: QuotaWindow[] } | { problem: string }

/** Unchanged values are stored this often, because a value that stays the same is not missing data. */
const UNCHANGED_MS = 5 * MINUTE_MS
const KEPT_MS = 14 * DAY_MS
/** Points older than a day are kept in these steps: forecasts use the last hours, people look at days. */
const STEP_MS = 10 * MINUTE_MS

interface HistoryDeps {
  store: Pick<Store, 'quota' | 'transaction'>
  clock: Clock
  account: string
  windows: readonly QuotaWindow[]
  tx?: Tx | undefined
}

/** Stores the newest values of some windows, and a point of history for each that changed. */
export async function recordQuotaHistory({ store, clock, account, windows, tx }: HistoryDeps): Promise<void> {
  if (windows.length === 0) return
  const work = async (own: Tx) => {
    const known = await store.quota.windows(account, own)
    for (const window of windows) {
      const before = known.find(row => row.window === window.window && row.source === window.source)
      const now = clock.now()
      // A row from the future: the clock was set back, and the present time counts.
      const isFromTheFuture = before !== undefined && before.at > now
      if (before && before.at > window.at && !isFromTheFuture) continue
      if (isFromTheFuture || isNewDay(before, window)) await thin(store, now, own)
      await store.quota.put(account, window, own)
      await keepPoint(store, { account, window, tx: own })
    }
  }
  await (tx ? work(tx) : store.transaction(work))
}

/** Keeps only the last point of a minute, and of equal points one in five minutes. */
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
