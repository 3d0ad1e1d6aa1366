import type { SessionStatus } from '../../domain/api.ts'
import type { TaskView, TaskWill } from '../../domain/task.ts'

/** What is known of the session whose queue it is. */
export interface QueueOwner {
  status: SessionStatus
  /** It is over for now: no agent runs and none is about to. */
  ended: boolean
  resumes_at: number | null
}

/** When a task of a queue will run, and how many come before it. */
export function whenItRuns(
  id: string,
  queue: readonly TaskView[],
  session: QueueOwner,
): { will: TaskWill; ahead: number } {
  const ahead = Math.max(
    0,
    queue.findIndex(task => task.id === id),
  )
  const task = queue[ahead]
  return { will: task?.state === 'blocked' ? 'after' : willOf(ahead, session), ahead }
}

function willOf(ahead: number, session: QueueOwner): TaskWill {
  if (session.status === 'rate_limited') return session.resumes_at === null ? 'on_resume' : 'on_reset'
  if (session.status === 'waiting_input' && session.ended) return 'on_answer'
  if (session.status === 'completed') return ahead === 0 ? 'now' : 'in_line'
  if (session.ended || session.status === 'error') return 'on_resume'
  return ahead <= 1 ? 'next' : 'in_line' // one before it is at work, or about to be
}
