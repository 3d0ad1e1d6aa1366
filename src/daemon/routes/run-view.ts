import { agentsOf } from '../../domain/agent-choice.ts'
import type { EventBody, StoredEvent } from '../../domain/event.ts'
import type { AttemptNow, AttemptView, RunDetail, RunView, TaskCounts } from '../../domain/run.ts'
import { OPEN_STATES, type Task } from '../../domain/task.ts'
import type { Store } from '../../store/store.ts'
import type { AttemptRow, RunRow, SessionRow } from '../../store/tables.ts'
import { allApart, readTouching } from '../../supervisor/runs/choose-task.ts'
import { countMerged, scopeOf } from '../../supervisor/runs/next-step.ts'
import type { DaemonContext } from '../context.ts'
import { viewSession } from './sessions.ts'

/** Attempts that are over and shown all the same. */
const LATEST = 50

/** A run as a list shows it. */
export async function runView(run: RunRow, daemon: DaemonContext): Promise<RunView> {
  return viewWith(run, await daemon.store.runs.attempts({ run: run.id }), daemon)
}

/** A run with what its sessions do right now. */
export async function runDetail(run: RunRow, daemon: DaemonContext, latestShown = LATEST): Promise<RunDetail> {
  const { store } = daemon
  const attempts = await store.runs.attempts({ run: run.id })
  const over = attempts.filter(({ outcome }) => outcome !== null)
  const latest = new Set(over.slice(Math.max(0, over.length - latestShown)))
  const [seen, views] = await Promise.all([
    viewWith(run, attempts, daemon),
    Promise.all(
      attempts
        .filter(attempt => attempt.outcome === null || latest.has(attempt))
        .map(attempt => attemptView(attempt, daemon)),
    ),
  ])
  return {
    ...seen,
    attempts: views,
    quota: await quotaOf(attempts.at(-1), daemon),
    left_ms: run.state === 'ended' ? null : await timeLeft(run, { attempts, tasks: seen.tasks }, daemon.store),
    kept_apart: run.state === 'running' && seen.parallel > 1 ? await keptApart(run, daemon) : [],
  }
}

async function keptApart(run: RunRow, { store }: DaemonContext): Promise<RunDetail['kept_apart']> {
  const { ready, atWork } = await readTouching(scopeOf(run), store)
  return allApart(ready, atWork)
}

async function viewWith(run: RunRow, attempts: AttemptRow[], daemon: DaemonContext): Promise<RunView> {
  const { store } = daemon
  const { id, project, target, options, state, outcome, reason, stopping, iterations, created_at, ended_at } = run
  const open = attempts.filter(attempt => attempt.outcome === null)
  const sessions = await Promise.all(open.map(({ session_id }) => store.sessions.get(session_id)))
  return {
    ...{ id, project, target, state, outcome, reason, stopping, iterations, limit: options.limit ?? null },
    parallel: options.parallel ?? 1,
    verify: options.verify ?? true,
    ...(await tasksOf(run, daemon)),
    cost_usd: [...attempts, ...sessions].reduce((sum, one) => sum + (one?.cost_usd ?? 0), 0),
    ...{ created_at, ended_at },
  }
}

/** Of one that has ended, what was the case then: the same tasks may be in other hands by now. */
async function tasksOf(run: RunRow, { store }: DaemonContext): Promise<TaskStanding> {
  if (run.state === 'ended') {
    const [ended] = await store.events({ subject: run.id, kinds: ['run.ended'], tail: 1 })
    if (ended?.kind === 'run.ended' && ended.body.tasks) return standingIn(ended.body)
  }
  const scope = scopeOf(run)
  const landed = await countMerged(run.id, store)
  return { tasks: await store.tasks.counts(scope), unverified: await store.runs.unverified(scope), ...landed }
}

type TaskStanding = Pick<RunView, 'tasks' | 'unverified' | 'merged' | 'unmerged'>

function standingIn({ tasks = {}, unverified = 0, merged = 0, unmerged = 0 }: EventBody<'run.ended'>): TaskStanding {
  return { tasks, unverified, merged, unmerged }
}

async function attemptView(attempt: AttemptRow, daemon: DaemonContext): Promise<AttemptView> {
  const { store } = daemon
  const { task_id, number, iteration, session_id, model, outcome, reason, cost_usd, started_at, ended_at } = attempt
  const [task, session] = await Promise.all([store.tasks.get(task_id), store.sessions.get(session_id)])
  const agents = session ? agentsOf(session.agent, session.options.handed) : []
  return {
    ...{ task_id, title: task?.title ?? '(deleted)', number, iteration, session_id, model, outcome, reason },
    ...(session && session.agent !== 'claude' && { agent: session.agent }),
    ...(agents.length > 1 && { agents }),
    verification: outcome === 'done' ? (task?.verification ?? null) : null,
    ...{ cost_usd: outcome === null ? (session?.cost_usd ?? 0) : cost_usd, started_at, ended_at },
    place: session?.options.place ? { top: session.options.place.top, branch: session.options.place.branch } : null,
    now: outcome === null && session ? await nowOf(session, task, daemon) : null,
  }
}

async function nowOf(session: SessionRow, task: Task | undefined, daemon: DaemonContext): Promise<AttemptNow> {
  const { status, asks, resumes_at } = viewSession(session, daemon)
  const [last] = await daemon.store.events({
    subject: session.id,
    kinds: ['agent.said', 'tool.requested', 'question.asked', 'limit.hit'],
    tail: 1,
  })
  const landing = task?.session_id === session.id ? landingOf(task) : null
  // What waits between an agent's word and the end is asked by nobody that is at work.
  const [open] = landing === null ? [] : await daemon.store.escalations.list({ session: session.id, states: ['open'] })
  const merge = landing === 'merging' ? await daemon.store.merges.open(session.task_id ?? '') : undefined
  return {
    ...(merge?.state === 'waiting' && merge.reason !== null && { held_up: merge.reason }),
    status,
    landing,
    resumes_at,
    last_line: (last && lineOf(last)) ?? session.activity,
    decision: asks.find(({ number }) => number !== undefined)?.number ?? open?.number ?? null,
  }
}

function landingOf({ state }: Task): AttemptNow['landing'] {
  return state === 'verifying' || state === 'merging' ? state : null
}

function lineOf(event: StoredEvent): string | null {
  if (event.kind === 'agent.said')
    return (
      event.body.text
        .split('\n')
        .findLast(line => line.trim() !== '')
        ?.trim() ?? null
    )
  if (event.kind === 'question.asked') return event.body.questions[0]?.question ?? null
  return event.kind === 'limit.hit' ? event.body.message : null // of a tool the row's activity tells more
}

/** By the account that its last session used. */
async function quotaOf(attempt: AttemptRow | undefined, { store, quota }: DaemonContext): Promise<RunDetail['quota']> {
  const session = attempt && (await store.sessions.get(attempt.session_id))
  if (!session?.account) return null
  const { level, windows } = await quota.of(session.account)
  const [fullest] = windows.toSorted((a, b) => b.utilization - a.utilization)
  return fullest ? { level, window: fullest.window, utilization: fullest.utilization } : null
}

/** Earlier runs that are looked at while this one has nothing to tell. */
const EARLIER = 3

/** What a run has before it, in time: its open tasks by what tasks of it, or of earlier runs of the project, took. */
async function timeLeft(
  run: Pick<RunRow, 'id' | 'project'>,
  { attempts, tasks }: { attempts: AttemptRow[]; tasks: TaskCounts },
  { runs }: Pick<Store, 'runs'>,
): Promise<number | null> {
  const own = durationsOf(attempts)
  if (own.length > 0) return estimate(own, tasks)
  const earlier = (await runs.list({ project: run.project })).filter(({ id }) => id !== run.id).slice(0, EARLIER)
  const theirs = await Promise.all(earlier.map(({ id }) => runs.attempts({ run: id })))
  return estimate(durationsOf(theirs.flat()), tasks)
}

/** The middle one counts: a task that waited for a night says nothing of the next. */
export function estimate(durations: readonly number[], tasks: TaskCounts): number | null {
  const middle = durations.toSorted((a, b) => a - b)[Math.floor(durations.length / 2)]
  return middle === undefined ? null : middle * OPEN_STATES.reduce((sum, state) => sum + (tasks[state] ?? 0), 0)
}

function durationsOf(attempts: readonly AttemptRow[]): number[] {
  return attempts.flatMap(({ outcome, started_at, ended_at }) =>
    outcome === 'done' && ended_at !== null ? [ended_at - started_at] : [],
  )
}
