import { shellWord } from '../../base/shell-word.ts'
import type { AttemptView, RunDetail } from '../../domain/runs/run-view.ts'
import { counted, duration, shownPath, wakeTime } from '../render/format.ts'
import type { Terminal } from '../render/paint.ts'
import { firstLine, neutral } from '../render/text.ts'
import { LANDING, waitsText } from './board/words.ts'
import { apartText, costText, countsText, heldUpText, mergedText, OUTCOME_LOOKS, targetText } from './words.ts'

/** What has become of a run since it was looked at last, line by line: for pipes, logs and scripts. */
export function newsOf(before: RunDetail | undefined, now: RunDetail, terminal: Terminal): string[] {
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
export function summaryLines(run: RunDetail, { paint }: Terminal, now: number): string[] {
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
    return [...begun, `◆ ${name} ${LANDING[is.landing]}`]
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
export function attemptLine(attempt: AttemptView, terminal: Terminal): string {
  const { paint } = terminal
  const name = `${attempt.task_id} ${firstLine(attempt.title)}`
  const { now } = attempt
  if (attempt.outcome !== null || !now) return attemptHead(attempt, terminal)
  if (now.decision !== null) return paint('yellow', `● ${name} ${waitsText(attempt.task_id, now)}`)
  if (now.held_up !== undefined) return paint('yellow', `⏳ ${name}: its merge waits: ${firstLine(now.held_up)}`)
  return now.landing ? `◆ ${name} ${LANDING[now.landing]}` : `▶ ${name}${detailsOf(attempt)}`
}

/** What nobody could check is not proven by being done: which checks there are is the person's to say. */
function unverifiedStep({ attempts, project }: RunDetail): string {
  const one = attempts.findLast(({ verification }) => verification === 'unverified')?.task_id
  const look = one === undefined ? '' : `, and look at it yourself: pcc diff ${one}`
  return `Unverified: see what is checked here with: pcc gates${project === process.cwd() ? '' : ` ${shellWord(project)}`}${look}`
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
  if (target.kind === 'project') return `pcc run ${shellWord(shownPath(project, process.cwd(), undefined))}`
  return target.kind === 'task' ? `pcc run ${target.id}` : `pcc run ${shellWord(target.name)}${elsewhere(project)}`
}

function elsewhere(project: string): string {
  return project === process.cwd() ? '' : ` --project ${shellWord(project)}`
}
