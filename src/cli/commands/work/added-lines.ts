import type { SessionView } from '../../../domain/api.ts'
import type { AddedTask } from '../../../domain/task.ts'
import { counted, wakeTime } from '../../render/format.ts'
import { firstLine, neutral } from '../../render/text.ts'

/** What was queued, and when it will run. */
export function addedLines(added: AddedTask, session: Pick<SessionView, 'id' | 'status'>, now: number): string[] {
  const { id, title } = added.task
  const { problem } = added
  return [
    `Task queued: ${id} (${firstLine(title)})`,
    ...(problem ? [`The session could not go on with it: ${neutral(problem.message)}`, neutral(problem.next)] : []),
    when(added, session, now),
  ]
}

function when(
  { task, will, ahead, resumes_at }: AddedTask,
  { id, status }: Pick<SessionView, 'id' | 'status'>,
  now: number,
): string {
  switch (will) {
    case 'now':
      return `The session goes on with it. Watch with: pcc attach ${id}`
    case 'next':
      return 'As it stands it runs next, in the same conversation.'
    case 'in_line':
      return `${counted(ahead, 'task')} before it. See the queue with: pcc status ${id}`
    case 'after':
      if (task.reason !== null) return `It does not run by itself: it ${firstLine(task.reason)}.`
      return `It runs after ${task.after.join(', ')}.`
    case 'on_reset':
      return `It runs after the limit has reset${resumes_at === null ? '' : ` (${wakeTime(resumes_at, now)})`}.`
    case 'on_answer':
      return `It runs when the session has its answer. Answer with: pcc attach ${id}`
    case 'on_resume':
      return `${WORDS[status] ? `The session is ${WORDS[status]}. ` : ''}Run it with: pcc resume ${id}`
  }
}

const WORDS: Partial<Record<SessionView['status'], string>> = {
  paused: 'paused',
  stopped: 'stopped',
  rate_limited: 'stopped by a limit',
  error: 'ended with an error',
}
