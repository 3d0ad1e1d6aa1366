import type { Clock } from '../../base/clock.ts'
import { crashPoint } from '../../base/crash-point.ts'
import { AppError } from '../../base/errors.ts'
import type { AnsweredEscalation, EscalationAnswer } from '../../domain/escalation.ts'
import { openEscalations } from '../../human/escalations.ts'
import type { Store } from '../../store/store.ts'
import type { Parked, SessionRow } from '../../store/tables.ts'

interface Claim {
  id: string
  parked: Pick<Parked, 'ask_id' | 'number'>
  /** What settles the decision; absent where it was settled before and only has to be brought to the agent. */
  said: EscalationAnswer | undefined
  patch: Partial<SessionRow>
}

/**
 * Takes a parked session, if it is still parked on that very question, and settles the decision in the same transaction: of
 * two answers, or of an answer and a stop, one wins.
 */
export async function claimParked(
  parts: { store: Store; clock: Clock },
  { id, parked, said, patch }: Claim,
): Promise<AnsweredEscalation | undefined> {
  const { store } = parts
  return store.transaction(async tx => {
    crashPoint('answer.before-settle')
    // First, because it tells who was quicker.
    const settled = said && parked.number ? await openEscalations(parts).settle(parked.number, said, tx) : undefined
    const row = await store.sessions.get(id, tx)
    if (row?.state !== 'ended' || row.parked?.ask_id !== parked.ask_id) {
      throw new AppError('ask_unknown', { id, ask: parked.ask_id })
    }
    await store.sessions.update(id, patch, tx)
    return settled
  })
}
