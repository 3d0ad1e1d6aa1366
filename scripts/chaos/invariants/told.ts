import type { History } from '../history.ts'
import { bodiesOf } from './events.ts'
import type { Violation } from './violation.ts'

/** A notifier on a loaded machine has looked by then. */
const AT_ONCE_MS = 1_000

/** What is worth telling has a row for the channel, each row was told, and who is told heard it. */
export function toldOnce(history: History): Violation[] {
  const violation = (text: string): Violation => ({ invariant: 'told-once', text })
  const { outbox } = history.rows
  const missing = wantedKeys(history).filter(
    key => !outbox.some(row => row.dedup_key === key || row.dedup_key.startsWith(`${key} settled `)),
  )
  const doubled = [...Map.groupBy(outbox, row => row.dedup_key)].filter(([, rows]) => rows.length > 1)
  const rolledUp = history.notices.some(({ text }) => / more\b/.test(text))
  return [
    ...missing.map(key => violation(`nothing was put into the outbox for ${key}`)),
    ...doubled.map(([key, rows]) => violation(`${key} stands ${rows.length} times in the outbox`)),
    ...outbox.filter(({ state }) => state === 'waiting').map(({ dedup_key }) => violation(`${dedup_key} was not told`)),
    ...(rolledUp
      ? []
      : history.sessions
          .filter(({ name }) => !wasTold(name, history))
          .map(({ name }) => violation(`nobody heard that ${name} is complete`))),
  ]
}

/** By the keys of `notice-of.ts`: told once a channel. */
function wantedKeys(history: History): string[] {
  const parked = bodiesOf(history, 'question.parked').flatMap(({ body, time }) =>
    body.number === undefined || answeredAtOnce(body.number, time, history) ? [] : [`decision:${body.number}`],
  )
  // Of an attempt of a run nobody is told: the run tells.
  const own = new Set(history.rows.sessions.filter(row => isPlanned(row.project, history)).map(({ id }) => id))
  const ended = bodiesOf(history, 'session.ended').filter(
    ({ body, subject }) => body.status === 'completed' && own.has(subject),
  )
  return [...new Set(parked), ...ended.map(({ id }) => `ended:${id}`)]
}

function isPlanned(project: string, { sessions }: History): boolean {
  return sessions.some(({ name }) => project.endsWith(`/${name}`))
}

/** Nobody is told of what is answered already: before the notifier looked, or before one looked again after a restart. */
function answeredAtOnce(number: number, parked: number, history: History): boolean {
  const answer = bodiesOf(history, 'escalation.answered').find(
    ({ body, time }) => body.number === number && time >= parked,
  )
  if (!answer) return false
  const restarted = bodiesOf(history, 'daemon.started').some(({ time }) => time >= parked && time <= answer.time)
  return restarted || answer.time - parked < AT_ONCE_MS
}

function wasTold(name: string, { notices, events, rows }: History): boolean {
  const row = rows.sessions.find(({ project }) => project.endsWith(`/${name}`))
  const isComplete = events.some(
    ({ subject, kind, body }) =>
      subject === row?.id && kind === 'session.ended' && 'status' in body && body.status === 'completed',
  )
  return !isComplete || notices.some(({ title, text }) => `${title}\n${text}`.includes(`${name} in ${name} completed`))
}
