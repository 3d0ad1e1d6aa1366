import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Store, Tx } from '../../store/store.ts'
import type { AttemptRow, RunRow, SessionRow } from '../../store/tables.ts'
import type { Tasks } from '../../tasks/tasks.ts'
import { attemptStory, keepNotes } from '../brief/journal.ts'
import { classifyAttempt, retryPlan, sinceReset } from './next-step.ts'
import { type RunSettings, retriesFor } from './run-settings.ts'

/** The attempts of a run that have no outcome yet. */
export async function openAttempts(id: string, { runs }: Pick<Store, 'runs'>): Promise<AttemptRow[]> {
  return (await runs.attempts({ run: id })).filter(({ outcome }) => outcome === null)
}

/** Closes the attempts of a run whose sessions are over. */
export async function closeAttempts(
  run: RunRow,
  settings: RunSettings,
  deps: Omit<CloseDeps, 'settings'>,
): Promise<void> {
  const { store } = deps
  for (const attempt of await openAttempts(run.id, store)) {
    const session = await store.sessions.get(attempt.session_id)
    const task = await store.tasks.get(attempt.task_id)
    const isOver = session !== undefined && classifyAttempt(session, task) === 'over'
    if (isOver) await closeAttempt(run, { attempt, session }, { ...deps, settings })
  }
}

interface CloseDeps {
  store: Store
  tasks: Tasks
  clock: Clock
  log: Log
  /** The lock file that is held while notes of a project are written. */
  notesLock: string
  settings: Pick<RunSettings, 'maxRetries' | 'retryMs'>
}

/** The reason of a stopped session whose task a person has settled, reset or cancelled: the run goes on with the next task. */
export const SETTLED_BY_PERSON = 'a person has said what becomes of its task'

/**
 * Records the outcome of an attempt whose session is over, and what becomes of its task: a failed task is tried again, or fails
 * for good with its whole story. An attempt is closed once only.
 */
export async function closeAttempt(
  run: RunRow,
  { attempt, session }: { attempt: AttemptRow; session: SessionRow },
  deps: CloseDeps,
): Promise<void> {
  const { store, clock } = deps
  const { sigils, failure } = await readLastTurn(session.id, store)
  const { columns, knowledge } = await attemptStory({ attempt, session }, store)
  const { title = '', feature = null } = (await store.tasks.get(attempt.task_id)) ?? {}
  // Notes are written before the row is closed: after a crash in between they are written again, which changes nothing.
  const about = { project: session.project, task: { id: attempt.task_id, feature }, now: clock.now() }
  keepNotes(knowledge, { ...about, lockFile: deps.notesLock, log: deps.log })
  await store.transaction(async tx => {
    const current = await store.sessions.get(session.id, tx)
    const task = await store.tasks.get(attempt.task_id, tx)
    // The session was resumed since it was read. If it has ended again by now, that end triggers another check.
    if (current && (classifyAttempt(current, task) !== 'over' || current.ended_at !== session.ended_at)) return
    const outcome = session.ended_as === 'error' ? 'failed' : task?.state === 'done' ? 'done' : 'interrupted'
    const closed = await store.runs.end(
      attempt,
      {
        outcome,
        reason: session.status_reason,
        result: task?.result ?? null,
        failure,
        next_model: sigils?.next_model ?? null,
        cost_usd: session.cost_usd,
        rounds: current?.options.landing?.verified ?? 0,
        ended_at: clock.now(),
        ...{ ...columns, title, feature },
      },
      tx,
    )
    if (!closed) return
    if (outcome === 'interrupted') await giveTaskBack(attempt, deps, tx)
    // A person who stops the session of a run does not want the next one to begin.
    const isSettled = session.status_reason === SETTLED_BY_PERSON
    if (session.ended_as === 'stopped' && !isSettled) await store.runs.update(run.id, { stopping: true }, tx)
    if (outcome === 'failed' && sigils?.gave_up !== undefined) {
      await store.runs.update(run.id, { gave_up: sigils.gave_up || session.status_reason }, tx)
    }
    if (outcome === 'failed') await failWhenTriedOut({ run, attempt }, deps, tx)
  })
}

/** What the agent asked of the run at the end of its last turn, and the kind of failure that the session ended with. */
async function readLastTurn(session: string, store: Store) {
  const last = { subject: session, tail: 1 }
  const [[turn], [end]] = await Promise.all([
    store.events({ ...last, kinds: ['turn.ended'] }),
    store.events({ ...last, kinds: ['session.ended'] }),
  ])
  const { sigils, failure } = turn?.kind === 'turn.ended' ? turn.body : {}
  const ended = end?.kind === 'session.ended' ? end.body.failure : undefined
  return { sigils, failure: ended ?? failure?.kind ?? null }
}

async function giveTaskBack({ task_id, session_id }: AttemptRow, { store, tasks }: CloseDeps, tx: Tx): Promise<void> {
  const task = await store.tasks.get(task_id, tx)
  // Another session may have claimed the task by now.
  if (task?.session_id === session_id && (task.state === 'waiting' || task.state === 'running'))
    await tasks.transition(task_id, { to: 'ready' }, tx)
}

/** A failed task is ready again already (`session/endings.ts`); it fails for good when its retries are used up. */
async function failWhenTriedOut(
  { run, attempt: { task_id } }: { run: RunRow; attempt: AttemptRow },
  { store, tasks, settings }: CloseDeps,
  tx: Tx,
): Promise<void> {
  const task = await store.tasks.get(task_id, tx)
  const isOpen = task?.state === 'ready' || task?.state === 'blocked'
  // A person has moved the task meanwhile, or another session has claimed it.
  if (!task || !isOpen) return
  const history = sinceReset(await store.runs.attempts({ task: task_id }, tx), task.retries)
  const plan = retryPlan(history, { maxRetries: retriesFor(task, run, settings), retryMs: settings.retryMs })
  const refusal = plan.again ? await findRepeatedRefusal(history, store) : undefined
  if (plan.again && refusal === undefined) return
  const story = plan.again ? '' : `\n${plan.story}`
  const why = refusal ?? (plan.again ? '' : plan.why)
  await tasks.transition(task_id, { to: 'failed', forced: true, reason: `${why}${lastReason(history)}${story}` }, tx)
}

/**
 * What two attempts in a row were refused that nobody can allow in a worktree, if both failed for the same reason: another attempt, or
 * a stronger model, would meet the same.
 */
async function findRepeatedRefusal(
  history: readonly AttemptRow[],
  store: Pick<Store, 'events'>,
): Promise<string | undefined> {
  const [last, before] = history.toReversed()
  if (!last || before?.outcome !== 'failed' || before.reason !== last.reason) return undefined
  const [now, earlier] = await Promise.all([last, before].map(({ session_id }) => listBoundaries(session_id, store)))
  const [call, why] = [...(now ?? [])].find(([call]) => earlier?.has(call)) ?? []
  return call === undefined ? undefined : `two attempts were refused ${call}, which nobody can allow in a task (${why})`
}

/** The calls of a session that the limits of its worktree refused, with the reason. */
async function listBoundaries(subject: string, { events }: Pick<Store, 'events'>): Promise<Map<string, string>> {
  const decided = await events({ subject, kinds: ['permission.decided'], tail: MOST_DECISIONS })
  return new Map(
    decided.flatMap(({ kind, body }) => {
      if (kind !== 'permission.decided' || !body.reasons?.some(({ code }) => code.startsWith('boundary.'))) return []
      return [[`${body.tool} ${body.target}`, body.reason] as const]
    }),
  )
}

/** An agent that needs something asks for it again shortly before it gives up. */
const MOST_DECISIONS = 200

/** Lists show only the first line of a reason: the reason of the last attempt belongs there. */
function lastReason(history: readonly Pick<AttemptRow, 'reason'>[]): string {
  const [line = ''] = (history.at(-1)?.reason ?? '').split('\n')
  return line === '' ? '' : `: ${line}`
}
