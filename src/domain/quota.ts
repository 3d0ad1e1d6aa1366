import * as z from 'zod'
import { HOUR_MS, MINUTE_MS } from '../base/clock.ts'
import { SessionStatus } from './api.ts'
import { type AccountGate, FAULT_NAMES } from './limit.ts'
import { WINDOWS } from './option-values.ts'
import type { SessionEvent } from './session.ts'

/** The source of a figure: the vendor itself, `ccusage` from local files, or our own count. */
export const QuotaSource = z.enum(['vendor', 'ccusage', 'estimate'])
export type QuotaSource = z.infer<typeof QuotaSource>

/** How much of an allowance is used, as reported at one moment. */
export const QuotaWindow = z.object({
  /** `five_hour`, `seven_day` or another name of the vendor; `hour` is our own count. */
  window: z.string(),
  /** 0 to 1, or more if more was used than allowed. */
  utilization: z.number(),
  /** Null if it was not reported, or if the window slides (our own count of the last hour). */
  resets_at: z.number().nullable(),
  source: QuotaSource,
  at: z.number(),
  /** Of our own count: the tokens themselves. */
  tokens: z.number().optional(),
})
export type QuotaWindow = z.infer<typeof QuotaWindow>

/** The forecast if work continues at the recent pace. */
export const QuotaForecast = z.object({
  /** The share of the window used per hour. */
  per_hour: z.number(),
  /** When the window will be full; null if it resets first, or if nothing is used. */
  full_at: z.number().nullable(),
  /** How full it will be at its reset, if that comes first. */
  at_reset: z.number().nullable(),
})
export type QuotaForecast = z.infer<typeof QuotaForecast>

/** How close an account is to its limit. `unknown` never holds anything back (docs/adr/0012). */
export const QuotaLevel = z.enum(['unknown', 'ok', 'notice', 'warning', 'critical'])
export type QuotaLevel = z.infer<typeof QuotaLevel>

/** The beginning of the reason of every wait that ends as soon as the level is below critical. */
export const NEARLY_USED_UP = 'the allowance is nearly used up'

/** The percentage at which each level starts. */
export interface QuotaThresholds {
  notice: number
  warning: number
  critical: number
  /** Whether our own estimate may hold work back as well. */
  gateOnEstimate?: boolean | undefined
}

/** The length of a window. A window that is neither known nor named after its length counts as five hours, the shortest that vendors have. */
export function windowLength(window: string): number {
  if (Object.hasOwn(WINDOWS, window)) return WINDOWS[window as keyof typeof WINDOWS].hours * HOUR_MS
  const [, minutes] = /^(\d+)_minutes$/.exec(window) ?? []
  if (minutes !== undefined && Number(minutes) > 0) return Number(minutes) * MINUTE_MS
  return (window.startsWith('seven_day') ? WINDOWS.seven_day : WINDOWS.five_hour).hours * HOUR_MS
}

/** How long a report without a reset time counts; then it is tried again. */
const REPORT_COUNTS_MS = HOUR_MS / 2

/** Until when a report counts: its reset, or a fixed time if no reset was reported. */
function countsUntil({ resets_at, at }: QuotaWindow): number {
  return resets_at ?? at + REPORT_COUNTS_MS
}

/** Whether a report still counts. */
export function isCurrent(window: QuotaWindow, now: number): boolean {
  return now < countsUntil(window)
}

/** The level that holds work back: that of the fullest window whose report still counts. */
export function levelOf(windows: readonly QuotaWindow[], thresholds: QuotaThresholds, now: number): QuotaLevel {
  const counted = windows.filter(
    window => isCurrent(window, now) && (window.source !== 'estimate' || thresholds.gateOnEstimate === true),
  )
  if (counted.length === 0) return 'unknown'
  return levelAt(Math.max(...counted.map(({ utilization }) => utilization)), thresholds)
}

/** The level of a utilization. */
export function levelAt(utilization: number, { notice, warning, critical }: QuotaThresholds): QuotaLevel {
  // Rounded to remove floating-point errors: 0.85 is 85 %.
  const percent = Math.round(utilization * 1_000_000) / 10_000
  if (percent >= critical) return 'critical'
  if (percent >= warning) return 'warning'
  return percent >= notice ? 'notice' : 'ok'
}

/** How many sessions of an account may run for one more to start. Running sessions are not affected. */
export function startsAllowed(level: QuotaLevel, max: number): number {
  switch (level) {
    case 'unknown':
    case 'ok':
      return max
    case 'notice':
      return Math.ceil(max / 2)
    case 'warning':
      return Math.min(1, max)
    case 'critical':
      return 0
  }
}

/** When a critical account should be checked again: the last reset of its critical windows. Undefined if no time is known. */
export function findCriticalReset(
  windows: readonly QuotaWindow[],
  thresholds: QuotaThresholds,
  now: number,
): number | undefined {
  const resets = windows.filter(window => levelOf([window], thresholds, now) === 'critical').map(countsUntil)
  return resets.length === 0 ? undefined : Math.max(...resets)
}

/** Whether one level is closer to the limit than another. */
export function isHigherLevel(level: QuotaLevel, than: QuotaLevel): boolean {
  return QuotaLevel.options.indexOf(level) > QuotaLevel.options.indexOf(than)
}

type LimitEvent = Extract<SessionEvent, { kind: 'limit' }>

/** The windows in a `limit` event of a driver. A refusal means a full window, whatever number comes with it. */
export function windowsIn(event: LimitEvent, now: number): QuotaWindow[] {
  const reported = new Map<string, QuotaWindow>()
  for (const [window, { utilization, resetsAt }] of Object.entries(event.windows ?? {})) {
    if (utilization === undefined) continue
    reported.set(window, { window, utilization, resets_at: resetsAt ?? null, source: 'vendor', at: now })
  }
  const named = event.window
  if (named === undefined) return [...reported.values()]
  const previous = reported.get(named)
  const resets_at = event.resetsAt ?? previous?.resets_at ?? null
  // A refusal without a reset is left to the account gate, which tries again after some minutes.
  const isFull = event.status === 'rejected' && resets_at !== null
  const utilization = isFull ? Math.max(1, previous?.utilization ?? 1) : (previous?.utilization ?? event.utilization)
  if (utilization !== undefined)
    reported.set(named, { window: named, utilization, resets_at, source: 'vendor', at: now })
  return [...reported.values()]
}

/** The windows of one account in `GET /quota`. */
export const AccountQuota = z.object({
  account: z.string(),
  /** A readable name without any secret. */
  label: z.string(),
  windows: z.array(QuotaWindow.extend({ level: QuotaLevel, forecast: QuotaForecast.nullable() })),
  /** The vendor's reports on windows that have reset since. */
  past: z.array(QuotaWindow),
  /** The level that holds work back. */
  level: QuotaLevel,
  /** The level including our own estimate, which is only a warning unless `quota.gate_on_estimate` is set. */
  warns: QuotaLevel,
  /** When a critical account should be checked again. */
  eases_at: z.number().nullable(),
  /** Why a better source was not used. */
  notes: z.array(z.string()),
})
export type AccountQuota = z.infer<typeof AccountQuota>

/** A session that resumes by itself later, or is held back. */
export const WaitingSession = z.object({
  id: z.string(),
  name: z.string(),
  status: SessionStatus,
  resumes_at: z.number().nullable(),
  held: z.boolean(),
})
export type WaitingSession = z.infer<typeof WaitingSession>

/** An account that is tried before its reset, because a person asked for it. */
export const TriedAccount = z.object({
  account: z.string(),
  sessions: z.array(z.string()),
})
export type TriedAccount = z.infer<typeof TriedAccount>

/** `AccountGate` as the API shows it; commands that only look at gates do not load zod. */
const Gate = z.object({
  account: z.string(),
  closed_until: z.number().nullable(),
  window: z.string().nullable(),
  source: z.enum(['record', 'probe', ...FAULT_NAMES]).nullable(),
  reason: z.string().nullable(),
  probes: z.number(),
  closed_at: z.number().nullable(),
  held: z.boolean(),
  held_by: z.string().nullable(),
  held_at: z.number().nullable(),
}) satisfies z.ZodType<AccountGate>

/** GET /quota */
export const QuotaView = z.object({
  at: z.number(),
  accounts: z.array(AccountQuota.extend({ gate: Gate.nullable(), waiting: z.array(WaitingSession) })),
  /** Set if a person holds all accounts back. */
  hold: z.object({ by: z.string(), at: z.number() }).nullable(),
  /** After `release` with `now`: the accounts that are tried, each with its sessions in the order in which they resume. */
  tried: z.array(TriedAccount).optional(),
})
export type QuotaView = z.infer<typeof QuotaView>

/** POST /quota/hold; without an account, all accounts. */
export const HoldQuota = z.strictObject({ account: z.string().min(1).optional() })

/** POST /quota/release. `now` also opens accounts that a limit has closed. */
export const ReleaseQuota = HoldQuota.extend({ now: z.boolean().optional() })

/** The accounts that match a reference: an id, the beginning of it, or a part of the label. */
export function matchAccounts<Known extends { account: string; label: string }>(
  ref: string,
  known: readonly Known[],
): Known[] {
  const exact = known.find(({ account, label }) => account === ref || label === ref)
  if (exact) return [exact]
  const wanted = ref.toLowerCase()
  return known.filter(({ account, label }) => account.startsWith(wanted) || label.toLowerCase().includes(wanted))
}
