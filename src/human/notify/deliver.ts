import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, DAY_MS } from '../../base/clock.ts'
import { crashPoint } from '../../base/crash-point.ts'
import { type Log, silentLog } from '../../base/log.ts'
import { readHours } from '../../domain/hours.ts'
import type { NoticeKind } from '../../domain/option-values.ts'
import type { Store } from '../../store/store.ts'
import type { OutboxRow } from '../../store/tables.ts'
import type { Channel, Notice, NotifyMessage, NotifySettings, SendResult } from './notice.ts'

/**
 * Delivery on one channel: rows that are due are gathered for a moment, settled decisions are dropped, quiet hours postpone rows,
 * and the rest goes out in as few messages as possible. A failure postpones only this channel's rows. A crash between sending a
 * message and recording that sends the message once more: twice is better than not at all.
 */
export interface Delivery {
  channel: Channel
  store: Pick<Store, 'outbox' | 'escalations'>
  /** The person's settings, or those of a project. */
  settings(project?: string): Promise<NotifySettings>
  /** Resolves when there may be something new. */
  news(signal: AbortSignal): Promise<void>
  clock: Clock
  log?: Log
  signal: AbortSignal
  times?: Partial<Times>
}

interface Times {
  /** How long a single row waits for others: well below the two seconds within which a person must be notified. */
  gatherMs: number
  /** A burst is over when nothing new has come for this long. */
  burstPauseMs: number
  /** The longest wait for the end of a burst. */
  burstMs: number
  firstRetryMs: number
  longestRetryMs: number
  /** A notice that could not be sent for this long is given up. */
  giveUpMs: number
}

const TIMES: Times = {
  gatherMs: 600,
  burstPauseMs: 1_000,
  burstMs: 15_000,
  firstRetryMs: 5_000,
  longestRetryMs: 15 * 60_000,
  giveUpMs: 3 * DAY_MS,
}

/** Reminders that become due within this time are sent together with one that is due. */
const TOGETHER_MS = 10 * 60_000
/** The clock may be set and the machine may sleep, so a far time is checked again now and then. */
const LONGEST_SLEEP_MS = 60 * 60_000
const NEVER = Number.MAX_SAFE_INTEGER

/** Sends what is due on a channel until the signal ends it. Never throws. */
export async function deliver(delivery: Delivery): Promise<void> {
  const { channel, signal, log = silentLog } = delivery
  const times = { ...TIMES, ...delivery.times }
  while (!signal.aborted) {
    try {
      await waitUntilDue(delivery)
      if (!signal.aborted) await gather(delivery, times)
      if (!signal.aborted) await send(delivery, times)
    } catch (error) {
      if (signal.aborted) return
      log.error({ channel: channel.name, error }, 'notifications could not be delivered')
      await pause(times.firstRetryMs, signal)
    }
  }
}

/** Waits until something is due. If nothing is scheduled, no timer is set. */
async function waitUntilDue({ channel, store, clock, news, signal }: Delivery): Promise<void> {
  while (!signal.aborted) {
    const finished = new AbortController()
    const either = AbortSignal.any([signal, finished.signal])
    // Listening starts before the query, so that a row that is added in between is not missed.
    const woken = news(either)
    try {
      await store.outbox.setBack(channel.name, clock.now())
      const next = await store.outbox.nextAt(channel.name)
      const waitMs = (next ?? NEVER) - clock.now()
      if (waitMs <= 0) return
      const timer = waitMs > NEVER / 2 ? [] : [pause(Math.min(waitMs, LONGEST_SLEEP_MS), either)]
      await Promise.race([woken, ...timer])
    } finally {
      finished.abort()
    }
  }
}

async function gather({ channel, store, clock, signal }: Delivery, times: Times): Promise<void> {
  const startedAt = clock.now()
  await pause(times.gatherMs, signal)
  let count = (await store.outbox.due(channel.name, clock.now())).length
  while (count > ROLL_UP_ABOVE && clock.now() - startedAt < times.burstMs && !signal.aborted) {
    await pause(times.burstPauseMs, signal)
    const newCount = (await store.outbox.due(channel.name, clock.now())).length
    if (newCount === count) return
    count = newCount
  }
}

async function send(delivery: Delivery, times: Times): Promise<void> {
  const { channel, store, clock, signal, log = silentLog } = delivery
  const settings = await delivery.settings()
  const now = clock.now()
  const togetherMs = Math.min(TOGETHER_MS, (settings.remind_minutes * 60_000) / 6)
  const due = (await store.outbox.due(channel.name, now + togetherMs)).map(readNotice)
  const together = due.filter(({ row }) => row.next_at <= now || row.state === 'told')
  const { open, settled } = await stillOpen(together, store)
  await store.outbox.update(idsOf(settled), { state: 'done' })
  const allowed = await rescheduleQuiet(open, settings, { store, now })
  const heard = await withSound(allowed, delivery)
  const unsent = new Set(heard)
  for (const { message, rows } of composeMessages(heard)) {
    crashPoint('outbox.before-send')
    const sent = await channel.send(message, signal)
    crashPoint('outbox.after-send')
    if (signal.aborted) return // the next daemon tries it again
    if (sent.ok) {
      await recordSent(rows, settings, { store, now: clock.now() })
      for (const notice of rows) unsent.delete(notice)
    } else {
      log.warn({ channel: channel.name, problem: sent.problem }, 'notification could not be sent; it is tried again')
      await rescheduleFailed([...unsent], sent, { store, now: clock.now(), times })
      return
    }
  }
}

function readNotice(row: DueNotice['row']): DueNotice {
  return { row, notice: JSON.parse(row.body) as Notice }
}

/** Whether a notice has a sound is said by the settings of its project. */
function withSound(rows: DueNotice[], { settings }: Pick<Delivery, 'settings'>): Promise<HeardNotice[]> {
  return Promise.all(rows.map(async due => ({ ...due, sound: (await settings(due.notice.project)).sound })))
}

/** Decisions that were answered or withdrawn meanwhile are not sent. */
async function stillOpen(
  rows: DueNotice[],
  store: Delivery['store'],
): Promise<{ open: DueNotice[]; settled: DueNotice[] }> {
  const open: DueNotice[] = []
  const settled: DueNotice[] = []
  for (const due of rows) {
    const { decision } = due.notice
    const found = decision && (await store.escalations.get(decision.number))
    if (decision && found?.state !== 'open') settled.push(due)
    else open.push(due)
  }
  return { open, settled }
}

interface RescheduleDeps {
  store: Delivery['store']
  now: number
}

/** Postpones the rows that fall into quiet hours, and returns the others. */
async function rescheduleQuiet(
  rows: DueNotice[],
  settings: NotifySettings,
  { store, now }: RescheduleDeps,
): Promise<DueNotice[]> {
  const allowed: DueNotice[] = []
  const later = new Map<number, DueNotice[]>()
  for (const due of rows) {
    const until = quietUntil(due.notice.kind, settings, now)
    if (until === undefined) allowed.push(due)
    else later.set(until, [...(later.get(until) ?? []), due])
  }
  for (const [until, quiet] of later) await store.outbox.update(idsOf(quiet), { next_at: until })
  return allowed
}

/** Schedules the next reminder of a decision, each time after twice as long, up to the number in the settings. */
async function recordSent(rows: DueNotice[], settings: NotifySettings, { store, now }: RescheduleDeps): Promise<void> {
  await store.outbox.update(idsOf(rows.filter(({ notice }) => !notice.decision)), { state: 'done', problem: null })
  const decisions = rows.filter(({ notice }) => notice.decision)
  const byCount = Map.groupBy(decisions, ({ row }) => (row.state === 'told' ? row.reminders + 1 : 0))
  for (const [reminders, same] of byCount) {
    const isRemindedAgain = reminders < settings.reminders
    const next_at = isRemindedAgain ? now + settings.remind_minutes * 60_000 * 2 ** reminders : NEVER
    await store.outbox.update(idsOf(same), { state: 'told', reminders, next_at, problem: null })
  }
}

type Failed = Extract<SendResult, { ok: false }>

async function rescheduleFailed(
  rows: DueNotice[],
  sent: Failed,
  { store, now, times }: RescheduleDeps & { times: Times },
): Promise<void> {
  for (const [tries, same] of Map.groupBy(rows, ({ row }) => row.tries)) {
    const backoffMs = Math.min(times.longestRetryMs, times.firstRetryMs * 2 ** Math.min(tries, 20))
    const next_at = now + Math.max(backoffMs, sent.retryAfterMs ?? 0)
    const [old, young] = [
      same.filter(isOld(now - times.giveUpMs)),
      same.filter(due => !isOld(now - times.giveUpMs)(due)),
    ]
    await store.outbox.update(idsOf(old), { state: 'failed', tries: tries + 1, problem: sent.problem })
    await store.outbox.update(idsOf(young), { tries: tries + 1, next_at, problem: sent.problem })
  }
}

/** A decision that still waits is never too old to send. */
function isOld(before: number): (due: DueNotice) => boolean {
  return ({ row, notice }) => row.created_at < before && !notice.decision
}

function idsOf(rows: DueNotice[]): number[] {
  return rows.map(({ row }) => row.id)
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined) // ended early: the caller checks the signal
}

/** A row with its parsed notice. */
interface DueNotice {
  row: OutboxRow
  notice: Notice
}

interface HeardNotice extends DueNotice {
  sound: boolean
}

/** More rows than this at once become one message. */
const ROLL_UP_ABOVE = 3
const MOST_LISTED = 5

/** The messages for rows that are due together, each with the rows that it covers. */
function composeMessages(rows: HeardNotice[]): { message: NotifyMessage; rows: HeardNotice[] }[] {
  if (rows.length > ROLL_UP_ABOVE) return [{ message: composeRollUp(rows), rows }]
  return rows.map(due => ({ message: composeSingle(due), rows: [due] }))
}

function composeSingle({ row, notice, sound }: HeardNotice): NotifyMessage {
  const { kind, title, text, decision } = notice
  return { kind, title: row.state === 'told' ? `Still waiting: ${title}` : title, text, decision, sound }
}

function composeRollUp(rows: HeardNotice[]): NotifyMessage {
  const sound = rows.some(due => due.sound)
  const counts = Map.groupBy(rows, ({ notice }) => notice.kind)
  const summary = ORDER.flatMap(kind => {
    const count = counts.get(kind)?.length ?? 0
    return count === 0 ? [] : [`${count} ${NOUNS[kind](count)}`]
  })
  const first = ORDER.find(kind => counts.has(kind)) ?? 'question'
  const listed = rows.slice(0, MOST_LISTED).map(({ notice }) => `• ${notice.title}`)
  const more = rows.length > MOST_LISTED ? [`… and ${rows.length - MOST_LISTED} more`] : []
  const ask = rows.some(({ notice }) => notice.decision) ? ['Answer them: pcc pending'] : []
  return { kind: first, title: summary.join(', '), text: [...listed, ...more, ...ask].join('\n'), sound }
}

/** What a person must act on comes first. */
const NOUNS: Record<NoticeKind, (count: number) => string> = {
  question: count => (count === 1 ? 'question waiting' : 'questions waiting'),
  error: count => (count === 1 ? 'failure' : 'failures'),
  report: count => (count === 1 ? 'report' : 'reports'),
  rate_limit: count => (count === 1 ? 'limit or budget' : 'limits or budgets'),
  complete: () => 'completed',
}
const ORDER = Object.keys(NOUNS) as NoticeKind[]

type QuietSettings = Pick<NotifySettings, 'quiet_hours' | 'working_days' | 'wake_for'>

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const

/** When a person may be notified: now (undefined), or from a later time, by the wall clock of this machine. */
export function quietUntil(kind: NoticeKind, settings: QuietSettings, now: number): number | undefined {
  if (settings.wake_for.includes(kind) || !isQuiet(new Date(now), settings)) return undefined
  const ends = [0, ...(readHours(settings.quiet_hours ?? '') ?? []).map(({ to }) => to)].sort((a, b) => a - b)
  const today = new Date(now)
  for (let day = 0; day <= 8; day++) {
    for (const minutes of ends) {
      const then = new Date(today.getFullYear(), today.getMonth(), today.getDate() + day, 0, minutes)
      if (then.getTime() > now && !isQuiet(then, settings)) return then.getTime()
    }
  }
  return now + DAY_MS // every day is quiet: checked again later, because the settings may change
}

function isQuiet(at: Date, { quiet_hours, working_days }: QuietSettings): boolean {
  const day = DAYS[at.getDay()]
  if (day && !working_days.includes(day)) return true
  const minute = at.getHours() * 60 + at.getMinutes()
  return (readHours(quiet_hours ?? '') ?? []).some(({ from, to }) =>
    from < to ? minute >= from && minute < to : minute >= from || minute < to,
  )
}
