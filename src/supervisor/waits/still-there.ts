import type { Store, Tx } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'

/** Whether a session waits as it did when its row was read: nobody has stopped it, paused it or taken it up since. */
export async function stillThere(row: SessionRow, store: Store, tx: Tx): Promise<boolean> {
  const now = await store.sessions.get(row.id, tx)
  return now?.state === row.state && now.owner === row.owner && now.ended_at === row.ended_at
}
