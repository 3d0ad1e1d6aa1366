import { agentsOf } from '../../../domain/agents/agents-of.ts'
import type { EventBody, StoredEvent } from '../../../domain/event.ts'
import type { AttemptNow, AttemptView, RunDetail, RunView } from '../../../domain/runs/run-view.ts'
import type { Task } from '../../../domain/task.ts'
import type { AttemptRow, RunRow } from '../../../store/runs/rows.ts'
import type { SessionRow } from '../../../store/tables.ts'
import { mergedOf } from '../../../supervisor/runs/facts/merged-of.ts'
import { allApart } from '../../../supervisor/runs/overlap/keep-apart.ts'
import { touchingNow } from '../../../supervisor/runs/overlap/touching.ts'
import { scopeOf } from '../../../supervisor/runs/scope.ts'
import type { World } from '../../world.ts'
import { view } from '../sessions.ts'
import { timeLeft } from './time-left.ts'

/** Attempts that are over and shown all the same. */
const LATEST = 50

/** A run as a list shows it. */
export async function runView(run: RunRow, world: World): Promise<RunView> {
  return viewWith(run, await world.store.runs.attempts({ run: run.id }), world)
}

/** A run with what its sessions do right now. */
export async function runDetail(run: RunRow, world: World, latestShown = LATEST): Promise<RunDetail> {
  const { store } = world
  const attempts = await store.runs.attempts({ run: run.id })
  const over = attempts.filter(({ outcome }) => outcome !== null)
  const latest = new Set(over.slice(Math.max(0, over.length - latestShown)))
  const [seen, views] = await Promise.all([
    viewWith(run, attempts, world),
    Promise.all(
      attempts
        .filter(attempt => attempt.outcome === null || latest.has(attempt))
        .map(attempt => attemptView(attempt, world)),
    ),
  ])
  return {
    ...seen,
    attempts: views,
    quota: await quotaOf(attempts.at(-1), world),
    left_ms: run.state === 'ended' ? null : await timeLeft(run, { attempts, tasks: seen.tasks }, world.store),
    kept_apart: run.state === 'running' && seen.parallel > 1 ? await keptApart(run, world) : [],
  }
}

async function keptApart(run: RunRow, { store }: World): Promise<RunDetail['kept_apart']> {
  const { ready, atWork } = await touchingNow(scopeOf(run), store)
  return allApart(ready, atWork)
}

async function viewWith(run: RunRow, attempts: AttemptRow[], world: World): Promise<RunView> {
  const { store } = world
  const { id, project, target, options, state, outcome, reason, stopping, iterations, created_at, ended_at } = run
  const open = attempts.filter(attempt => attempt.outcome === null)
  const sessions = await Promise.all(open.map(({ session_id }) => store.sessions.get(session_id)))
  return {
    ...{ id, project, target, state, outcome, reason, stopping, iterations, limit: options.limit ?? null },
    parallel: options.parallel ?? 1,
    verify: options.verify ?? true,
    ...(await tasksOf(run, world)),
    cost_usd: [...attempts, ...sessions].reduce((sum, one) => sum + (one?.cost_usd ?? 0), 0),
    ...{ created_at, ended_at },
  }
}

/** Of one that has ended, what was the case then: the same tasks may be in other hands by now. */
async function tasksOf(run: RunRow, { store }: World): Promise<Standing> {
  if (run.state === 'ended') {
    const [ended] = await store.events({ subject: run.id, kinds: ['run.ended'], tail: 1 })
    if (ended?.kind === 'run.ended' && ended.body.tasks) return standingIn(ended.body)
  }
  const scope = scopeOf(run)
  const landed = await mergedOf(run.id, store)
  return { tasks: await store.tasks.counts(scope), unverified: await store.runs.unverified(scope), ...landed }
}

type Standing = Pick<RunView, 'tasks' | 'unverified' | 'merged' | 'unmerged'>

function standingIn({ tasks = {}, unverified = 0, merged = 0, unmerged = 0 }: EventBody<'run.ended'>): Standing {
  return { tasks, unverified, merged, unmerged }
}

async function attemptView(attempt: AttemptRow, world: World): Promise<AttemptView> {
  const { store } = world
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
    now: outcome === null && session ? await nowOf(session, task, world) : null,
  }
}

async function nowOf(session: SessionRow, task: Task | undefined, world: World): Promise<AttemptNow> {
  const { status, asks, resumes_at } = view(session, world)
  const [last] = await world.store.events({
    subject: session.id,
    kinds: ['agent.said', 'tool.requested', 'question.asked', 'limit.hit'],
    tail: 1,
  })
  const landing = task?.session_id === session.id ? landingOf(task) : null
  // What waits between an agent's word and the end is asked by nobody that is at work.
  const [open] = landing === null ? [] : await world.store.escalations.list({ session: session.id, states: ['open'] })
  const merge = landing === 'merging' ? await world.store.merges.open(session.task_id ?? '') : undefined
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
async function quotaOf(attempt: AttemptRow | undefined, { store, quota }: World): Promise<RunDetail['quota']> {
  const session = attempt && (await store.sessions.get(attempt.session_id))
  if (!session?.account) return null
  const { level, windows } = await quota.of(session.account)
  const [fullest] = windows.toSorted((a, b) => b.utilization - a.utilization)
  return fullest ? { level, window: fullest.window, utilization: fullest.utilization } : null
}
