import { agentsOf } from '../../domain/agent-choice.ts'
import { brokenCheckKey, type Escalation } from '../../domain/escalation.ts'
import type { EventBody, StoredEvent } from '../../domain/event.ts'
import type { Need, Needs } from '../../domain/needs.ts'
import type { AttemptNow, AttemptView, RunDetail, RunView, TaskCounts } from '../../domain/run.ts'
import { isResting } from '../../domain/session-end.ts'
import { OPEN_STATES, type Task } from '../../domain/task.ts'
import type { Store } from '../../store/store.ts'
import type { AttemptRow, RunRow, SessionRow } from '../../store/tables.ts'
import type { DoneAttempt } from '../../store/task-stores.ts'
import { filterOfScope } from '../../store/tasks.ts'
import { hasEmptyDiff } from '../../supervisor/report/tasks.ts'
import { countMerged, scopeOf } from '../../supervisor/runs/next-step.ts'
import type { DaemonContext } from '../context.ts'
import { viewSession } from './sessions.ts'

/** How many finished attempts are shown: the newest ones. */
const LATEST = 50

/** A run as a list shows it. */
export async function runView(run: RunRow, daemon: DaemonContext): Promise<RunView> {
  const { store } = daemon
  const [attempts, doneAttempts] = await Promise.all([
    store.runs.attempts({ run: run.id }),
    store.runs.doneAttempts(run.id),
  ])
  const open = attempts.filter(({ outcome }) => outcome === null)
  const shown = await viewAttempts(open, doneAttempts, daemon)
  return buildRunView(run, { attempts, doneAttempts, shown }, store)
}

/** A run with what its sessions do right now. */
export async function runDetail(run: RunRow, daemon: DaemonContext, latestShown = LATEST): Promise<RunDetail> {
  const { store } = daemon
  const attempts = await store.runs.attempts({ run: run.id })
  const finished = attempts.filter(({ outcome }) => outcome !== null)
  const latest = new Set(finished.slice(Math.max(0, finished.length - latestShown)))
  const doneAttempts = await store.runs.doneAttempts(run.id)
  const shown = await viewAttempts(
    attempts.filter(attempt => attempt.outcome === null || latest.has(attempt)),
    doneAttempts,
    daemon,
  )
  const view = await buildRunView(run, { attempts, doneAttempts, shown }, store)
  return {
    ...view,
    attempts: shown,
    quota: await readQuota(attempts.at(-1), daemon),
    left_ms:
      run.state === 'ended' || view.stands ? null : await estimateTimeLeft(run, { attempts, ...view }, daemon.store),
    kept_apart: run.state === 'running' && view.parallel > 1 ? await daemon.supervisor.runs.keptApart(run) : [],
  }
}

/** What waits for a person in a run: in its sessions and tasks, in its whole project, and the accounts that it uses. */
export async function needsOfRun(
  run: RunRow,
  { store, needs }: { store: Store; needs(filter: { project: string }): Promise<Needs> },
): Promise<Need[]> {
  const rows = (await needs({ project: run.project })).needs
  if (rows.length === 0) return []
  const attempts = await store.runs.attempts({ run: run.id })
  const sessions = new Set(attempts.map(({ session_id }) => session_id))
  const open = attempts.flatMap(({ outcome, session_id }) => (outcome === null ? [session_id] : []))
  const accounts = new Set((await store.sessions.of(open)).map(({ account }) => `account:${account}`))
  const ids = rows.flatMap(({ task_id }) => task_id ?? [])
  const tasks = new Set((await store.tasks.list({ ...filterOfScope(scopeOf(run)), ids })).map(({ id }) => id))
  return rows.filter(({ key, session_id, task_id }) => {
    if (session_id !== null) return sessions.has(session_id)
    if (task_id !== null) return tasks.has(task_id)
    return !key.startsWith('account:') || accounts.has(key)
  })
}

interface Past {
  attempts: AttemptRow[]
  doneAttempts: DoneAttempt[]
  /** The open attempts, and perhaps others. */
  shown: AttemptView[]
}

async function buildRunView(run: RunRow, { attempts, doneAttempts, shown }: Past, store: Store): Promise<RunView> {
  const { id, project, target, options, state, outcome, reason, stopping, iterations, created_at, ended_at } = run
  const open = attempts.filter(attempt => attempt.outcome === null)
  const sessions = await Promise.all(open.map(({ session_id }) => store.sessions.get(session_id)))
  return {
    ...{ id, project, target, state, outcome, reason, stopping, iterations, limit: options.limit ?? null },
    parallel: options.parallel ?? 1,
    verify: options.verify ?? true,
    ...(await readTaskStanding(run, doneAttempts, store)),
    held: shown.filter(({ now }) => now?.landing && isHeld(now)).length,
    stands: open.length === 0 ? state === 'running' && reason !== null : standsStill(shown),
    cost_usd: [...attempts, ...sessions].reduce((sum, row) => sum + (row?.cost_usd ?? 0), 0),
    ...{ created_at, ended_at },
  }
}

/** A run that has ended shows its tasks as they were then: another run may have changed them since. */
async function readTaskStanding(run: RunRow, doneAttempts: DoneAttempt[], store: Store): Promise<TaskStanding> {
  if (run.state === 'ended') {
    const [ended] = await store.events({ subject: run.id, kinds: ['run.ended'], tail: 1 })
    if (ended?.kind === 'run.ended' && ended.body.tasks) return toTaskStanding(ended.body)
  }
  const scope = scopeOf(run)
  const landed = countMerged(doneAttempts)
  return { tasks: await store.tasks.counts(scope), unverified: await store.runs.unverified(scope), ...landed }
}

type TaskStanding = Pick<RunView, 'tasks' | 'unverified' | 'merged' | 'unmerged'>

function toTaskStanding({
  tasks = {},
  unverified = 0,
  merged = 0,
  unmerged = 0,
}: EventBody<'run.ended'>): TaskStanding {
  return { tasks, unverified, merged, unmerged }
}

/** Reads what belongs to all of them at once: whoever follows a run asks for it several times in every task. */
async function viewAttempts(
  attempts: AttemptRow[],
  doneAttempts: DoneAttempt[],
  daemon: DaemonContext,
): Promise<AttemptView[]> {
  const { store } = daemon
  const [tasks, sessions] = await Promise.all([
    store.tasks.of([...new Set(attempts.map(({ task_id }) => task_id))]),
    store.sessions.of([...new Set(attempts.map(({ session_id }) => session_id))]),
  ])
  const [taskOf, sessionOf] = [new Map(tasks.map(row => [row.id, row])), new Map(sessions.map(row => [row.id, row]))]
  const landedAs = new Map(doneAttempts.map(({ task_id, number, as }) => [`${task_id} ${number}`, as]))
  return Promise.all(
    attempts.map(attempt => {
      const { task_id, number, session_id } = attempt
      const of = { task: taskOf.get(task_id), session: sessionOf.get(session_id) }
      return attemptView(attempt, { ...of, landed: landedAs.get(`${task_id} ${number}`) }, daemon)
    }),
  )
}

interface OfAttempt {
  task: Task | undefined
  session: SessionRow | undefined
  landed: DoneAttempt['as'] | undefined
}

async function attemptView(
  attempt: AttemptRow,
  { task, session, landed }: OfAttempt,
  daemon: DaemonContext,
): Promise<AttemptView> {
  const { task_id, number, iteration, session_id, model, outcome, reason, cost_usd, started_at, ended_at } = attempt
  const agents = session ? agentsOf(session.agent, session.options.handed) : []
  return {
    ...{ task_id, title: task?.title ?? '(deleted)', number, iteration, session_id, model, outcome, reason },
    ...(session && session.agent !== 'claude' && { agent: session.agent }),
    ...(agents.length > 1 && { agents }),
    ...(outcome === 'done' &&
      (landed === 'nothing' ||
        (landed !== 'merged' && (await hasEmptyDiff({ task: task_id, attempt: number }, daemon.store)))) && {
        changed_nothing: true as const,
      }),
    verification: outcome === 'done' ? (task?.verification ?? null) : null,
    ...{ cost_usd: outcome === null ? (session?.cost_usd ?? 0) : cost_usd, started_at, ended_at },
    place: session?.options.place ? { top: session.options.place.top, branch: session.options.place.branch } : null,
    now: outcome === null && session ? await readAttemptNow(session, task, daemon) : null,
  }
}

async function readAttemptNow(session: SessionRow, task: Task | undefined, daemon: DaemonContext): Promise<AttemptNow> {
  const { status, asks, resumes_at } = viewSession(session, daemon)
  const [last] = await daemon.store.events({
    subject: session.id,
    kinds: ['agent.said', 'tool.requested', 'question.asked', 'limit.hit'],
    tail: 1,
  })
  const landing = task?.session_id === session.id ? landingOf(task) : null
  const isDue = status === 'paused' && resumes_at !== null && session.account !== null
  const gate = isDue ? await daemon.store.gates.get(session.account ?? '') : undefined
  // Work that was sent back on a closed account waits for the account, not for its checks.
  const closed = gate && (gate.closed_until ?? 0) > Date.now() ? gate.reason : null
  const why = closed ?? session.status_reason
  // While a task is verified or merged no agent is at work, so its open decisions are not among the asks.
  const [open] = landing === null ? [] : await daemon.store.escalations.list({ session: session.id, states: ['open'] })
  const merge = landing === 'merging' ? await daemon.store.merges.open(session.task_id ?? '') : undefined
  return {
    ...(merge?.state === 'waiting' && merge.reason !== null && { held_up: merge.reason }),
    ...(status === 'paused' && why !== null && { why }),
    ...(open && task?.state === 'verifying' && task.reason !== null && { why: task.reason }),
    status,
    landing,
    resumes_at,
    last_line: (last && toLastLine(last)) ?? session.activity,
    decision:
      asks.find(({ number }) => number !== undefined)?.number ?? (open ? await numberInPending(open, daemon) : null),
  }
}

/** The number under which `pcc pending` lists it: tasks whose checks cannot run for one reason are one row there. */
async function numberInPending(open: Escalation, { store }: DaemonContext): Promise<number> {
  const key = brokenCheckKey(open)
  if (key === undefined) return open.number
  const same = (await store.escalations.list({ states: ['open'] })).filter(row => brokenCheckKey(row) === key)
  return same[0]?.number ?? open.number
}

function landingOf({ state }: Task): AttemptNow['landing'] {
  return state === 'verifying' || state === 'merging' ? state : null
}

function toLastLine(event: StoredEvent): string | null {
  if (event.kind === 'agent.said')
    return (
      event.body.text
        .split('\n')
        .findLast(line => line.trim() !== '')
        ?.trim() ?? null
    )
  if (event.kind === 'question.asked') return event.body.questions[0]?.question ?? null
  return event.kind === 'limit.hit' ? event.body.message : null // for a tool the session's activity says more
}

/** The quota of the account that the last session used. */
async function readQuota(
  attempt: AttemptRow | undefined,
  { store, quota }: DaemonContext,
): Promise<RunDetail['quota']> {
  const session = attempt && (await store.sessions.get(attempt.session_id))
  if (!session?.account) return null
  const { level, windows } = await quota.of(session.account)
  // Our own estimate says nothing about the vendor's windows: it is shown where nothing better is known.
  const known = windows.filter(({ source }) => source !== 'estimate')
  const [fullest] = (known.length > 0 ? known : windows).toSorted((a, b) => b.utilization - a.utilization)
  if (!fullest) return null
  const { window, utilization, source, tokens } = fullest
  return { level, window, utilization, source, ...(tokens !== undefined && { tokens }) }
}

/** Whether no attempt goes on before a time or a person comes: how long that takes says nothing about the tasks. */
export function standsStill(attempts: readonly Pick<AttemptView, 'now'>[]): boolean {
  const open = attempts.flatMap(({ now }) => now ?? [])
  return open.length > 0 && open.every(now => (now.landing === null ? isResting(now.status) : isHeld(now)))
}

/** Whether finished work waits for a person. */
function isHeld({ decision, held_up }: AttemptNow): boolean {
  return decision !== null || held_up !== undefined
}

/** How many earlier runs are read while this one has no finished task. */
const EARLIER = 3

/** Estimates the time that a run still needs, from how long its tasks, or those of earlier runs of the project, took. */
async function estimateTimeLeft(
  run: Pick<RunRow, 'id' | 'project'>,
  { attempts, tasks, held }: { attempts: AttemptRow[]; tasks: TaskCounts; held: number },
  { runs }: Pick<Store, 'runs'>,
): Promise<number | null> {
  const own = durationsOf(attempts)
  if (own.length > 0) return estimate(own, tasks, held)
  const earlier = (await runs.list({ project: run.project, limit: EARLIER + 1 })).filter(({ id }) => id !== run.id)
  const theirs = await Promise.all(earlier.map(({ id }) => runs.attempts({ run: id })))
  return estimate(durationsOf(theirs.flat()), tasks, held)
}

/**
 * Uses the median: a task that waited for a whole night says nothing about the next one. What waits is left out, because nobody knows how
 * long that takes.
 */
export function estimate(durations: readonly number[], tasks: TaskCounts, held = 0): number | null {
  const median = durations.toSorted((a, b) => a - b)[Math.floor(durations.length / 2)]
  const waiting = (tasks.waiting ?? 0) + held
  const left = OPEN_STATES.reduce((sum, state) => sum + (tasks[state] ?? 0), 0) - waiting
  return median === undefined || (left <= 0 && waiting > 0) ? null : median * left
}

function durationsOf(attempts: readonly AttemptRow[]): number[] {
  return attempts.flatMap(({ outcome, started_at, ended_at }) =>
    outcome === 'done' && ended_at !== null ? [ended_at - started_at] : [],
  )
}
