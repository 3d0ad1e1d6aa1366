import type { SessionRow } from '../../store/tables.ts'
import type { Floor } from '../floor.ts'
import { stagger } from './stagger.ts'

/** A hold is let go by a person, who pokes us; this is for the one whose word was lost. */
const LOOK_AGAIN_MS = 10 * 60_000

/**
 * Its time has come, but its account is shut: by a longer limit that was met since, or by a person. Then it gets another
 * time, and nothing is started. True where it must wait on.
 */
export async function putOff(row: SessionRow, { parts }: Floor): Promise<boolean> {
  const { accounts, clock, store } = parts
  const admission = await accounts.admits({ row })
  if (admission.open) return false
  const resumes_at = admission.why === 'held' ? clock.now() + LOOK_AGAIN_MS : await stagger(store, admission.gate, row)
  await store.sessions.update(row.id, { resumes_at })
  return true
}
