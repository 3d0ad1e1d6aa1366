import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../base/clock.ts'
import { crashPoint } from '../../base/crash-point.ts'
import { type Log, silentLog } from '../../base/log.ts'
import { readHours } from '../../domain/hours.ts'
import type { Store } from '../../store/store.ts'
import type { OutboxRow } from '../../store/tables.ts'
import type { Channel, Notice, NoticeKind, NotifyMessage, NotifySettings, SendResult } from './notice.ts'

/**
 * One channel's way of telling: rows that are due are gathered for a moment, what was settled meanwhile is left out, what
 * falls into quiet hours is put off, and the rest is said in as few messages as fit. A failure puts the channel's rows off;
 * nothing else waits for it. Between a message and the note that it was said a crash says it once more: told twice is
 * better than not at all.
 */
export interface Delivery {
  channel: Channel
  store: Pick<Store, 'outbox' | 'escalations'>
  settings(): Promise<NotifySettings>
  /** Resolves when there may be something new. */
  news(signal: AbortSignal): Promise<void>
  clock: Clock
  log?: Log
  signal: AbortSignal
  times?: Partial<Times>
}

interface Times {
  /** How long one that comes alone waits for company: well below the two seconds in which a person is told. */
  gatherMs: number
  /** A burst is over when nothing has come for this long, and is not waited for longer than that. */
  burstPauseMs: number
  burstMs: number
  firstRetryMs: number
  longestRetryMs: number
  /** After this nobody wants to hear it any more. */
  giveUpMs: number
}

const TIMES: Times = {
  gatherMs: 600,
  burstPauseMs: 1_000,
  burstMs: 15_000,
  firstRetryMs: 5_000,
  longestRetryMs: 15 * 60_000,
  giveUpMs: 3 * 24 * 60 * 60_000,
}

/** Reminders that are nearly due come along with one that is. */
const COMPANY_MS = 10 * 60_000
/** The clock may be set and the machine may sleep: a far time is looked at again. */
const LONGEST_SLEEP_MS = 60 * 60_000
const NEVER = Number.MAX_SAFE_INTEGER

/** Says what is due on a channel until the signal ends it. Never throws. */
export async function deliver(delivery: Delivery): Promise<void> {
  const { channel, signal, log = silentLog } = delivery
  const times = { ...TIMES, ...delivery.times }
  while (!signal.aborted) {
    try {
      await untilDue(delivery)
      if (!signal.aborted) await gather(delivery, times)
      if (!signal.aborted) await tell(delivery, times)
    } catch (error) {
      if (signal.aborted) return
      log.error({ channel: channel.name, error }, 'notifications could not be delivered')
      await pause(times.firstRetryMs, signal)
    }
  }
}

/** Until something is due. With nothing to wait for there is no timer. */
async function untilDue({ channel, store, clock, news, signal }: Delivery): Promise<void> {
  while (!signal.aborted) {
    const over = new AbortController()
    const either = AbortSignal.any([signal, over.signal])
    // Listened for before the look, so that what comes between the two is not missed.
    const woken = news(either)
    try {
      await store.outbox.setBack(channel.name, clock.now())
      const next = await store.outbox.nextAt(channel.name)
      const waitMs = (next ?? NEVER) - clock.now()
      if (waitMs <= 0) return
      const timer = waitMs > NEVER / 2 ? [] : [pause(Math.min(waitMs, LONGEST_SLEEP_MS), either)]
      await Promise.race([woken, ...timer])
    } finally {
      over.abort()
    }
  }
}

async function gather({ channel, store, clock, signal }: Delivery, times: Times): Promise<void> {
  const began = clock.now()
  await pause(times.gatherMs, signal)
  let seen = (await store.outbox.due(channel.name, clock.now())).length
  while (seen > ROLL_UP_ABOVE && clock.now() - began < times.burstMs && !signal.aborted) {
    await pause(times.burstPauseMs, signal)
    const now = (await store.outbox.due(channel.name, clock.now())).length
    if (now === seen) return
    seen = now
  }
}

async function tell(delivery: Delivery, times: Times): Promise<void> {
  const { channel, store, clock, signal, log = silentLog } = delivery
  const settings = await delivery.settings()
  const now = clock.now()
  const companyMs = Math.min(COMPANY_MS, (settings.remind_minutes * 60_000) / 6)
  const due = (await store.outbox.due(channel.name, now + companyMs)).map(read)
  const company = due.filter(({ row }) => row.next_at <= now || row.state === 'told')
  const { open, settled } = await stillOpen(company, store)
  await store.outbox.update(idsOf(settled), { state: 'done' })
  const awake = await rescheduleQuiet(open, settings, { store, now })
  const untold = new Set(awake)
  for (const { message, rows } of compose(awake, settings.sound)) {
    crashPoint('outbox.before-send')
    const sent = await channel.send(message, signal)
    crashPoint('outbox.after-send')
    if (signal.aborted) return // it is tried again by the next daemon
    if (sent.ok) {
      await recordSent(rows, settings, { store, now: clock.now() })
      for (const told of rows) untold.delete(told)
    } else {
      log.warn({ channel: channel.name, problem: sent.problem }, 'notification could not be sent; it is tried again')
      await rescheduleFailed([...untold], sent, { store, now: clock.now(), times })
      return
    }
  }
}

function read(row: DueNotice['row']): DueNotice {
  return { row, notice: JSON.parse(row.body) as Notice }
}

/** What was answered or withdrawn before it could be told is not told. */
async function stillOpen(
  rows: DueNotice[],
  store: Delivery['store'],
): Promise<{ open: DueNotice[]; settled: DueNotice[] }> {
  const open: DueNotice[] = []
  const settled: DueNotice[] = []
  for (const told of rows) {
    const { decision } = told.notice
    const found = decision && (await store.escalations.get(decision.number))
    if (decision && found?.state !== 'open') settled.push(told)
    else open.push(told)
  }
  return { open, settled }
}

interface At {
  store: Delivery['store']
  now: number
}

async function rescheduleQuiet(rows: DueNotice[], settings: NotifySettings, { store, now }: At): Promise<DueNotice[]> {
  const awake: DueNotice[] = []
  const later = new Map<number, DueNotice[]>()
  for (const told of rows) {
    const until = quietUntil(told.notice.kind, settings, now)
    if (until === undefined) awake.push(told)
    else later.set(until, [...(later.get(until) ?? []), told])
  }
  for (const [until, quiet] of later) await store.outbox.update(idsOf(quiet), { next_at: until })
  return awake
}

/** A decision may be reminded of, each time after twice as long, so often and no more. */
async function recordSent(rows: DueNotice[], settings: NotifySettings, { store, now }: At): Promise<void> {
  await store.outbox.update(idsOf(rows.filter(({ notice }) => !notice.decision)), { state: 'done', problem: null })
  const decisions = rows.filter(({ notice }) => notice.decision)
  const byCount = Map.groupBy(decisions, ({ row }) => (row.state === 'told' ? row.reminders + 1 : 0))
  for (const [reminders, same] of byCount) {
    const again = reminders < settings.reminders
    const next_at = again ? now + settings.remind_minutes * 60_000 * 2 ** reminders : NEVER
    await store.outbox.update(idsOf(same), { state: 'told', reminders, next_at, problem: null })
  }
}

type Failed = Extract<SendResult, { ok: false }>

async function rescheduleFailed(
  rows: DueNotice[],
  sent: Failed,
  { store, now, times }: At & { times: Times },
): Promise<void> {
  for (const [tries, same] of Map.groupBy(rows, ({ row }) => row.tries)) {
    const backoffMs = Math.min(times.longestRetryMs, times.firstRetryMs * 2 ** Math.min(tries, 20))
    const next_at = now + Math.max(backoffMs, sent.retryAfterMs ?? 0)
    const [old, young] = [
      same.filter(isOld(now - times.giveUpMs)),
      same.filter(told => !isOld(now - times.giveUpMs)(told)),
    ]
    await store.outbox.update(idsOf(old), { state: 'failed', tries: tries + 1, problem: sent.problem })
    await store.outbox.update(idsOf(young), { tries: tries + 1, next_at, problem: sent.problem })
  }
}

/** A decision that still waits is worth telling however late. */
function isOld(before: number): (told: DueNotice) => boolean {
  return ({ row, notice }) => row.created_at < before && !notice.decision
}

function idsOf(rows: DueNotice[]): number[] {
  return rows.map(({ row }) => row.id)
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined) // ended early: the caller looks at the signal
}

/** A row with its notice read. */
interface DueNotice {
  row: OutboxRow
  notice: Notice
}

/** More than this at once are one message. */
const ROLL_UP_ABOVE = 3
const LISTED = 5

/** The messages that tell rows that are due together, each with the rows it tells. */
function compose(rows: DueNotice[], sound: boolean): { message: NotifyMessage; rows: DueNotice[] }[] {
  if (rows.length > ROLL_UP_ABOVE) return [{ message: rolledUp(rows, sound), rows }]
  return rows.map(told => ({ message: single(told, sound), rows: [told] }))
}

function single({ row, notice }: DueNotice, sound: boolean): NotifyMessage {
  const { kind, title, text, decision } = notice
  return { kind, title: row.state === 'told' ? `Still waiting: ${title}` : title, text, decision, sound }
}

function rolledUp(rows: DueNotice[], sound: boolean): NotifyMessage {
  const counts = Map.groupBy(rows, ({ notice }) => notice.kind)
  const said = ORDER.flatMap(kind => {
    const count = counts.get(kind)?.length ?? 0
    return count === 0 ? [] : [`${count} ${NOUNS[kind](count)}`]
  })
  const first = ORDER.find(kind => counts.has(kind)) ?? 'question'
  const listed = rows.slice(0, LISTED).map(({ notice }) => `• ${notice.title}`)
  const more = rows.length > LISTED ? [`… and ${rows.length - LISTED} more`] : []
  const ask = rows.some(({ notice }) => notice.decision) ? ['Answer them: pcc pending'] : []
  return { kind: first, title: said.join(', '), text: [...listed, ...more, ...ask].join('\n'), sound }
}

/** What a person must act on stands first. */
const ORDER: readonly NoticeKind[] = ['question', 'error', 'report', 'rate_limit', 'complete']

const NOUNS: Record<NoticeKind, (count: number) => string> = {
  question: count => (count === 1 ? 'question waiting' : 'questions waiting'),
  error: count => (count === 1 ? 'failure' : 'failures'),
  rate_limit: count => (count === 1 ? 'limit hit' : 'limits hit'),
  report: count => (count === 1 ? 'report' : 'reports'),
  complete: count => (count === 1 ? 'session completed' : 'sessions completed'),
}

type QuietSettings = Pick<NotifySettings, 'quiet_hours' | 'working_days' | 'wake_for'>

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const
const DAY_MS = 24 * 60 * 60_000

/** When a person may be told: now (undefined), or from a later time, by the wall clock of this machine. */
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
  return now + DAY_MS // quiet on every day: looked at again, for the settings may change
}

function isQuiet(at: Date, { quiet_hours, working_days }: QuietSettings): boolean {
  const day = DAYS[at.getDay()]
  if (day && !working_days.includes(day)) return true
  const minute = at.getHours() * 60 + at.getMinutes()
  return (readHours(quiet_hours ?? '') ?? []).some(({ from, to }) =>
    from < to ? minute >= from && minute < to : minute >= from || minute < to,
  )
}
