import * as z from 'zod'
import type { SessionStatus } from './api.ts'
import type { AccountGate } from './limit.ts'
import type { SessionEvent } from './session.ts'

/** Who told it: the vendor itself, `ccusage` from local files, or our own count. */
export const QuotaSource = z.enum(['vendor', 'ccusage', 'estimate'])
export type QuotaSource = z.infer<typeof QuotaSource>

/** How much of an allowance is used, as it was told at one moment. */
export const QuotaWindow = z.object({
  /** `five_hour`, `seven_day`, whatever else the vendor names; `hour` is our own count. */
  window: z.string(),
  /** 0 to 1, and beyond where more was used than allowed. */
  utilization: z.number(),
  /** Null where nobody told it, or where it slides (our own count of the last hour). */
  resets_at: z.number().nullable(),
  source: QuotaSource,
  at: z.number(),
})
export type QuotaWindow = z.infer<typeof QuotaWindow>

/** What comes of it if work goes on at the pace of late. */
export const QuotaForecast = z.object({
  /** Share of the window used in an hour. */
  per_hour: z.number(),
  /** Null where it resets first, or where nothing is used. */
  full_at: z.number().nullable(),
  /** How full it will be when it resets, where that comes first. */
  at_reset: z.number().nullable(),
})
export type QuotaForecast = z.infer<typeof QuotaForecast>

/** Where on the way to the wall an account is. `unknown` never holds anything back (docs/adr/0012). */
export const QuotaLevel = z.enum(['unknown', 'ok', 'notice', 'warning', 'critical'])
export type QuotaLevel = z.infer<typeof QuotaLevel>

/** Percent from which a level counts. */
export interface QuotaThresholds {
  notice: number
  warning: number
  critical: number
  /** Whether our own estimate may hold work back, too. */
  gateOnEstimate?: boolean | undefined
}

export const DEFAULT_THRESHOLDS: QuotaThresholds = { notice: 50, warning: 85, critical: 90 }

const HOUR_MS = 3_600_000

/** How long a window is; one we do not know is taken for the shortest that vendors have. */
export function windowLength(window: string): number {
  if (window === 'hour') return HOUR_MS
  return window.startsWith('seven_day') ? 7 * 24 * HOUR_MS : 5 * HOUR_MS
}

/** Nobody knows when it ends: believed for so long, then it is tried anew. */
const WITHOUT_RESET_MS = HOUR_MS / 2

/** Until when a word counts: its reset, or a while where none was told. */
function countsUntil({ resets_at, at }: QuotaWindow): number {
  return resets_at ?? at + WITHOUT_RESET_MS
}

/** Whether what was told still says something. */
export function isCurrent(window: QuotaWindow, now: number): boolean {
  return now < countsUntil(window)
}

/** The level that holds work back: that of the fullest window whose word still counts. */
export function levelOf(windows: readonly QuotaWindow[], thresholds: QuotaThresholds, now: number): QuotaLevel {
  const counted = windows.filter(
    one => isCurrent(one, now) && (one.source !== 'estimate' || thresholds.gateOnEstimate === true),
  )
  if (counted.length === 0) return 'unknown'
  return levelAt(Math.max(...counted.map(one => one.utilization)), thresholds)
}

/** The level of one number. */
export function levelAt(utilization: number, { notice, warning, critical }: QuotaThresholds): QuotaLevel {
  // Rounded away from what adding fractions leaves behind: 0.85 is 85 %.
  const percent = Math.round(utilization * 1_000_000) / 10_000
  if (percent >= critical) return 'critical'
  if (percent >= warning) return 'warning'
  return percent >= notice ? 'notice' : 'ok'
}

/** How many sessions of an account may be at work when one more wants to start. What runs already is not touched by this. */
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

/** When a critical account can be looked at again: the last reset of what makes it so. Undefined where no time is known. */
export function easesAt(windows: readonly QuotaWindow[], thresholds: QuotaThresholds, now: number): number | undefined {
  const resets = windows.filter(one => levelOf([one], thresholds, now) === 'critical').map(countsUntil)
  return resets.length === 0 ? undefined : Math.max(...resets)
}

/** Whether one level is nearer the wall than another. */
export function isHigherLevel(level: QuotaLevel, than: QuotaLevel): boolean {
  return QuotaLevel.options.indexOf(level) > QuotaLevel.options.indexOf(than)
}

type LimitEvent = Extract<SessionEvent, { kind: 'limit' }>

/** What a `limit` event of a driver says about the windows. A refusal is a full window, whatever the number beside it. */
export function windowsIn(event: LimitEvent, now: number): QuotaWindow[] {
  const told = new Map<string, QuotaWindow>()
  for (const [window, { utilization, resetsAt }] of Object.entries(event.windows ?? {})) {
    if (utilization === undefined) continue
    told.set(window, { window, utilization, resets_at: resetsAt ?? null, source: 'vendor', at: now })
  }
  const named = event.window
  if (named === undefined) return [...told.values()]
  const known = told.get(named)
  const resets_at = event.resetsAt ?? known?.resets_at ?? null
  // Without a reset a refusal is the gate's business alone, which tries again after minutes.
  const isFull = event.status === 'rejected' && resets_at !== null
  const utilization = isFull ? Math.max(1, known?.utilization ?? 1) : (known?.utilization ?? event.utilization)
  if (utilization !== undefined) told.set(named, { window: named, utilization, resets_at, source: 'vendor', at: now })
  return [...told.values()]
}

/** One account in `GET /quota`, as far as its windows go. */
export interface AccountQuota {
  account: string
  /** In words, without any secret. */
  label: string
  windows: (QuotaWindow & { level: QuotaLevel; forecast: QuotaForecast | null })[]
  /** What the vendor told of windows that have reset since. */
  past: QuotaWindow[]
  /** What holds work back. */
  level: QuotaLevel
  /** The same with our own estimate, which is only a warning unless `quota.gate_on_estimate` says otherwise. */
  warns: QuotaLevel
  /** When a critical account can be looked at again. */
  eases_at: number | null
  /** Why a better source was not used. */
  notes: string[]
}

/** A session that goes on by itself later, or is kept from it. */
export interface WaitingSession {
  id: string
  name: string
  status: SessionStatus
  resumes_at: number | null
  held: boolean
}

/** GET /quota */
export interface QuotaView {
  at: number
  accounts: (AccountQuota & { gate: AccountGate | null; waiting: WaitingSession[] })[]
  /** A person holds everything back. */
  hold: { by: string; at: number } | null
  /** After `release` with `now`: the accounts that are tried, each with its sessions in the order in which they go on. */
  tried?: TriedAccount[] | undefined
}

/** An account that a person has tried before its time. */
export interface TriedAccount {
  account: string
  sessions: string[]
}

/** POST /quota/hold; without an account all of them. */
export const HoldQuota = z.strictObject({ account: z.string().min(1).optional() })

/** POST /quota/release. `now` opens what a limit has closed, too. */
export const ReleaseQuota = HoldQuota.extend({ now: z.boolean().optional() })

/** The accounts that a person may mean: by the id, the beginning of it, or a part of the label. */
export function accountsMeant<Known extends { account: string; label: string }>(
  ref: string,
  known: readonly Known[],
): Known[] {
  const whole = known.find(({ account, label }) => account === ref || label === ref)
  if (whole) return [whole]
  const wanted = ref.toLowerCase()
  return known.filter(({ account, label }) => account.startsWith(wanted) || label.toLowerCase().includes(wanted))
}
