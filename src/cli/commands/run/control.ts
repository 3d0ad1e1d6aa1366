import { ownZone } from '../../../base/clock.ts'
import { AppError } from '../../../base/errors.ts'
import { neutral } from '../../../base/neutral.ts'
import { RUN_EXITS } from '../../../domain/attempt.ts'
import type { AttemptNow, AttemptView, RunDetail, StartRun } from '../../../domain/run.ts'
import type { ScheduleView, SetSchedule } from '../../../domain/schedule.ts'
import { isResting } from '../../../domain/session-end.ts'
import { formatSchedule } from '../../../tasks/view.ts'
import type { DaemonConnection } from '../../connection/connection.ts'
import { type CommandContext, isInteractive } from '../../context.ts'
import { followRun } from '../../live/follow.ts'
import { counted, duration, nameProjects } from '../../render/format.ts'
import { cut, firstLine, type Terminal } from '../../render/text.ts'
import { targetText } from './format.ts'
import { againCommand, runNews, runSummaryLines } from './lines.ts'

export interface WatchRunDeps {
  client: DaemonConnection
  context: CommandContext
}

/** The exit code when the person leaves before the end: a script must not continue as if the run were done. */
const LEFT = 130

/** Shows a run until it has ended or the person leaves. Returns the exit code of its outcome. */
export async function watchRun(run: RunDetail, { client, context }: WatchRunDeps): Promise<number> {
  const { json, out, terminal } = context
  const ended = run.state === 'ended' ? run : await follow(run, { client, context })
  if (!ended) {
    if (!json) out(`Detached; run ${run.id} goes on. Watch it with: pcc attach ${run.id}`)
    return LEFT
  }
  const { attempts: _, ...rest } = ended
  const lines = json ? [JSON.stringify({ type: 'run', ...rest })] : runSummaryLines(ended, terminal, Date.now())
  for (const line of lines) out(line)
  return ended.outcome === null ? 0 : RUN_EXITS[ended.outcome]
}

/** Prints what happened in a run; with `follow`, also what happens from now on. */
export async function logRun(run: RunDetail, options: WatchRunDeps & { follow: boolean }): Promise<void> {
  const { json, out, terminal } = options.context
  if (options.follow && run.state !== 'ended') {
    await watchRun(run, { client: options.client, context: { ...options.context, quiet: false } })
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
  const reported: ReportedOutcomes = new Map()
  let before: RunDetail | undefined
  const show = (now: RunDetail) => {
    const lines = json ? jsonNews(reported, now) : quiet ? [] : runNews(before, now, terminal)
    for (const line of lines) out(line)
    before = now
  }
  const onLost = () => note('The daemon does not answer; trying again')
  return runUntilInterrupt(signal => followRun({ client, run: run.id, signal, detailed: false, show, onLost }))
}

type ReportedOutcomes = Map<number, AttemptView['outcome']>

/** One line when an attempt begins and one when it ends. */
function jsonNews(reported: ReportedOutcomes, { id, attempts }: RunDetail): string[] {
  return attempts.flatMap(attempt => {
    const { iteration, outcome } = attempt
    if (reported.has(iteration) && reported.get(iteration) === outcome) return []
    reported.set(iteration, outcome)
    return [JSON.stringify({ type: 'attempt', run: id, ...attempt })]
  })
}

async function runUntilInterrupt<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
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

/** `pcc stop r-…`: stops a run after the task at work, or now. */
export async function stopRun(run: RunDetail, now: boolean, { client, context }: ControlDeps): Promise<void> {
  const after = await client.request<RunDetail>('POST', `/runs/${run.id}/stop`, { now })
  const open = after.attempts.filter(({ outcome }) => outcome === null)
  const [current] = open
  const asked = now ? open.filter(({ now: at }) => at?.decision != null).length : 0
  print(after, context, [
    current && !now
      ? `Run ${run.id} ends after ${current.task_id} ${firstLine(current.title)}: no other task begins`
      : `Run stopped: ${run.id} (${targetText(run)})`,
    ...(current && !now ? [`Stop that too with: pcc stop ${run.id} --now`] : []),
    ...(asked > 0
      ? [`${counted(asked, 'task')} of it still ${asked === 1 ? 'waits' : 'wait'} for you: pcc pending`]
      : []),
  ])
}

/** What becomes of a run after a person has stopped one of its sessions. It has not noticed that yet, or is over already. */
export function stoppedInRun(session: string, run: RunDetail): string {
  const { id, state, attempts } = run
  const goesOn = attempts.some(({ session_id, now }) => session_id !== session && now !== null && isAtWork(now))
  if (state === 'ended' || (state === 'running' && !goesOn))
    return `Its run ends with it, because nothing else of it is at work. Go on with: ${againCommand(run)}`
  return `Its run begins no other task. Let it go on with: pcc resume ${id}. Or end it now: pcc stop ${id} --now`
}

/** Whether a run does not end before this attempt of it is over. */
function isAtWork({ status, landing, resumes_at, decision, held_up }: AttemptNow): boolean {
  if (resumes_at !== null) return true
  return landing === null ? !isResting(status) : decision === null && held_up === undefined
}

/** `pcc pause r-…`: no new task begins, and the task at work stops after the tool in flight. */
export async function pauseRun(run: RunDetail, { client, context }: ControlDeps): Promise<void> {
  const after = await client.request<RunDetail>('POST', `/runs/${run.id}/pause`, {})
  print(after, context, [`Run paused: ${run.id} (${targetText(run)})`, `Go on with: pcc resume ${run.id}`])
}

/** `pcc resume r-…`: continues a run where it was. */
export async function resumeRun(
  run: RunDetail,
  options: { from?: unknown; budget?: unknown; model?: unknown; env: Record<string, string> },
  client: DaemonConnection,
): Promise<RunDetail> {
  const [unusable] = Object.entries({ from: options.from, budget: options.budget, model: options.model }).filter(
    ([, value]) => value,
  )
  if (unusable)
    throw new AppError('usage', {
      problem: `--${unusable[0]} is for sessions, and ${run.id} is a run`,
      command: 'resume',
    })
  return client.request<RunDetail>('POST', `/runs/${run.id}/resume`, { env: options.env })
}

function print(run: RunDetail, { json, out }: ControlDeps['context'], lines: string[]): void {
  for (const line of json ? [JSON.stringify(run, null, 2)] : lines) out(line)
}

/** The flags of `pcc run` that say when the run begins. */
export interface ScheduleFlags {
  at?: string
  every?: string
  /** Percent. */
  whenQuotaBelow?: number
}

/** When the run is to begin. Throws for a time that cannot be understood. */
export async function readSchedule({ at, every, whenQuotaBelow }: ScheduleFlags): Promise<SetSchedule['when']> {
  const when: SetSchedule['when'] = {
    zone: ownZone(),
    ...(at !== undefined && { at }),
    ...(every !== undefined && { every }),
    ...(whenQuotaBelow !== undefined && { quota_below: whenQuotaBelow }),
  }
  const { parseScheduleTimes } = await import('../../../tasks/schedules.ts')
  parseScheduleTimes(when, Date.now())
  return when
}

/** `pcc run … --at|--every|--when-quota-below`: schedules a run, which begins by itself; nothing is watched here. */
export async function setSchedule(
  request: StartRun,
  when: SetSchedule['when'],
  { client, context }: { client: DaemonConnection; context: Pick<CommandContext, 'json' | 'out'> },
): Promise<number> {
  const schedule = await client.request<ScheduleView>('POST', '/schedules', { ...request, when })
  const lines = [
    `Scheduled ${schedule.id}: ${targetText(schedule)}, ${scheduleText(schedule)}`,
    `It begins ${dueText(schedule, Date.now())}, if the daemon runs then; otherwise when the daemon next starts.`,
    `See it with: pcc runs   Take it back with: pcc stop ${schedule.id}`,
  ]
  for (const line of context.json ? [JSON.stringify(schedule, null, 2)] : lines) context.out(line)
  return 0
}

/** `pcc stop c-…` */
export async function cancelSchedule(
  id: string,
  { client, context }: { client: DaemonConnection; context: Pick<CommandContext, 'json' | 'out'> },
): Promise<void> {
  const cancelled = await client.request<ScheduleView>('POST', `/schedules/${id}/cancel`, {})
  const sentence = `Taken back: ${cancelled.id} (${targetText(cancelled)}, ${scheduleText(cancelled)})`
  context.out(context.json ? JSON.stringify(cancelled, null, 2) : sentence)
}

/** Whether a reference that may mean a session, a run or a schedule is the id of a schedule. */
export function isScheduleId(ref: string): boolean {
  return /^c-[0-9a-f]{1,6}$/.test(ref)
}

/** The schedule as text that is safe to print. */
function scheduleText(schedule: ScheduleView): string {
  return neutral(formatSchedule(schedule))
}

/** `Mon 16 Nov 02:00 (in 9h 12m)`, in the time zone of the schedule, which is named when it is not the local one. */
function dueText({ due_at, zone, reason }: ScheduleView, now: number): string {
  if (due_at === null) return 'never again'
  if (due_at <= now) return reason === null ? 'at once' : neutral(reason)
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    ...({ weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' } as const),
  }).formatToParts(due_at)
  const part = (type: string) => parts.find(candidate => candidate.type === type)?.value ?? ''
  const time = `${part('weekday')} ${part('day')} ${part('month')} ${part('hour')}:${part('minute')}`
  const zoneText = zone === ownZone() ? '' : ` ${zone}`
  return `${time}${zoneText} (in ${duration(due_at - now)})`
}

/** The head of `pcc runs`: the scheduled runs in the given order. */
export function scheduleLines(schedules: readonly ScheduleView[], { paint, width }: Terminal, now: number): string[] {
  if (schedules.length === 0) return []
  const projectName = nameProjects(schedules.map(({ project }) => project))
  const line = (schedule: ScheduleView) => {
    const name = `${firstLine(projectName(schedule.project))}: ${targetText(schedule)}`
    const last = schedule.last_run_id === null ? '' : ` · last ${schedule.last_run_id}`
    const skipped = schedule.reason !== null && (schedule.due_at ?? 0) > now ? ` · ${neutral(schedule.reason)}` : ''
    return cut(
      `${schedule.id}  ${name} · ${scheduleText(schedule)} · next ${dueText(schedule, now)}${last}${skipped}`,
      width,
    )
  }
  return [paint('bold', 'To come'), ...schedules.map(line), '']
}
