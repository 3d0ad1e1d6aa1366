import { crashPoint } from '../../base/crash-point.ts'
import type { Task } from '../../domain/task.ts'
import type { Tx } from '../../store/store.ts'
import { spentBefore } from '../guards/spending.ts'
import type { Ending, Parts, Run } from '../run.ts'
import { betweenTurns } from './between-turns.ts'
import { paused, stopped } from './endings.ts'
import { waitAtGate } from './gate-wait.ts'

/** A session whose account is shut waits for that, without a process and without a place in the line. It took no task. */
export async function shutOut(run: Run, parts: Parts): Promise<Ending | undefined> {
  const admission = await parts.accounts.admits(run)
  return admission.open ? undefined : { ...(await waitAtGate(admission, { run, parts })), task: undefined }
}

/**
 * Before the agent is opened: nothing starts on an account that is shut, and the session takes the task it will work on. An
 * ending comes back where it may not begin.
 */
export async function enter(run: Run, parts: Parts): Promise<Ending | undefined> {
  if (run.stopping !== undefined) return { ...stopped(run.stopping), task: undefined }
  if (run.pausing === 'person') return { ...paused('person', run), task: undefined }
  // What shut the account before may be over. Forgotten before the gate is looked at: what shuts it from here on counts.
  if (run.pausing === 'gate') run.pausing = undefined
  const shut = await shutOut(run, parts)
  if (shut) return shut
  const spent = await spentBefore(run, parts)
  if (spent) return { ...spent, task: undefined }
  const { store, tasks } = parts
  const task = await store.transaction(async tx => {
    const claimed = (await tasks.claimNext(run.id, tx)) ?? (await heldAlready(run, parts, tx))
    if (claimed) await store.sessions.update(run.id, { task_id: claimed.id }, tx)
    crashPoint('claim.before-commit')
    return claimed
  })
  crashPoint('claim.after-commit')
  if (task) {
    run.row = { ...run.row, task_id: task.id }
    run.attempt = task.attempt
  }
  return betweenTurns({ run, parts })
}

/** A run has claimed its task together with its row. */
function heldAlready({ row }: Run, { store }: Parts, tx: Tx): Promise<Task | undefined> {
  return row.options.run && row.task_id !== null ? store.tasks.get(row.task_id, tx) : Promise.resolve(undefined)
}
