import type { Clock } from '../../base/clock.ts'
import { accountLabel } from '../../domain/account/label.ts'
import {
  type AccountQuota,
  easesAt,
  isCurrent,
  lengthOf,
  levelAt,
  levelOf,
  type QuotaWindow,
  type Thresholds,
} from '../../domain/account/quota.ts'
import { speaksClaude } from '../../domain/agents/vendors.ts'
import type { Config } from '../../domain/config/config.ts'
import type { Store, Tx } from '../../store/store.ts'
import { openCcusage } from './ccusage.ts'
import { ESTIMATE_MS, estimateOf } from './estimate.ts'
import { forecastOf } from './forecast.ts'
import { keepHistory } from './history.ts'

/** An estimate reads what every session of the last hour reported, and a board asks for it with every step. */
const FRESH_MS = 1_000

export type QuotaSettings = Config['quota']

export interface QuotaParts {
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
export function openQuota({ store, clock, settings }: QuotaParts): QuotaBook {
  const ccusage = openCcusage(clock)
  const rows = store.quota
  const look = async (account: string, held: QuotaSettings): Promise<Found> => {
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
    const fresh = estimateOf(await rows.spending(account, now - ESTIMATE_MS), maxTokensPerHour, now)
    estimates.set(key, fresh)
    return fresh
  }
  const askCcusage = async (account: string, held: QuotaSettings): Promise<Asked> => {
    if (held.token_limit === undefined) return { problem: 'ccusage is not asked: quota.token_limit is not set' }
    const place = (await rows.accounts()).find(one => one.account === account)?.place
    if (!place) return { problem: 'ccusage is not asked: where the agent keeps its files is not known' }
    const reading = await ccusage({ program: held.ccusage, place, tokenLimit: held.token_limit })
    if ('problem' in reading) return reading
    if (reading.window) await keepHistory({ store, clock, account, windows: [reading.window] })
    return { window: reading.window ? [reading.window] : [] }
  }
  const describe = async (account: string, label: string, held: QuotaSettings): Promise<AccountQuota> => {
    const { windows, past, notes } = await look(account, held)
    const now = clock.now()
    const thresholds = thresholdsOf(held)
    const shown = await Promise.all(
      windows.map(async window => {
        const since = now - lengthOf(window.window)
        const points = await rows.history({ account, window: window.window, source: window.source, since })
        const level = levelAt(window.utilization, thresholds)
        return { ...window, level, forecast: forecastOf(points, window.window, now) ?? null }
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
    seen: (account, windows, tx) => keepHistory({ store, clock, account, windows, tx }),
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
function thresholdsOf(settings: QuotaSettings): Thresholds {
  return {
    notice: settings.notice_percent,
    warning: settings.warning_percent,
    critical: settings.critical_percent,
    gateOnEstimate: settings.gate_on_estimate,
  }
}

interface Found {
  windows: QuotaWindow[]
  /** The vendor's word whose reset has come. */
  past: QuotaWindow[]
  notes: string[]
}

type Asked = { window: QuotaWindow[] } | { problem: string }
