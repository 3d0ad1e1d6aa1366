import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { AttemptRow, RunRow } from '../../store/runs/rows.ts'
import type { Store, Tx } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { Tasks } from '../../tasks/open.ts'
import { attemptStory } from '../journal/attempt-story.ts'
import { keepNotes } from '../journal/keep-notes.ts'
import { retryPlan, sinceReset } from '../retries/retry-plan.ts'
import { standingOf } from './facts/standing.ts'
import { type RunSettings, retriesOf } from './run-settings.ts'

export interface ClosingParts {
  store: Store
  tasks: Tasks
  clock: Clock
  log: Log
  /** Held while notes of a project are written. */
  notesLock: string
  settings: Pick<RunSettings, 'maxRetries' | 'retryMs'>
}

/** Why a session was stopped whose task a person has settled, reset or cancelled: the run goes on with the next. */
export const TAKEN = 'a person has said what becomes of its task'

/**
 * Writes down how an attempt went whose session is over, and what becomes of its task: a failed one goes back, or stays failed
 * with its whole story. Once: an attempt that is closed stays so.
 */
export async function closeAttempt(
  run: RunRow,
  { attempt, session }: { attempt: AttemptRow; session: SessionRow },
  parts: ClosingParts,
): Promise<void> {
  const { store, clock } = parts
  const { sigils, failure } = await lastOf(session.id, store)
  const { columns, knowledge } = await attemptStory({ attempt, session }, store)
  const { title = '', feature = null } = (await store.tasks.get(attempt.task_id)) ?? {}
  // Before the row is closed: after an accident in between they are written once more, which changes nothing.
  const keeping = { project: session.project, task: { id: attempt.task_id, feature }, now: clock.now() }
  keepNotes(knowledge, { ...keeping, lockFile: parts.notesLock, log: parts.log })
  await store.transaction(async tx => {
    const now = await store.sessions.get(session.id, tx)
    const task = await store.tasks.get(attempt.task_id, tx)
    // Somebody made it go on since it was looked at; where it has ended again by now, that end asks for another look.
    if (now && (standingOf(now, task) !== 'over' || now.ended_at !== session.ended_at)) return
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
        rounds: now?.options.landing?.verified ?? 0,
        ended_at: clock.now(),
        ...{ ...columns, title, feature },
      },
      tx,
    )
    if (!closed) return
    if (outcome === 'interrupted') await giveBack(attempt, parts, tx)
    // A person who stops the session of a run does not want the next one to begin.
    const isTaken = session.status_reason === TAKEN
    if (session.ended_as === 'stopped' && !isTaken) await store.runs.update(run.id, { stopping: true }, tx)
    if (outcome === 'failed' && sigils?.gave_up !== undefined) {
      await store.runs.update(run.id, { gave_up: sigils.gave_up || session.status_reason }, tx)
    }
    if (outcome === 'failed') await judge({ run, attempt }, parts, tx)
  })
}

/** What its agent asked of the run at the end of its last turn, and what it failed with. */
async function lastOf(session: string, store: Store) {
  const last = { subject: session, tail: 1 }
  const [[turn], [end]] = await Promise.all([
    store.events({ ...last, kinds: ['turn.ended'] }),
    store.events({ ...last, kinds: ['session.ended'] }),
  ])
  const { sigils, failure } = turn?.kind === 'turn.ended' ? turn.body : {}
  const ended = end?.kind === 'session.ended' ? end.body.failure : undefined
  return { sigils, failure: ended ?? failure?.kind ?? null }
}

async function giveBack({ task_id, session_id }: AttemptRow, { store, tasks }: ClosingParts, tx: Tx): Promise<void> {
  const task = await store.tasks.get(task_id, tx)
  // Somebody else may have it by now.
  if (task?.session_id === session_id && (task.state === 'waiting' || task.state === 'running'))
    await tasks.transition(task_id, { to: 'ready' }, tx)
}

/** A task that failed has gone back already (`endings.ts`); where it was tried often enough it fails for good. */
async function judge(
  { run, attempt: { task_id } }: { run: RunRow; attempt: AttemptRow },
  { store, tasks, settings }: ClosingParts,
  tx: Tx,
): Promise<void> {
  const task = await store.tasks.get(task_id, tx)
  const isBack = task?.state === 'ready' || task?.state === 'blocked'
  // A person has said something else of it meanwhile, or somebody else has it.
  if (!task || !isBack) return
  const history = sinceReset(await store.runs.attempts({ task: task_id }, tx), task.retries)
  const plan = retryPlan(history, { maxRetries: retriesOf(task, run, settings), retryMs: settings.retryMs })
  if (plan.again) return
  await tasks.transition(
    task_id,
    { to: 'failed', forced: true, reason: `${plan.why}${lastWords(history)}\n${plan.story}` },
    tx,
  )
}

/** Lists show one line of a reason: what came of it last belongs there. */
function lastWords(history: readonly Pick<AttemptRow, 'reason'>[]): string {
  const [line = ''] = (history.at(-1)?.reason ?? '').split('\n')
  return line === '' ? '' : `: ${line}`
}
