import { nextAllowed } from '../../agents/limits/consent.ts'
import type { SessionRow } from '../../store/tables.ts'
import { type Floor, prepareAgain } from '../floor.ts'
import { stillInTerminal } from '../hosted/outlives.ts'
import { stagger } from './stagger.ts'
import { stillThere } from './still-there.ts'

/** A hold is let go by a person, who pokes us; this is for the one whose word was lost. */
const LOOK_AGAIN_MS = 10 * 60_000

/**
 * Its time has come, but its account is shut, by a longer limit that was met since or by a person, or it is not an hour that
 * the person agreed to: the daemon was not there in time, or the settings have changed. Then it gets another time, or none,
 * and nothing is started. True where it must wait on.
 */
export async function putOff(row: SessionRow, env: Record<string, string>, floor: Floor): Promise<boolean> {
  const { accounts, clock, store } = floor.parts
  const admission = await accounts.admits({ row })
  const now = clock.now()
  const opensAt = admission.open ? now : await stagger(store, admission.gate, row)
  const at = !admission.open && admission.why === 'held' ? now + LOOK_AGAIN_MS : opensAt
  // A try after a failure is nothing that anybody has to agree to.
  const resumes_at = row.retries === 0 ? await agreed(row, env, { floor, at }) : at
  if (resumes_at === now) return false
  const next = `go on with: pcc resume ${row.id}${await stillInTerminal(row)}`
  const told = resumes_at === null && { status_reason: `${row.status_reason}; ${next}` }
  // A clock that was set back leaves its end in the future: it is told by the clock of now, or it would always be due.
  const ended = row.ended_at !== null && row.ended_at > now && { ended_at: now }
  await store.transaction(async tx => {
    if (!(await stillThere(row, store, tx))) return
    await store.sessions.update(row.id, { resumes_at, ...told, ...ended }, tx)
    // Its log says that it goes on by itself: whoever watches it must hear that it does not.
    const text = `It does not go on by itself, as its settings say; ${next}`
    if (told) await tx.append([{ actor: 'daemon', subject: row.id, kind: 'session.noted', body: { text } }])
  })
  return true
}

async function agreed(
  row: SessionRow,
  env: Record<string, string>,
  { floor, at }: { floor: Floor; at: number },
): Promise<number | null> {
  const { consent } = await prepareAgain(row, env, floor)
  return nextAllowed(at, consent)
}
