import type { Task } from '../../../domain/task.ts'
import type { SessionRow } from '../../../store/tables.ts'

type Session = Pick<SessionRow, 'id' | 'state' | 'ended_as' | 'resumes_at'>

/**
 * What an attempt is to its run: its session works or will by itself (`works`); what it did is verified or merged (`lands`); it waits
 * for a person; or it is over. What an agent called done is open until its task is.
 */
export function standingOf(
  session: Session,
  task?: Pick<Task, 'state' | 'session_id'> | undefined,
): 'works' | 'lands' | 'waits' | 'over' {
  const { state, ended_as, resumes_at } = session
  if (state !== 'ended' || resumes_at !== null) return 'works'
  if (ended_as === 'completed' && task?.session_id === session.id) return landing(task)
  return ended_as === 'completed' || ended_as === 'stopped' || ended_as === 'error' ? 'over' : 'waits'
}

function landing({ state }: Pick<Task, 'state'>): 'lands' | 'waits' | 'over' {
  if (state === 'waiting') return 'waits'
  // One that was sent back is about to go on in the same conversation.
  return state === 'verifying' || state === 'merging' || state === 'running' ? 'lands' : 'over'
}
