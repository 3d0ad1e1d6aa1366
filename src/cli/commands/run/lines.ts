import { basename } from 'node:path'
import { quoteForShell } from '../../../base/words.ts'
import type { AttemptView, RunDetail, RunView } from '../../../domain/run.ts'
import { ago, counted, dateTime, duration, shownPath, wakeTime } from '../../render/format.ts'
import { cut, firstLine, neutral, pad, type Terminal, widthOf } from '../../render/text.ts'
import {
  apartText,
  COMPLETION_TEXTS,
  costText,
  countsText,
  heldUpText,
  leftText,
  mergedText,
  OUTCOME_LOOKS,
  quotaText,
  runStateText,
  targetText,
  waitsText,
} from './format.ts'

/** Attempts that a page shows. */
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
  const left = leftText(run)
  const held = run.attempts.filter(({ outcome, now }) => outcome === null && now?.held_up !== undefined)
  const waiting = run.attempts.filter(({ now }) => now?.decision != null)
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
    ...run.kept_apart.map(each => `Waits: ${apartText(each)}`),
    ...held.map(({ task_id, now }) => paint('yellow', `Held up: ${task_id}, ${firstLine(now?.held_up ?? '')}`)),
    ...waiting.map(({ task_id, now }) =>
      paint(
        'yellow',
        `Needs you: ${task_id}, ${now?.landing === 'merging' ? `pcc review ${task_id}` : `pcc respond ${now?.decision}`}`,
      ),
    ),
    '',
    paint('bold', run.attempts.length > SHOWN ? `The last ${counted(SHOWN, 'attempt')}:` : 'Attempts:'),
    ...(run.attempts.length === 0 ? ['none yet'] : run.attempts.slice(-SHOWN).map(one => attemptLine(one, terminal))),
  ]
}

/** What has become of a run since it was looked at last, line by line: for pipes, logs and scripts. */
export function runNews(before: RunDetail | undefined, now: RunDetail, terminal: Terminal): string[] {
  const known = new Map(before?.attempts.map(attempt => [attempt.iteration, attempt]))
  const lines = now.attempts.flatMap(attempt => attemptNews(known.get(attempt.iteration), attempt, terminal))
  const wasPaused = before?.state === 'paused'
  return [
    ...lines,
    ...(now.state === 'paused' && !wasPaused ? [`Paused. Go on with: pcc resume ${now.id}`] : []),
    ...(now.state === 'running' && wasPaused ? ['Goes on.'] : []),
    ...(now.stopping && !before?.stopping && now.state !== 'ended' ? ['No new task begins: it was stopped.'] : []),
    ...now.kept_apart
      .filter(({ id, beside }) => !before?.kept_apart.some(each => each.id === id && each.beside === beside))
      .map(each => terminal.paint('yellow', `○ ${apartText(each)}`)),
    ...(now.state === 'running' && now.reason !== before?.reason
      ? [heldUpText(now)].flatMap(line => (line === undefined ? [] : [terminal.paint('yellow', line)]))
      : []),
  ]
}

/** How it ended, and what to do about it. */
export function runSummaryLines(run: RunDetail, { paint }: Terminal, now: number): string[] {
  if (run.outcome === null) return []
  const { glyph, tone, words } = OUTCOME_LOOKS[run.outcome]
  const tried = `${counted(run.iterations, 'attempt')}, ${duration((run.ended_at ?? now) - run.created_at)}`
  return [
    paint(
      tone,
      `${glyph} Run ${run.id} of ${targetText(run)}: ${words}${run.reason ? `, ${neutral(run.reason)}` : ''}`,
    ),
    `  ${[countsText(run), mergedText(run), tried].filter(Boolean).join('; ')}, ${costText(run.cost_usd)}`,
    ...(run.unmerged > 0 ? ['  See what is not merged with: pcc merge list and pcc worktree list'] : []),
    ...(run.unverified > 0 && run.outcome === 'complete' ? [`  ${unverifiedStep(run)}`] : []),
    ...nextSteps(run).map(line => `  ${line}`),
  ]
}

/** The lines by which an attempt differs from what was known of it. */
function attemptNews(before: AttemptView | undefined, now: AttemptView, { paint }: Terminal): string[] {
  const name = `${now.task_id} ${firstLine(now.title)}`
  const begun = before ? [] : [`▶ ${name}${detailsOf(now)}`]
  if (now.outcome !== null) {
    if (before && before.outcome !== null) return []
    return [...begun, endLine(name, now, paint)]
  }
  const [was, is] = [before?.now, now.now]
  if (is && is.decision !== null && is.decision !== was?.decision) {
    return [...begun, paint('yellow', `● ${name} ${waitsText(now.task_id, is)}`)]
  }
  if (is?.held_up !== undefined) {
    if (is.held_up === was?.held_up) return begun
    return [...begun, paint('yellow', `⏳ ${name}: its merge waits: ${firstLine(is.held_up)}`)]
  }
  if (is?.landing && is.decision === null && (is.landing !== was?.landing || was.decision !== null))
    return [...begun, `◆ ${name} ${COMPLETION_TEXTS[is.landing]}`]
  if (!is || is.status === was?.status) return begun
  if (is.status === 'rate_limited') {
    const when = is.resumes_at === null ? '' : ` until ${wakeTime(is.resumes_at, Date.now())}`
    return [...begun, paint('yellow', `⏳ ${name} waits for its limit${when}`)]
  }
  return begun
}

/** What became of an attempt, in one line; of an open one, that it was begun: where there is room, what it does stands below. */
export function attemptHead(attempt: AttemptView, terminal: Terminal): string {
  const name = `${attempt.task_id} ${firstLine(attempt.title)}`
  return attempt.outcome === null ? `▶ ${name}${detailsOf(attempt)}` : endLine(name, attempt, terminal.paint)
}

/** The same where there is one line for each: of an open one, what it waits for. */
function attemptLine(attempt: AttemptView, terminal: Terminal): string {
  const { paint } = terminal
  const name = `${attempt.task_id} ${firstLine(attempt.title)}`
  const { now } = attempt
  if (attempt.outcome !== null || !now) return attemptHead(attempt, terminal)
  if (now.decision !== null) return paint('yellow', `● ${name} ${waitsText(attempt.task_id, now)}`)
  if (now.held_up !== undefined) return paint('yellow', `⏳ ${name}: its merge waits: ${firstLine(now.held_up)}`)
  return now.landing ? `◆ ${name} ${COMPLETION_TEXTS[now.landing]}` : `▶ ${name}${detailsOf(attempt)}`
}

/** What nobody could check is not proven by being done: which checks there are is the person's to say. */
function unverifiedStep({ attempts, project }: RunDetail): string {
  const one = attempts.findLast(({ verification }) => verification === 'unverified')?.task_id
  const look = one === undefined ? '' : `, and look at it yourself: pcc diff ${one}`
  return `Unverified: see what is checked here with: pcc gates${project === process.cwd() ? '' : ` ${quoteForShell(project)}`}${look}`
}

function detailsOf({ number, agent, model, session_id, place }: AttemptView): string {
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
  const who = agents ?? (agent === undefined ? [] : [agent])
  const by = who.length === 0 ? '' : ` by ${neutral(who.join(', then '))}`
  const spent = `${duration((ended_at ?? started_at) - started_at)}, ${costText(cost_usd)}`
  if (outcome === 'done')
    return paint(
      'green',
      `✓ ${name} done${attempt.verification === 'unverified' ? ' (unverified)' : ''}${by} in ${spent}`,
    )
  const why = reason === null ? '' : `: ${firstLine(reason)}`
  if (outcome === 'failed') return paint('red', `✗ ${name} failed${by} after ${spent}${why}`)
  return paint('yellow', `■ ${name} given back${by} after ${spent}${why}`)
}

function nextSteps(run: RunDetail): string[] {
  const { outcome, project, attempts } = run
  switch (outcome) {
    case 'failure':
      if (attempts.length === 0)
        return ['See which agents are ready with: pcc agents doctor', `Go on with: ${againCommand(run)}`]
      return ['See what failed with: pcc task list --state failed', 'Let one be done anew with: pcc task reset <task>']
    case 'blocked':
      return ['See what stands in the way with: pcc task list --state blocked']
    case 'no_plan':
      return [`Add a task with: pcc task add "…"${elsewhere(project)}`]
    case 'limit_reached':
    case 'interrupted':
      return [`Go on with: ${againCommand(run)}`]
    default:
      return []
  }
}

function againCommand({ target, project }: RunDetail): string {
  if (target.kind === 'project') return `pcc run ${quoteForShell(shownPath(project, process.cwd(), undefined))}`
  return target.kind === 'task' ? `pcc run ${target.id}` : `pcc run ${quoteForShell(target.name)}${elsewhere(project)}`
}

function elsewhere(project: string): string {
  return project === process.cwd() ? '' : ` --project ${quoteForShell(project)}`
}

const HEAD = ['Run', 'Target', 'State', 'Tasks', 'Cost', 'Since', 'Took']

/** `pcc runs`: one line each, in columns. */
export function runLines(
  { runs, total }: { runs: readonly RunView[]; total: number },
  { paint, width }: Terminal,
  now: number,
): string[] {
  if (runs.length === 0) return ['No runs yet. Begin one with: pcc run .']
  const rows = runs.map(run => [
    run.id,
    targetCell(run),
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

function targetCell({ target, project }: RunView): string {
  const place = firstLine(basename(project))
  if (target.kind === 'project') return place
  return `${place}: ${target.kind === 'feature' ? firstLine(target.name) : target.id}`
}
