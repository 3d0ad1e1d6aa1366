import type { StoredEvent } from '../../domain/event.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'

/** The sessions that stood still for a limit at a moment: those that moved since, by what was told of them last before it. */
export async function limitedAt(
  moment: number,
  { since, sessions }: { since: readonly StoredEvent[]; sessions: readonly SessionRow[] },
  store: Pick<Store, 'events'>,
): Promise<Set<string>> {
  const moved = since.filter(({ kind }) => kind === 'session.resumed' || kind === 'session.ended')
  const still = sessions.filter(({ ended_as }) => ended_as === 'rate_limited')
  const limited = new Set<string>()
  for (const subject of new Set([...moved.map(event => event.subject), ...still.map(({ id }) => id)])) {
    const kinds = ['session.ended' as const, 'session.resumed' as const]
    const [last] = await store.events({ subject, kinds, until: moment, tail: 1 })
    if (last?.kind === 'session.ended' && last.body.status === 'rate_limited') limited.add(subject)
  }
  return limited
}
