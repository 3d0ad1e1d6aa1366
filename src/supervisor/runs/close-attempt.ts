import type { Clock } from '../../base/clock.ts'
import type { AttemptRow, RunRow } from '../../store/runs/rows.ts'
import type { Store, Tx } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { Tasks } from '../../tasks/open.ts'
import { retryPlan } from '../retries/retry-plan.ts'
import { heedSigils } from '../sigils/heed-sigils.ts'
import { readSigils } from '../sigils/read-sigils.ts'

export interface ClosingParts {
  store: Store
  tasks: Tasks
  clock: Clock
  maxRetries: number
}

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
  const [turn] = await store.events({ subject: session.id, kinds: ['turn.ended'], tail: 1 })
  const { text = '', failure } = turn?.kind === 'turn.ended' ? turn.body : {}
  const said = heedSigils(readSigils(text, { task: attempt.task_id }), { open: 0 })
  await store.transaction(async tx => {
    const task = await store.tasks.get(attempt.task_id, tx)
    const outcome = session.ended_as === 'error' ? 'failed' : task?.state === 'done' ? 'done' : 'interrupted'
    const closed = await store.runs.end(
      attempt,
      {
        outcome,
        reason: session.status_reason,
        result: task?.result ?? null,
        failure: failure?.kind ?? null,
        next_model: said.nextModel ?? null,
        cost_usd: session.cost_usd,
        ended_at: clock.now(),
      },
      tx,
    )
    if (!closed) return
    if (outcome === 'interrupted') await giveBack(attempt, parts, tx)
    // A person who stops the session of a run does not want the next one to begin.
    if (session.ended_as === 'stopped') await store.runs.update(run.id, { stopping: true }, tx)
    if (outcome === 'failed' && said.gaveUp) {
      await store.runs.update(run.id, { gave_up: said.reason ?? session.status_reason }, tx)
    }
    if (outcome === 'failed') await judge(attempt, parts, tx)
  })
}

async function giveBack({ task_id }: AttemptRow, { store, tasks }: ClosingParts, tx: Tx): Promise<void> {
  const task = await store.tasks.get(task_id, tx)
  if (task && (task.state === 'waiting' || task.state === 'running'))
    await tasks.transition(task_id, { to: 'ready' }, tx)
}

/** A task that failed has gone back already (`endings.ts`); where it was tried often enough it fails for good. */
async function judge({ task_id }: AttemptRow, { store, tasks, maxRetries }: ClosingParts, tx: Tx): Promise<void> {
  const history = await store.runs.attempts({ task: task_id }, tx)
  const plan = retryPlan(history, { maxRetries })
  if (plan.again) return
  await tasks.transition(task_id, { to: 'failed', forced: true, reason: `${plan.why}\n${plan.story}` }, tx)
}
