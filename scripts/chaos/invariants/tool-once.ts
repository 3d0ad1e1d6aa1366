import type { History } from '../history.ts'
import type { Violation } from './violation.ts'

/** A kill just before a tool's first line still cut that call short. */
const JUST_BEFORE_MS = 1_000

/**
 * Tools note each execution with its time, past everything that is tested. One may be repeated only where something went
 * wrong in between and the model had not heard how the first one ended: then it was in flight.
 */
export function toolOnce(history: History): Violation[] {
  return history.sessions.flatMap(({ name }) => {
    const begun = (history.ledgers[name] ?? []).flatMap(line => {
      const [, token, at] = /^begin (\S+) (\d+)$/.exec(line) ?? []
      return token === undefined ? [] : [{ token, at: Number(at) }]
    })
    return [...Map.groupBy(begun, ({ token }) => token)].flatMap(([token, times]) =>
      repeats(times.map(({ at }) => at)).flatMap(([first, again]) => wrong(history, { name, token, first, again })),
    )
  })
}

interface Repeat {
  name: string
  token: string
  first: number
  again: number
}

function wrong(history: History, { name, token, first, again }: Repeat): Violation[] {
  const within = (at: number) => at >= first - JUST_BEFORE_MS && at <= again
  const lost = history.faults.some(
    ({ kind, session, at }) => kind === 'lost-transcript' && session === name && within(at),
  )
  if (lost) return []
  const heard = history.calls.some(({ at, told }) => at > first && at < again && told.includes(`did ${token}`))
  const disturbed = history.faults.some(({ at }) => within(at)) || history.deaths.some(within)
  if (disturbed && !heard) return []
  const why = heard ? 'although the model had heard its result' : 'although nothing went wrong in between'
  return [{ invariant: 'tool-once', text: `${token} was executed again after ${again - first} ms, ${why}` }]
}

function repeats(times: number[]): [number, number][] {
  return times.slice(1).map((again, place) => [times[place] ?? again, again])
}
