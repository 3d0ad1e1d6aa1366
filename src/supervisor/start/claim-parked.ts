import { AppError } from '../../base/errors.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'

interface Claim {
  id: string
  askId: string
  patch: Partial<SessionRow>
}

/** Takes a parked session, if it is still parked on that very question: of two answers, or of an answer and a stop, one wins. */
export async function claimParked(store: Store, { id, askId, patch }: Claim): Promise<void> {
  await store.transaction(async tx => {
    const row = await store.sessions.get(id, tx)
    if (row?.state !== 'ended' || row.parked?.ask_id !== askId) throw new AppError('ask_unknown', { id, ask: askId })
    await store.sessions.update(id, patch, tx)
  })
}
