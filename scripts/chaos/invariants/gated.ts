import { createHash } from 'node:crypto'
import { FIRST_PROBE_MS } from '../../../src/agents/limits/account-gates.ts'
import type { History } from '../history.ts'
import { tokenOf } from '../plan/scenario.ts'
import { isTimeless } from './cuts.ts'
import { bodiesOf } from './events.ts'
import type { Violation } from './violation.ts'

/** A request that had left before the others heard of the limit. */
const ON_ITS_WAY_MS = 500

/** From the moment a limit is written down until its reset, or for the first wait where it names none, the vendor hears nothing from that account. */
export function noCallWhileGated(history: History): Violation[] {
  // The vendor's log and the events are told by different clocks then.
  if (isTimeless(history)) return []
  return closingsIn(history).flatMap(({ account, from, until }) => {
    const early = history.calls.filter(
      call => call.account === account && call.at > from + ON_ITS_WAY_MS && call.at < until,
    )
    return early.map(call => ({
      invariant: 'no-call-while-gated' as const,
      text: `${call.turn ?? call.response} was asked for ${until - call.at} ms before the reset`,
    }))
  })
}

interface Closing {
  account: string
  from: number
  until: number
}

/** An account that is shut stays so by a limit that names no reset: only who finds it open closes it for the first wait. */
function closingsIn(history: History): Closing[] {
  const found: Closing[] = []
  for (const { time, subject, body } of bodiesOf(history, 'limit.hit')) {
    const account = accountOf(history, subject)
    if (account === undefined) continue
    const isShut = found.some(each => each.account === account && each.until > time)
    const until = body.resets_at ?? (isShut ? undefined : time + FIRST_PROBE_MS)
    if (until !== undefined) found.push({ account, from: time, until })
  }
  return found
}

/** By the credential, as the vendor's log shows it. */
function accountOf({ rows, sessions }: History, id: string): string | undefined {
  const project = rows.sessions.find(row => row.id === id)?.project
  const plan = sessions.find(({ name }) => project?.endsWith(`/${name}`))
  if (!plan) return undefined
  return `sha256:${createHash('sha256')
    .update(`Bearer ${tokenOf(plan)}`)
    .digest('hex')
    .slice(0, 12)}`
}
