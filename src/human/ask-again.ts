import { type Desk, UNANSWERED } from './record-decision.ts'

/**
 * An answer did not reach a session: it waits again, and this gives the number under which it does. Where others waited for
 * the same and have their answer, that is a new number: what was answered stays so for them.
 */
export async function askAgain(
  number: number,
  session: string | undefined,
  { store, clock, tx }: Desk,
): Promise<number> {
  const row = await store.escalations.get(number, tx)
  const waiting = await store.escalations.sessionsOf([number], tx)
  const own = waiting.find(({ session_id }) => session_id === (session ?? row?.session_id))
  if (!row || !own || waiting.length === 1) {
    await store.escalations.reopen(number, tx)
    return number
  }
  if (row.state === 'open') return number // somebody opened it again before
  const { number: _, ...asked } = row
  await store.escalations.leave(number, own.session_id, tx)
  return store.escalations.insert(
    {
      ...asked,
      ...{ session_id: own.session_id, call_id: own.call_id, state: 'open', dedup_key: null, deadline: null },
      ...{ count: 1, last_at: clock.now() },
      ...UNANSWERED,
    },
    tx,
  )
}
