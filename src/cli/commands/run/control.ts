import { basename } from 'node:path'
import { AppError } from '../../../base/errors.ts'
import { RUN_EXITS } from '../../../domain/attempt.ts'
import type { AttemptView, RunDetail, StartRun } from '../../../domain/run.ts'
import { ownZone, type ScheduleView, type SetSchedule } from '../../../domain/schedule.ts'
import { formatSchedule } from '../../../tasks/view.ts'
import type { DaemonConnection } from '../../connection/connection.ts'
import { type CommandContext, isInteractive } from '../../context.ts'
import { followRun } from '../../live/follow.ts'
import { duration } from '../../render/format.ts'
import { cut, firstLine, neutral, type Terminal } from '../../render/text.ts'
import { targetText } from './format.ts'
import { runNews, runSummaryLines } from './lines.ts'

export interface WatchRunDeps {
  client: DaemonConnection
  context: CommandContext
}

/** Left before its end: a script must not go on as if it were done. */
const LEFT = 130

/** Shows a run until it has ended or the person leaves; the exit code is that of its outcome. */
export async function watchRun(run: RunDetail, { client, context }: WatchRunDeps): Promise<number> {
  const { json, out, terminal } = context
  const over = run.state === 'ended' ? run : await follow(run, { client, context })
  if (!over) {
    if (!json) out(`Detached; run ${run.id} goes on. Watch it with: pcc attach ${run.id}`)
    return LEFT
  }
  const { attempts: _, ...rest } = over
  const lines = json ? [JSON.stringify({ type: 'run', ...rest })] : runSummaryLines(over, terminal, Date.now())
  for (const line of lines) out(line)
  return over.outcome === null ? 0 : RUN_EXITS[over.outcome]
}

/** What happened in a run, and with `follow` what happens. */
export async function logRun(run: RunDetail, watching: WatchRunDeps & { follow: boolean }): Promise<void> {
  const { json, out, terminal } = watching.context
  if (watching.follow && run.state !== 'ended') {
    await watchRun(run, { client: watching.client, context: { ...watching.context, quiet: false } })
    return
  }
  const lines = json ? jsonNews(new Map(), run) : runNews(undefined, run, terminal)
  for (const line of [...lines, ...(json ? [] : runSummaryLines(run, terminal, Date.now()))]) out(line)
}

async function follow(run: RunDetail, { client, context }: WatchRunDeps): Promise<RunDetail | undefined> {
  if (isInteractive(context) && !context.quiet) {
    return (await import('./board-screen.ts')).showBoard(run, { client, context })
  }
  const { json, out, note, quiet, terminal } = context
  const told: ReportedOutcomes = new Map()
  let before: RunDetail | undefined
  const show = (now: RunDetail) => {
    const lines = json ? jsonNews(told, now) : quiet ? [] : runNews(before, now, terminal)
    for (const line of lines) out(line)
    before = now
  }
  const onLost = () => note('The daemon does not answer; trying again')
  return untilLeft(signal => followRun({ client, run: run.id, signal, detailed: false, show, onLost }))
}

type ReportedOutcomes = Map<number, AttemptView['outcome']>

/** A line when an attempt begins, one when it ends. */
function jsonNews(told: ReportedOutcomes, { id, attempts }: RunDetail): string[] {
  return attempts.flatMap(attempt => {
    const { iteration, outcome } = attempt
    if (told.has(iteration) && told.get(iteration) === outcome) return []
    told.set(iteration, outcome)
    return [JSON.stringify({ type: 'attempt', run: id, ...attempt })]
  })
}

async function untilLeft<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const leave = new AbortController()
  const onSignal = () => leave.abort()
  process.once('SIGINT', onSignal)
  try {
    return await work(leave.signal)
  } finally {
    process.off('SIGINT', onSignal)
  }
}

interface ControlDeps {
  client: DaemonConnection
  context: Pick<CommandContext, 'json' | 'out'>
}

/** `pcc stop r-…`: after what is at work, or now. */
export async function stopRun(run: RunDetail, now: boolean, { client, context }: ControlDeps): Promise<void> {
  const after = await client.request<RunDetail>('POST', `/runs/${run.id}/stop`, { now })
  const [current] = openOf(after)
  show(after, context, [
    current && !now
      ? `Run ${run.id} ends after ${current.task_id} ${firstLine(current.title)}: no other task begins`
      : `Run stopped: ${run.id} (${targetText(run)})`,
    ...(current && !now ? [`Stop that too with: pcc stop ${run.id} --now`] : []),
  ])
}

/** `pcc pause r-…`: no new task begins, and what is at work stops after the tool in flight. */
export async function pauseRun(run: RunDetail, { client, context }: ControlDeps): Promise<void> {
  const after = await client.request<RunDetail>('POST', `/runs/${run.id}/pause`, {})
  show(after, context, [`Run paused: ${run.id} (${targetText(run)})`, `Go on with: pcc resume ${run.id}`])
}

/** `pcc resume r-…`: it goes on where it was. */
export async function resumeRun(
  run: RunDetail,
  options: { from?: unknown; budget?: unknown },
  client: DaemonConnection,
): Promise<RunDetail> {
  const [odd] = Object.entries({ from: options.from, budget: options.budget }).filter(([, value]) => value)
  if (odd)
    throw new AppError('usage', { problem: `--${odd[0]} is for sessions, and ${run.id} is a run`, command: 'resume' })
  return client.request<RunDetail>('POST', `/runs/${run.id}/resume`, {})
}

function openOf({ attempts }: RunDetail) {
  return attempts.filter(({ outcome }) => outcome === null)
}

function show(run: RunDetail, { json, out }: ControlDeps['context'], lines: string[]): void {
  for (const line of json ? [JSON.stringify(run, null, 2)] : lines) out(line)
}

/** When a run is to begin, as it was typed. */
export interface WhenFlags {
  at?: string
  every?: string
  /** Percent. */
  whenQuotaBelow?: number
}

/** Whether the run is one to come. */
export function isScheduled({ at, every, whenQuotaBelow }: WhenFlags): boolean {
  return at !== undefined || every !== undefined || whenQuotaBelow !== undefined
}

/** `pcc run … --at|--every|--when-quota-below`: the run begins by itself at its time; nothing is watched here. */
export async function setSchedule(
  request: StartRun,
  { at, every, whenQuotaBelow }: WhenFlags,
  { client, context }: { client: DaemonConnection; context: Pick<CommandContext, 'json' | 'out'> },
): Promise<number> {
  const when: SetSchedule['when'] = {
    zone: ownZone(),
    ...(at !== undefined && { at }),
    ...(every !== undefined && { every }),
    ...(whenQuotaBelow !== undefined && { quota_below: whenQuotaBelow }),
  }
  const set = await client.request<ScheduleView>('POST', '/schedules', { ...request, when })
  const lines = [
    `Scheduled ${set.id}: ${targetText(set)}, ${whenLine(set)}`,
    `It begins ${dueText(set, Date.now())}, as long as the daemon runs; one that comes later begins it then.`,
    `See it with: pcc runs   Take it back with: pcc stop ${set.id}`,
  ]
  for (const line of context.json ? [JSON.stringify(set, null, 2)] : lines) context.out(line)
  return 0
}

/** `pcc stop c-…` */
export async function cancelSchedule(
  id: string,
  { client, context }: { client: DaemonConnection; context: Pick<CommandContext, 'json' | 'out'> },
): Promise<void> {
  const over = await client.request<ScheduleView>('POST', `/schedules/${id}/cancel`, {})
  context.out(
    context.json ? JSON.stringify(over, null, 2) : `Taken back: ${over.id} (${targetText(over)}, ${whenLine(over)})`,
  )
}

/** What a person types where a session, a run or a schedule may be meant. */
export function isScheduleId(ref: string): boolean {
  return /^c-[0-9a-f]{1,6}$/.test(ref)
}

/** `50`, `50%` */
export function percentIn(value: string): number {
  const [, digits] = /^(\d{1,3})\s*%?$/.exec(value.trim()) ?? []
  const percent = Number(digits ?? Number.NaN)
  if (percent >= 1 && percent <= 100) return percent
  throw new AppError('usage', {
    problem: `--when-quota-below "${value}": a percentage such as 50% is meant`,
    command: 'run',
  })
}

/** What was asked for, harmless to print. */
function whenLine(schedule: ScheduleView): string {
  return neutral(formatSchedule(schedule))
}

/** `Mon 16 Nov 02:00 (in 9h 12m)`, by the clock that the person set it with, which is named where it is not this one. */
function dueText({ due_at, zone, reason }: ScheduleView, now: number): string {
  if (due_at === null) return 'never again'
  if (due_at <= now) return reason === null ? 'at once' : neutral(reason)
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    ...({ weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' } as const),
  }).formatToParts(due_at)
  const of = (type: string) => parts.find(part => part.type === type)?.value ?? ''
  const time = `${of('weekday')} ${of('day')} ${of('month')} ${of('hour')}:${of('minute')}`
  const clock = zone === ownZone() ? '' : ` ${zone}`
  return `${time}${clock} (in ${duration(due_at - now)})`
}

/** The head of `pcc runs`: what is to come, soonest first. */
export function scheduleLines(schedules: readonly ScheduleView[], { paint, width }: Terminal, now: number): string[] {
  if (schedules.length === 0) return []
  const line = (schedule: ScheduleView) => {
    const what = `${firstLine(basename(schedule.project))}: ${targetText(schedule)}`
    const last = schedule.last_run_id === null ? '' : ` · last ${schedule.last_run_id}`
    const skipped = schedule.reason !== null && (schedule.due_at ?? 0) > now ? ` · ${neutral(schedule.reason)}` : ''
    return cut(
      `${schedule.id}  ${what} · ${whenLine(schedule)} · next ${dueText(schedule, now)}${last}${skipped}`,
      width,
    )
  }
  return [paint('bold', 'To come'), ...schedules.map(line), '']
}
