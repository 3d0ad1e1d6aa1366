import { createHash } from 'node:crypto'
import type { History } from '../history.ts'
import { tokenOf } from '../plan/scenario.ts'
import { bodiesOf } from './events.ts'
import type { Violation } from './violation.ts'

/** A request that had left before the others heard of the limit. */
const ON_ITS_WAY_MS = 500

/** From the moment a limit is written down until its reset, the vendor hears nothing from that account. */
export function noCallWhileGated(history: History): Violation[] {
  // The vendor's log and the events are told by different clocks then.
  if (history.faults.some(({ kind }) => kind === 'clock-jump')) return []
  return bodiesOf(history, 'limit.hit').flatMap(({ time, subject, body }) => {
    const account = accountOf(history, subject)
    const until = body.resets_at
    if (account === undefined || until === undefined) return []
    const early = history.calls.filter(
      call => call.account === account && call.at > time + ON_ITS_WAY_MS && call.at < until,
    )
    return early.map(call => ({
      invariant: 'no-call-while-gated' as const,
      text: `${call.turn ?? call.response} was asked for ${until - call.at} ms before the reset`,
    }))
  })
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
