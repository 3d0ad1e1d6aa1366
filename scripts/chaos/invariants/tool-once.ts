import type { EventKind } from '../../../src/domain/event.ts'
import type { History } from '../history.ts'
import { cutsOf, hitsOf, isTimeless } from './cuts.ts'
import { bodiesOf } from './events.ts'
import type { Violation } from './violation.ts'

/** A tool writes its first line a moment after its start, so a death in between still cut it off. */
const JUST_BEFORE_MS = 1_000

/** Claude Code writes its transcript with a delay, so a result is safe only this long after we have it. */
const TRANSCRIPT_MS = 250

/**
 * Tools log each execution with its time, independently of everything under test. A tool may be repeated only if it was in
 * flight when its agent was cut off: it had been allowed, no result was recorded before, and the model had not received one.
 * An agent is cut off by the death of its daemon or by its own death; no other fault excuses a repetition.
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

function wrong(history: History, repeat: Repeat): Violation[] {
  const { name, token, first, again } = repeat
  const told = (why: string): Violation[] => [
    { invariant: 'tool-once', text: `${token} was executed again after ${again - first} ms, although ${why}` },
  ]
  const within = (at: number) => at >= first - JUST_BEFORE_MS && at <= again
  const lost = hitsOf(history, 'lost-transcript')
    .filter(({ session }) => session === name)
    .some(({ at, until = at }) => within(at) || within(until))
  if (lost) return []
  if (history.calls.some(({ at, told: heard }) => at > first && at < again && heard.includes(`did ${token}`))) {
    return told('the model had heard its result')
  }
  // The clock of tools and events was different then.
  const hasJumped = isTimeless(history)
  const cuts = cutsOf(history, name).filter(at => hasJumped || within(at))
  if (cuts.length === 0) return told('its agent was not cut off in between')
  if (hasJumped || cuts.some(cut => wasInFlight(cut, repeat, history))) return []
  return told('its result was recorded before its agent was cut off, or it had not been allowed')
}

function wasInFlight(cut: number, { name, token, first }: Repeat, history: History): boolean {
  const session = history.rows.sessions.find(({ project }) => project.endsWith(`/${name}`))?.id
  const ours = <Kind extends EventKind>(kind: Kind) => bodiesOf(history, kind).filter(each => each.subject === session)
  const allowed = ours('permission.decided').filter(
    ({ time, body }) => time <= Math.min(cut, first) && body.verdict === 'allow' && body.target.includes(` ${token} `),
  )
  const calls = new Set(allowed.map(({ body }) => body.call_id))
  if (calls.size === 0) return false
  return !ours('tool.finished').some(({ time, body }) => calls.has(body.call_id) && time < cut - TRANSCRIPT_MS)
}

function repeats(times: number[]): [number, number][] {
  return times.slice(1).map((again, place) => [times[place] ?? again, again])
}
