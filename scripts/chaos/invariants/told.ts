import type { History } from '../history.ts'
import { hitsOf } from './cuts.ts'
import { bodiesOf } from './events.ts'
import type { Violation } from './violation.ts'

/** Between a message and the note that it was sent lie moments, more of them on a busy machine. */
const NOT_NOTED_MS = 2_000

/** What is worth telling arrived at the channel, once, unless its daemon died, was being stopped or could not write before it had noted that. */
export function toldOnce(history: History): Violation[] {
  const violation = (text: string): Violation => ({ invariant: 'told-once', text })
  const { outbox } = history.rows
  const doubled = [...Map.groupBy(outbox, row => row.dedup_key)].filter(([, rows]) => rows.length > 1)
  const wanted = wantedIn(history)
  const named = (news: News) => history.notices.filter(notice => linesOf(notice).some(line => news.line.test(line)))
  // Of a burst only the first few are named; the others are counted.
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

/** Something that people are told. */
interface News {
  what: string
  /** How a line that tells it looks. */
  line: RegExp
  /** Somebody must have heard it. */
  isDue: boolean
  /** How often it happened. */
  most: number
}

type Notice = History['notices'][number]

/** Each line that tells something: a message by itself, or the lines of one about many. */
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

/** A decision is news each time that it is open: one whose answer did not come to its session is opened again. */
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
