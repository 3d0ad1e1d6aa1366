import { basename } from 'node:path'
import { type PurposeAmounts, purposeWords } from '../../domain/budget.ts'
import { windowName } from '../../domain/option-values.ts'
import type { Report, ReportedTask } from '../../domain/report.ts'
import type { TaskView } from '../../domain/task.ts'
import { counted, duration, fullCount, money, nameProjects, shortCount } from '../render/format.ts'
import { firstLine } from '../render/text.ts'

/** `Sat 14 Nov 22:00` in local time. */
export function dayTime(time: number): string {
  const date = new Date(time)
  const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en-GB', options).format(date)
  return `${format({ weekday: 'short' })} ${format({ day: 'numeric' })} ${format({ month: 'short' })} ${format({ hour: '2-digit', minute: '2-digit' })}`
}

/** `22:41` */
export function hourMinute(time: number): string {
  return dayTime(time).slice(-5)
}

/** `Sat 14 Nov 22:00 to Sun 15 Nov 07:02 (9h 2m)` */
export function spanText({ since, until }: Pick<Report, 'since' | 'until'>): string {
  return `${dayTime(since)} to ${dayTime(until)} (${duration(until - since)})`
}

/** Whether the report has nothing except what waits for the person. */
export function isEmpty({ done, failed, unfinished, spent, runs, not_begun, observed }: Report): boolean {
  const lists = [done, failed, unfinished, runs, not_begun]
  return lists.every(list => list.length === 0) && spent.sessions + observed.sessions === 0
}

/** Returns a function that names the project of an item; the name is empty when the report is about one project only. */
export function projectNamer(report: Report): (item: { project: string }) => string {
  const projects = projectsIn(report)
  const nameOf = nameProjects(projects)
  return ({ project }) => (projects.size > 1 ? nameOf(project) : '')
}

function projectsIn({ done, failed, unfinished, runs, not_begun }: Report): Set<string> {
  return new Set([...done, ...failed, ...unfinished, ...runs, ...not_begun].map(({ project }) => project))
}

/** `Report · shop`, or `Report · 3 projects`. */
export function subjectText(report: Report): string {
  const projects = report.project === null ? [...projectsIn(report)] : [report.project]
  const [only, ...others] = projects
  if (only === undefined) return 'Report'
  return `Report · ${others.length === 0 ? basename(only) : `${projects.length} projects`}`
}

/** `Report · shop · Sat 14 Nov to Sun 15 Nov`: the title of a page says whose night it shows. */
export function titleText(report: Report): string {
  const [first, last] = [report.since, report.until].map(time => dayTime(time).slice(0, -6))
  return `${subjectText(report)} · ${first === last ? first : `${first} to ${last}`}`
}

/** `24m 10s · 2 attempts · unverified · it changed nothing`, after the name of the project if there is one. */
export function taskFacts(task: ReportedTask, projectName: string): string {
  const { worked_ms, attempts, verification, changed_nothing } = task
  return [
    ...(projectName === '' ? [] : [firstLine(projectName)]),
    ...(worked_ms > 0 ? [duration(worked_ms)] : []),
    ...(attempts > 1 ? [counted(attempts, 'attempt')] : []),
    ...(verification === null ? [] : [verification]),
    ...(changed_nothing ? ['it changed nothing'] : []),
  ].join(' · ')
}

/** `$4.21 · 120K tokens in, 30K out · 230 turns · …` */
export function spentText({ spent }: Pick<Report, 'spent'>): string {
  return [
    money(spent.cost_usd),
    `${shortCount(spent.input_tokens)} tokens in, ${shortCount(spent.output_tokens)} out`,
    counted(spent.turns, 'turn'),
    `${fullCount(spent.tool_calls)} ${spent.tool_calls === 1 ? 'tool call' : 'tool calls'}`,
    counted(spent.sessions, 'session'),
    `${duration(spent.worked_ms)} of work`,
  ].join(' · ')
}

/** That code ran which nothing bounded, if any did. */
export function unboundedText({ spent: { sessions, unbounded } }: Pick<Report, 'spent'>): string[] {
  if (unbounded === 0) return []
  return [
    `${unbounded} of ${counted(sessions, 'session')}: what their agents wrote and ran could do all that you can (pcc doctor says why)`,
  ]
}

/** `By purpose: work $4.00, 120K tokens · verifier $0.21, 9K tokens`; nothing if all of it was work. */
export function purposeText({ spent }: Pick<Report, 'spent'>): string[] {
  const words = ({ cost_usd, tokens }: PurposeAmounts) =>
    [...(cost_usd > 0 ? [money(cost_usd)] : []), ...(tokens > 0 ? [`${shortCount(tokens)} tokens`] : [])].join(', ')
  const text = purposeWords(spent.by_purpose, words)
  return text === undefined ? [] : [`By purpose: ${text}`]
}

/** What agents did that the person started, if there were any. */
export function observedText({ observed }: Pick<Report, 'observed'>): string[] {
  const { sessions, calls, denied, input_tokens, output_tokens, cost_usd, cost_estimated, cost_unknown } = observed
  if (sessions === 0) return []
  const known = cost_unknown === sessions ? [] : [`${money(cost_usd)}${cost_estimated ? ' (estimated)' : ''}`]
  const unknown = cost_unknown === 0 ? [] : [`the cost of ${cost_unknown} not known`]
  const cost = [...known, ...unknown].join(', ')
  const tokens = `${shortCount(input_tokens)} tokens in, ${shortCount(output_tokens)} out, ${cost}`
  const work = `${counted(calls, 'call')}, ${denied} refused${input_tokens + output_tokens > 0 ? `, ${tokens}` : ''}`
  return [`Started by you: ${counted(sessions, 'session')} with ${work} (pcc hooks log)`]
}

/** Tasks that nobody has begun, because they come after one of the report that is not done: each with what it waits for. */
export function heldUpTasks({ graph, done, failed, unfinished }: Report): { task: TaskView; after: string[] }[] {
  const reported = new Set([...done, ...failed, ...unfinished].map(({ id }) => id))
  const states = new Map(graph.map(({ id, state }) => [id, state]))
  const nameOf = (id: string) => (states.get(id) === 'cancelled' ? `${id} (cancelled)` : id)
  return graph
    .filter(({ id, state }) => state === 'blocked' && !reported.has(id))
    .map(task => ({ task, after: task.after.filter(id => states.get(id) !== 'done').map(nameOf) }))
}

/** What memory did and what it is worth, if it was used. */
export function memoryLines({ memory }: Pick<Report, 'memory'>): string[] {
  if (!memory || memory.sessions + memory.shown + memory.held_back === 0) return []
  const { sessions, recorded, completeness, shown, held_back, worth } = memory
  const whole =
    completeness === null || completeness === 1 ? '' : `, ${Math.round(completeness * 100)} % of its phases ran`
  const learned = `Learned from ${recorded} of ${counted(sessions, 'session')}${whole}`
  // Before anything was shown to an agent there is nothing to weigh.
  if (shown === 0) return [learned]
  return [`${learned}; shown to ${counted(shown, 'attempt')}, held back from ${held_back}`, ...worth]
}

/** How full the accounts are now, one line for each. Our own count of tokens says nothing about that. */
export function quotaLines({ quota, until }: Pick<Report, 'quota' | 'until'>): string[] {
  return quota.flatMap(({ account, windows }) => {
    const reported = windows.filter(({ source }) => source !== 'estimate')
    const usages = reported.map(({ window, utilization, resets_at, source }) => {
      const resets =
        resets_at === null || resets_at < until
          ? ''
          : ` until ${resets_at - until < 20 * 3_600_000 ? hourMinute(resets_at) : dayTime(resets_at)}`
      return `${windowName(window)} ${Math.round(utilization * 100)}%${resets}${source === 'vendor' ? '' : ` (${source})`}`
    })
    return usages.length === 0 ? [] : [`${account}: ${usages.join(', ')}`]
  })
}

/** `2 limits met, 1h 12m waited`, and a line each for a login and for credit; `undefined` when nothing was waited for. */
export function limitsText({ limits }: Pick<Report, 'limits'>): string | undefined {
  const { hits, waited_ms, login_ms, credit_ms } = limits
  const alone =
    waited_ms === 0 ? [] : [`${duration(waited_ms)} waited for a limit that was met earlier, or by other work`]
  const lines = [
    ...(hits === 0 ? alone : [`${counted(hits, 'limit')} met, ${duration(waited_ms)} waited`]),
    ...(login_ms === 0 ? [] : [`${duration(login_ms)} waited for a login`]),
    ...(credit_ms === 0 ? [] : [`${duration(credit_ms)} waited for credit`]),
  ]
  return lines.length === 0 ? undefined : lines.join('\n')
}

/** `Packages that no lock file named: left-pad, evil`; `undefined` when there were none. */
export function packagesText({ decisions }: Pick<Report, 'decisions'>, most = 200): string | undefined {
  const { packages } = decisions
  if (packages.length === 0) return undefined
  const names = packages.slice(0, most).map(({ name }) => firstLine(name))
  const rest = packages.length > names.length ? ` and ${packages.length - names.length} more` : ''
  return `Packages installed that no lock file named: ${names.join(', ')}${rest}`
}

/** `398 calls allowed, 4 refused, 2 questions answered; you decided 1` */
export function decisionsText({ decisions }: Pick<Report, 'decisions'>): string {
  const { allowed, refused, answered, by_you } = decisions
  const counts = `${counted(allowed, 'call')} allowed, ${refused} refused, ${counted(answered, 'question')} answered`
  return `${counts}; you decided ${by_you}`
}
