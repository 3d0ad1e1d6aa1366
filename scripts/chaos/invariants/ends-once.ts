import type { History } from '../history.ts'
import { taskText } from '../plan/scenario.ts'
import { hitsOf } from './cuts.ts'
import { bodiesOf } from './events.ts'
import type { Violation } from './violation.ts'

/** Every planned task has one row, is done, and was reported as finished once, by the attempt that holds it. */
export function endsOnce(history: History): Violation[] {
  const violation = (text: string): Violation => ({ invariant: 'ends-once', text })
  const finished = bodiesOf(history, 'task.finished')
  const failed = bodiesOf(history, 'task.failed')
  return history.sessions
    .flatMap(({ tasks }) => tasks)
    .flatMap(({ token }) => {
      const rows = history.rows.tasks.filter(({ title }) => title === taskText(token))
      const [row] = rows
      if (!row || rows.length > 1) return [violation(`${token} was submitted ${rows.length} times`)]
      const ends = finished.filter(({ body }) => body.task_id === row.id)
      const failures = failed.filter(
        ({ body }) => body.task_id === row.id && !(isRefused(body.reason) && meets(history, token)),
      )
      return [
        ...(row.state === 'done' ? [] : [violation(`${token} is ${row.state}${standing(history, row.session_id)}`)]),
        ...(ends.length === 1 || row.state !== 'done' ? [] : [violation(`${token} was finished ${ends.length} times`)]),
        ...failures.map(({ body }) => violation(`${token} failed: ${body.reason ?? ''}`)),
        ...ends
          .filter(({ body }) => body.attempt !== row.attempt)
          .map(({ body }) =>
            violation(`${token} was finished by attempt ${body.attempt}, and ${row.attempt} holds it`),
          ),
      ]
    })
}

/** Whether a reason is the vendor's refusal of a login. */
function isRefused(reason = ''): boolean {
  return /log ?in|authenticat|credential|API key/i.test(reason)
}

/** A task whose login was refused as planned fails, and the person retries it. */
function meets(history: History, token: string): boolean {
  const session = history.sessions.find(({ tasks }) => tasks.some(task => task.token === token))
  return hitsOf(history, 'login-gone').some(({ session: name }) => name === session?.name)
}

/** The state of its session, to investigate a violation. */
function standing({ rows }: History, id: string): string {
  const row = rows.sessions.find(each => each.id === id)
  if (!row) return ''
  return `; its session is ${row.state} ${row.ended_as ?? ''} (${row.status_reason ?? ''})`
}
