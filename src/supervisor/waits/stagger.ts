import { resumeTimes, type Waiting } from '../../agents/limits/resume-times.ts'
import type { Gate } from '../../domain/account/limit.ts'
import type { Store } from '../../store/store.ts'

/** Later than everybody at a gate: a time of its own keeps such a session, the hours a person agreed to for example. */
const AT_THE_GATE_MS = 130_000

/**
 * Gives everybody who waits at a gate a time after it opens, by priority and age and a little apart from one another, and
 * gives back the newcomer's. Those who wait already are moved with it, so that nobody stands in the same place.
 */
export async function stagger(
  store: Store,
  gate: Gate,
  newcomer: Waiting & { account: string | null },
): Promise<number> {
  const opens = gate.closed_until ?? 0
  return store.transaction(async tx => {
    const there = (await store.sessions.waiting(tx)).filter(
      ({ id, account, ended_as, resumes_at }) =>
        id !== newcomer.id &&
        account === newcomer.account &&
        ended_as === 'rate_limited' &&
        (resumes_at ?? 0) <= opens + AT_THE_GATE_MS,
    )
    const times = resumeTimes(gate, [...there, newcomer], Math.random)
    for (const { id } of there) await store.sessions.update(id, { resumes_at: times.get(id) ?? opens }, tx)
    return times.get(newcomer.id) ?? opens
  })
}
