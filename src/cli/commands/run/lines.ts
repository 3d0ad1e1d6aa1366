import { dateTime, wakeTime } from '../../../base/clock.ts'
import { neutral } from '../../../base/neutral.ts'
import { quoteForShell } from '../../../base/words.ts'
import { type Need, nextLine } from '../../../domain/needs.ts'
import type { AttemptView, RunDetail, RunView } from '../../../domain/run.ts'
import { ago, counted, duration, nameProjects, shownPath } from '../../render/format.ts'
import { cut, firstLine, pad, type Terminal, widthOf } from '../../render/text.ts'
import {
  COMPLETION_TEXTS,
  costText,
  countsText,
  heldUpText,
  keptApartLines,
  mergedText,
  OUTCOME_LOOKS,
  pausedText,
  quotaText,
  runStateText,
  standingLines,
  standsText,
  targetText,
  timeLeftText,
  waitsText,
} from './format.ts'

/** The most attempts that a page shows. */
const SHOWN = 10

export interface RunPageOptions {
  terminal: Terminal
  now: number
  cwd: string
  home: string | undefined
}

/** A run in full: `pcc status r-…`. */
export function runPage(run: RunDetail, { terminal, now, cwd, home }: RunPageOptions): string[] {
  const { paint } = terminal
  const { text, tone } = runStateText(run)
  const quota = quotaText(run)
  const left = timeLeftText(run)
  return [
    paint('bold', `Run ${run.id}: ${targetText(run)}`),
    `Project: ${neutral(shownPath(run.project, cwd, home))}`,
    `State: ${paint(tone, text)}${run.reason ? `, ${firstLine(run.reason)}` : ''}`,
    `Tasks: ${[countsText(run), mergedText(run)].filter(Boolean).join('; ')}`,
    `Attempts: ${run.iterations}${run.limit === null ? '' : ` of ${run.limit}`}${run.parallel > 1 ? `, ${run.parallel} at once` : ''}`,
    `Cost: ${costText(run.cost_usd)}`,
    ...(quota === undefined ? [] : [`Quota: ${quota}`]),
    `Begun: ${dateTime(run.created_at)}, ${duration((run.ended_at ?? now) - run.created_at)} in all`,
    ...(left === undefined ? [] : [`Left: ${left}`]),
    ...keptApartLines(run).map(line => `Waits: ${line}`),
    ...standingLines(run, now).map(line => paint('yellow', `Held up: ${line}`)),
    ...(run.needs ?? []).map(need => paint('yellow', `Needs you: ${needSentence(need)} ${nextLine(need)}`)),
    '',
    paint('bold', run.attempts.length > SHOWN ? `The last ${counted(SHOWN, 'attempt')}:` : 'Attempts:'),
    ...(run.attempts.length === 0
      ? ['none yet']
      : run.attempts.slice(-SHOWN).map(attempt => attemptLine(attempt, terminal))),
  ]
}

/** What waits, with the task that it is about named once, as a sentence. */
function needSentence({ task_id, text }: Need): string {
  const what = firstLine(text)
  const whole = task_id === null || what.startsWith(task_id) ? what : `${task_id} ${what}`
  return /[.?!]$/.test(whole) ? whole : `${whole}.`
}

/** What changed in a run since the last poll, as lines for pipes, logs and scripts. */
export function runNews(before: RunDetail | undefined, now: RunDetail, terminal: Terminal): string[] {
  const attemptsBefore = new Map(before?.attempts.map(attempt => [attempt.iteration, attempt]))
  const lines = now.attempts.flatMap(attempt => attemptNews(attemptsBefore.get(attempt.iteration), attempt, terminal))
  const wasPaused = before?.state === 'paused'
  return [
    ...lines,
    ...(now.state === 'paused' && !wasPaused ? [`Paused. Go on with: pcc resume ${now.id}`] : []),
    ...(now.state === 'running' && wasPaused ? ['Goes on.'] : []),
    ...(now.stopping && !before?.stopping && now.state !== 'ended' ? ['No new task begins: it was stopped.'] : []),
    ...now.kept_apart
      .filter(({ why }) => why !== now.reason && !before?.kept_apart.some(task => task.why === why))
      .map(({ why }) => terminal.paint('yellow', `○ ${neutral(why)}`)),
    ...(now.state === 'running' && now.reason !== before?.reason
      ? [heldUpText(now)].flatMap(line => (line === undefined ? [] : [terminal.paint('yellow', line)]))
      : []),
  ]
}

/** How a run ended and what to do next. */
export function runSummaryLines(run: RunDetail, { paint }: Terminal, now: number): string[] {
  if (run.outcome === null) return []
  const { glyph, tone, words } = OUTCOME_LOOKS[run.outcome]
  const effort = `${counted(run.iterations, 'attempt')}, ${duration((run.ended_at ?? now) - run.created_at)}`
  return [
    paint(
      tone,
      `${glyph} Run ${run.id} of ${targetText(run)}: ${words}${run.reason ? `, ${neutral(run.reason)}` : ''}`,
    ),
    `  ${[countsText(run), mergedText(run), effort].filter(Boolean).join('; ')}, ${costText(run.cost_usd)}`,
    ...(run.unmerged > 0 ? ['  See what is not merged with: pcc merge list and pcc worktree list'] : []),
    ...(run.unverified > 0 && run.outcome === 'complete' ? [`  ${unverifiedStep(run)}`] : []),
    ...nextSteps(run).map(line => `  ${line}`),
  ]
}

/** What changed in an attempt since the last poll. */
function attemptNews(before: AttemptView | undefined, now: AttemptView, { paint }: Terminal): string[] {
  const name = `${now.task_id} ${firstLine(now.title)}`
  const begun = before ? [] : [`▶ ${name}${attemptDetails(now)}`]
  if (now.outcome !== null) {
    if (before && before.outcome !== null) return []
    return [...begun, endLine(name, now, paint)]
  }
  const [previous, current] = [before?.now, now.now]
  if (current && current.decision !== null && current.decision !== previous?.decision) {
    return [...begun, paint('yellow', `● ${name} ${waitsText(now.task_id, current)}`)]
  }
  if (current?.held_up !== undefined) {
    if (current.held_up === previous?.held_up) return begun
    return [...begun, paint('yellow', `⏳ ${name}: its merge waits: ${firstLine(current.held_up)}`)]
  }
  if (
    current?.landing &&
    current.decision === null &&
    (current.landing !== previous?.landing || previous.decision !== null)
  )
    return [...begun, `◆ ${name} ${COMPLETION_TEXTS[current.landing]}`]
  if (!current || current.status === previous?.status) return begun
  // The tries come later and later, so that this is not said often.
  if (current.status === 'paused' && current.resumes_at !== null && current.why !== previous?.why) {
    const waits = pausedText({ ...current, resumes_at: current.resumes_at }, Date.now())
    return [...begun, paint('yellow', `⏳ ${name} ${waits}`)]
  }
  if (current.status === 'paused' && current.resumes_at === null && current.why !== undefined)
    return [...begun, paint('yellow', `● ${name} ${standsText(current.why)}`)]
  if (current.status === 'rate_limited') {
    const when = current.resumes_at === null ? '' : ` until ${wakeTime(current.resumes_at, Date.now())}`
    return [...begun, paint('yellow', `⏳ ${name} waits for its limit${when}`)]
  }
  return begun
}

/** The outcome of an attempt in one line; for an open attempt, that it has begun (what it does is shown elsewhere). */
export function attemptHead(attempt: AttemptView, terminal: Terminal): string {
  const name = `${attempt.task_id} ${firstLine(attempt.title)}`
  return attempt.outcome === null ? `▶ ${name}${attemptDetails(attempt)}` : endLine(name, attempt, terminal.paint)
}

/** Like `attemptHead`, but the line of an open attempt says what it waits for. */
function attemptLine(attempt: AttemptView, terminal: Terminal): string {
  const { paint } = terminal
  const name = `${attempt.task_id} ${firstLine(attempt.title)}`
  const { now } = attempt
  if (attempt.outcome !== null || !now) return attemptHead(attempt, terminal)
  if (now.decision !== null) return paint('yellow', `● ${name} ${waitsText(attempt.task_id, now)}`)
  if (now.held_up !== undefined) return paint('yellow', `⏳ ${name}: its merge waits: ${firstLine(now.held_up)}`)
  if (now.status === 'paused' && now.why !== undefined && now.resumes_at === null)
    return paint('yellow', `● ${name} ${standsText(now.why)}`)
  return now.landing ? `◆ ${name} ${COMPLETION_TEXTS[now.landing]}` : `▶ ${name}${attemptDetails(attempt)}`
}

/** Points to the gates, which the person can set up, because unverified work is not proven by being done. */
function unverifiedStep({ attempts, project }: RunDetail): string {
  const task = attempts.findLast(({ verification }) => verification === 'unverified')?.task_id
  const diffHint = task === undefined ? '' : `, and look at it yourself: pcc diff ${task}`
  return `Unverified: see what is checked here with: pcc gates${project === process.cwd() ? '' : ` ${quoteForShell(project)}`}${diffHint}`
}

function attemptDetails({ number, agent, model, session_id, place }: AttemptView): string {
  const parts = [
    ...(number > 1 ? [`attempt ${number}`] : []),
    ...(agent === undefined ? [] : [neutral(agent)]),
    ...(model === null ? [] : [neutral(model)]),
    session_id,
    ...(place ? [neutral(place.branch)] : []),
  ]
  return ` (${parts.join(', ')})`
}

function endLine(name: string, attempt: AttemptView, paint: Terminal['paint']): string {
  const { outcome, reason, cost_usd, started_at, ended_at, agent, agents } = attempt
  const workers = agents ?? (agent === undefined ? [] : [agent])
  const by = workers.length === 0 ? '' : ` by ${neutral(workers.join(', then '))}`
  const spent = `${duration((ended_at ?? started_at) - started_at)}, ${costText(cost_usd)}`
  if (outcome === 'done')
    return paint(
      'green',
      `✓ ${name} done${attempt.verification === 'unverified' ? ' (unverified)' : ''}${by} in ${spent}${attempt.changed_nothing ? '; it changed nothing' : ''}`,
    )
  const why = reason === null ? '' : `: ${firstLine(reason)}`
  if (outcome === 'failed') return paint('red', `✗ ${name} failed${by} after ${spent}${why}`)
  return paint('yellow', `■ ${name} given back${by} after ${spent}${why}`)
}

/** What to do about a run that could not begin. */
function firstStep({ reason }: RunDetail): string {
  if (/\bworktree\b/.test(reason ?? '')) return 'See what is in the way with: pcc worktree list'
  return 'See which agents are ready with: pcc agents doctor'
}

function nextSteps(run: RunDetail): string[] {
  const { outcome, project, attempts, tasks } = run
  switch (outcome) {
    case 'failure':
      if (!tasks.failed) {
        const last = attempts.findLast(each => each.outcome === 'failed')
        const first = last ? `See why with: pcc task show ${last.task_id}` : firstStep(run)
        return [first, `Go on with: ${againCommand(run)}`]
      }
      return [
        'See what failed with: pcc task list --state failed',
        'Try one again with: pcc task reset <task>',
        'Read all of it with: pcc report',
      ]
    case 'blocked':
      return ['See what stands in the way with: pcc task list --state blocked']
    case 'no_plan':
      if (tasks.failed) return ['See what failed with: pcc task list --state failed']
      return [`Add a task with: pcc task add "…"${projectFlag(project)}`]
    case 'limit_reached':
    case 'interrupted':
      return [`Go on with: ${againCommand(run)}`]
    default:
      return []
  }
}

/** The command that starts a run of the same target. */
export function againCommand({ target, project }: RunDetail): string {
  if (target.kind === 'project') return `pcc run ${quoteForShell(shownPath(project, process.cwd(), undefined))}`
  return target.kind === 'task'
    ? `pcc run ${target.id}`
    : `pcc run ${quoteForShell(target.name)}${projectFlag(project)}`
}

function projectFlag(project: string): string {
  return project === process.cwd() ? '' : ` --project ${quoteForShell(project)}`
}

const HEAD = ['Run', 'Target', 'State', 'Tasks', 'Cost', 'Since', 'Took']

/** `pcc runs`: one line for each run, in columns. */
export function runLines(
  { runs, total }: { runs: readonly RunView[]; total: number },
  { paint, width }: Terminal,
  now: number,
): string[] {
  if (runs.length === 0) return ['No runs yet. Begin one with: pcc run .']
  const projectName = nameProjects(runs.map(({ project }) => project))
  const rows = runs.map(run => [
    run.id,
    targetCell(run, firstLine(projectName(run.project))),
    runStateText(run).text,
    countsText(run),
    costText(run.cost_usd),
    ago(now - run.created_at),
    duration((run.ended_at ?? now) - run.created_at),
  ])
  const widths = HEAD.map((head, column) => Math.max(...[[...HEAD], ...rows].map(row => widthOf(row[column] ?? head))))
  const line = (cells: readonly string[]) =>
    cut(
      cells
        .map((cell, column) => pad(cell, widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
      width,
    )
  const older = total - runs.length
  return [
    paint('bold', line(HEAD)),
    ...rows.map((row, index) => {
      const run = runs[index]
      const text = line(row)
      const state = run && runStateText(run)
      return state ? text.replace(state.text, paint(state.tone, state.text)) : text
    }),
    ...(older > 0 ? [paint('dim', `${older} older: pcc runs --all`)] : []),
  ]
}

function targetCell({ target }: RunView, projectName: string): string {
  if (target.kind === 'project') return projectName
  return `${projectName}: ${target.kind === 'feature' ? firstLine(target.name) : target.id}`
}
