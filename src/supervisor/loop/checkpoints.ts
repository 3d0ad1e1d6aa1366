import { join } from 'node:path'
import type { Summarize } from '../../agents/checkpoints/summary.ts'
import { messageOf } from '../../base/errors.ts'
import type { CheckpointReason } from '../../domain/checkpoint.ts'
import type { SessionRow } from '../../store/tables.ts'
import { brainContext } from '../brain/context.ts'
import type { Ending, Parts, Run } from '../run.ts'

/** Where the checkpoints of all sessions lie. */
export function checkpointsIn(dataDir: string): string {
  return join(dataDir, 'checkpoints')
}

interface Standing {
  reason: CheckpointReason
  parked?: SessionRow['parked'] | undefined
  /** What becomes of the task at work. */
  task?: Ending['task']
}

/**
 * Writes down where the session stands. It is a help for going on, not the work itself: one that cannot be written is
 * logged, and nothing else changes.
 */
export async function saveCheckpoint(
  run: Run,
  parts: Parts,
  { reason, parked = run.row.parked, task }: Standing,
): Promise<void> {
  run.checkpointedAt = parts.clock.now()
  try {
    // Imported on use: memory that a daemon without sessions need not hold.
    const [{ gather }, { read }, { save }] = await Promise.all([
      import('../../agents/checkpoints/gather.ts'),
      import('../../agents/checkpoints/read.ts'),
      import('../../agents/checkpoints/save.ts'),
    ])
    const previous = (await read(parts.checkpoints, run.id)).good?.checkpoint
    // What becomes of the task at work is written with the ending, after this.
    const tasks = (await parts.tasks.list(run.id)).map(one =>
      one.id === run.row.task_id && one.state === 'running' && task ? { ...one, state: task.to } : one,
    )
    const now = parts.clock.now()
    const checkpoint = await gather({
      store: parts.store,
      session: { ...run.row, parked },
      tasks,
      reason,
      now,
      previous,
      summarize: summarizerFor(run, parts, reason),
    })
    const id = await save(parts.checkpoints, checkpoint, { hidden: run.secrets })
    run.log.info({ checkpoint: id, reason }, 'checkpoint written')
  } catch (error) {
    run.log.warn({ problem: messageOf(error), reason }, 'no checkpoint could be written')
  }
}

/** Writes one when the last is old enough. Asked with every event, so that a session that does nothing costs nothing. */
export async function saveWhenDue(run: Run, parts: Parts): Promise<void> {
  const sinceMs = parts.clock.now() - run.checkpointedAt
  // One from the future was written before the clock was set back: how old it is nobody knows.
  if (sinceMs >= 0 && sinceMs < run.checkpointEveryMs) return
  await saveCheckpoint(run, parts, { reason: 'interval' })
}

/** A summary takes a model's time: not while a person waits for the daemon to leave. */
const SUMMARY_MS = 20_000

/**
 * A model's summary, where the session has a model to ask. Not at a limit: the model may live on the very account that is
 * shut; and not when everything is being stopped.
 */
function summarizerFor(run: Run, parts: Parts, reason: CheckpointReason): Summarize | undefined {
  const { brain } = run.mind
  if (brain.name === 'rules' || reason === 'limit' || reason === 'shutdown') return undefined
  return async material => {
    const context = await brainContext(run, parts)
    return (await brain.summarize(material, context, AbortSignal.timeout(SUMMARY_MS))).value
  }
}
