import { dateTime, duration } from '../render/format.ts'
import type { Terminal, Tone } from '../render/paint.ts'
import { cut, firstLine, pad } from '../render/text.ts'

/** A recorded request that would end otherwise now. */
export interface Change {
  time: number
  session: string
  call_id: string
  tool: string
  target: string
  /** `ask` where a person was asked, whatever they said. */
  was: 'allow' | 'ask' | 'deny'
  now: 'allow' | 'ask' | 'deny'
  by: string
  /** The rule, or the reason when no rule decides. */
  why: string
}

interface Replayed {
  counts: { requests: number; changed: number }
  changes: Change[]
  since: number
}

const TONES: Record<Change['now'], Tone> = { allow: 'green', ask: 'yellow', deny: 'red' }
const SHOWN = 100

/** The table of what would change, and what it comes to. */
export function replayLines({ counts, changes, since }: Replayed, { paint }: Terminal): string[] {
  const { requests, changed } = counts
  const span = duration(since)
  if (requests === 0) return [`No request was recorded in the last ${span}.`]
  if (changed === 0) return [`${requests} requests of the last ${span} decided again: nothing would change.`]
  const row = (change: Change) => {
    const { time, session, tool, target, was, now, why } = change
    const what = pad(cut(firstLine(`${tool} ${target}`), 48), 48)
    return `${dateTime(time).slice(0, 16)}  ${session}  ${what}  ${pad(was, 5)} → ${paint(TONES[now], pad(now, 5))}  ${firstLine(why)}`
  }
  const shown = changes.slice(0, SHOWN).map(row)
  const left = changed - shown.length
  return [
    paint('bold', `${pad('When', 16)}  ${pad('Session', 8)}  ${pad('Request', 48)}  ${pad('Was', 5)}   Now    Because`),
    ...shown,
    ...(left > 0 ? [`… and ${left} more; --json has up to 1000`] : []),
    '',
    `${requests} requests of the last ${span} decided again: ${changed} would end otherwise. Nothing was run.`,
  ]
}
