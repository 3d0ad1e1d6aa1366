import { AppError } from '../base/errors.ts'
import type { Tx } from '../store/store.ts'
import type { Run } from './run.ts'

/**
 * Refuses what a daemon still says of a session that another one has taken up since: the owner in the row is the lease, and
 * whoever lost it can neither report nor settle. Part of the transaction that would write it.
 */
export async function refuseStale({ id, row }: Run, tx: Tx): Promise<void> {
  const held = await tx.db.selectFrom('sessions').select('owner').where('id', '=', id).executeTakeFirst()
  if (held && held.owner !== row.owner) throw new AppError('session_taken_over', { id })
}
