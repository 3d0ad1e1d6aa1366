import { crashPoint } from '../../base/crash-point.ts'
import { redactValues } from '../../base/redact.ts'
import type { Session } from '../../domain/session.ts'
import type { SessionRow } from '../../store/tables.ts'
import { refuseStale } from '../fence.ts'
import type { Desk, Ending } from '../run.ts'
import { betweenTurns } from './between-turns.ts'
import { completed } from './endings.ts'

/** Finishes the task at work and takes the next of the queue, in one transaction; it goes on in the same conversation. */
export async function nextTask(text: string, session: Session, { run, parts }: Desk): Promise<Ending | undefined> {
  const { store, tasks } = parts
  const { task, patch } = await store.transaction(async tx => {
    await refuseStale(run, tx)
    if (run.row.task_id !== null)
      await tasks.transition(
        run.row.task_id,
        { to: 'done', result: redactValues(text, run.secrets), attempt: run.attempt },
        tx,
      )
    const task = await tasks.claimNext(run.id, tx)
    const patch: Partial<SessionRow> = {
      task_id: task?.id ?? null,
      retries: 0,
      ...(task && { plan: [], activity: task.title }),
    }
    await store.sessions.update(run.id, patch, tx)
    crashPoint('next-task.before-commit')
    return { task, patch }
  })
  crashPoint('next-task.after-commit')
  run.row = { ...run.row, ...patch }
  if (!task) return completed(text, run)
  run.attempt = task.attempt
  run.compaction = undefined
  run.proseAnswers = 0
  run.log.info({ task: task.id }, 'next task')
  const heldUp = betweenTurns({ run, parts })
  if (heldUp) return heldUp
  await session.prompt(task.description)
  return undefined
}
