import type { History } from '../history.ts'
import { hitsOf } from './cuts.ts'
import { bodiesOf } from './events.ts'
import type { Violation } from './violation.ts'

/** The time between sending a message and recording that it was sent, longer on a busy machine. */
const NOT_NOTED_MS = 2_000

/** Every notice arrived at the channel exactly once, unless its daemon died, was being stopped or could not write before it recorded the delivery. */
export function toldOnce(history: History): Violation[] {
  const violation = (text: string): Violation => ({ invariant: 'told-once', text })
  const { outbox } = history.rows
  const doubled = [...Map.groupBy(outbox, row => row.dedup_key)].filter(([, rows]) => rows.length > 1)
  const wanted = wantedIn(history)
  const named = (news: News) => history.notices.filter(notice => linesOf(notice).some(line => news.line.test(line)))
  // A message about many events names only the first few and counts the others.
  const unnamed = history.notices.reduce((sum, { text }) => sum + Number(/^… and (\d+) more$/m.exec(text)?.[1] ?? 0), 0)
  const silent = wanted.filter(news => news.isDue && named(news).length === 0).slice(unnamed)
  const often = wanted.filter(news => named(news).length > news.most + retellings(named(news), history))
  return [
    ...doubled.map(([key, rows]) => violation(`${key} stands ${rows.length} times in the outbox`)),
    ...outbox.filter(({ state }) => state === 'waiting').map(({ dedup_key }) => violation(`${dedup_key} was not told`)),
    ...silent.map(({ what }) => violation(`nobody heard that ${what}`)),
    ...often.map(news => violation(`people heard ${named(news).length} times that ${news.what}`)),
  ]
}

/** Something that people must be notified of. */
interface News {
  what: string
  /** Matches a line that reports it. */
  line: RegExp
  /** Whether a notice is required. */
  isDue: boolean
  /** How often it happened. */
  most: number
}

type Notice = History['notices'][number]

/** The lines of a notice that report something: its title, or the list of a message about many events. */
function linesOf({ title, text }: Notice): string[] {
  return [title, ...text.split('\n').filter(line => line.startsWith('• '))]
}

function retellings(notices: Notice[], history: History): number {
  const hindrances = [...hitsOf(history, 'disk-full'), ...hitsOf(history, 'stop-clean')]
  return notices.filter(
    ({ at }) =>
      history.deaths.some(death => death >= at && death <= at + NOT_NOTED_MS) ||
      hindrances.some(({ at: from, until = from }) => from <= at + NOT_NOTED_MS && until >= at),
  ).length
}

function wantedIn(history: History): News[] {
  return [...decisionsIn(history), ...endsIn(history), ...runsIn(history)]
}

/** A decision is reported each time it is opened; it is opened again if its answer did not reach its session. */
function decisionsIn(history: History): News[] {
  const numbers = new Set(bodiesOf(history, 'question.parked').flatMap(({ body }) => body.number ?? []))
  const answered = bodiesOf(history, 'escalation.answered').map(({ body }) => body.number)
  return [...numbers].map(number => ({
    what: `decision ${number} waits`,
    line: new RegExp(`^(• )?(?!Still waiting).*\\(decision ${number}\\)`),
    isDue: history.waits.some(wait => wait.number === number && wait.isLate),
    most: Math.max(1, answered.filter(each => each === number).length),
  }))
}

function endsIn(history: History): News[] {
  return history.sessions.map(({ name }) => {
    const id = history.rows.sessions.find(({ project }) => project.endsWith(`/${name}`))?.id
    const ends = bodiesOf(history, 'session.ended').filter(
      ({ body, subject }) => subject === id && body.status === 'completed',
    )
    const line = new RegExp(`^(• )?${name} in ${name} completed$`)
    return { what: `${name} is complete`, line, isDue: ends.length > 0, most: ends.length }
  })
}

function runsIn(history: History): News[] {
  const ends = bodiesOf(history, 'run.ended').filter(({ body }) => body.outcome === 'complete').length
  const line = /^(• )?The run of .* is complete$/
  return history.run ? [{ what: 'the run is complete', line, isDue: ends > 0, most: ends }] : []
}
