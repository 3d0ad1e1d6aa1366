import { messageOf } from '../../base/errors.ts'
import { openEscalations } from '../../human/escalations.ts'
import type { SessionRow } from '../../store/tables.ts'
import { stillInTerminal } from '../hosted/outlives.ts'
import { errorRow } from '../loop/error-row.ts'
import type { Parts } from '../run.ts'
import { stillThere } from './still-there.ts'

/**
 * A session whose time has come could not be started (its project is gone, its login is another one): it is not tried again
 * and again, and a person hears of it. One that a person stopped or took up in the same moment is theirs.
 */
export async function couldNotGoOn(row: SessionRow, error: unknown, parts: Parts): Promise<void> {
  const { store } = parts
  const message = `could not go on by itself: ${messageOf(error)}`
  const reason = `${message}\nGo on with: pcc resume ${row.id}${await stillInTerminal(row)}`
  await store.transaction(async tx => {
    if (!(await stillThere(row, store, tx))) return
    await store.sessions.update(row.id, { resumes_at: null, ended_as: 'paused', status_reason: reason }, tx)
    await openEscalations(parts).record(errorRow({ kind: 'other', message }, row, message), tx)
    await tx.append([{ actor: 'daemon', subject: row.id, kind: 'session.ended', body: { status: 'paused', reason } }])
  })
}
