import type { Kysely } from 'kysely'
import type { EscalationSession, Tables } from '../tables.ts'

/** Lets a session wait for the answer; one that waits already does so with its newest call. */
export async function joinDecision(db: Kysely<Tables>, number: number, session: EscalationSession): Promise<void> {
  const { session_id, call_id } = session
  await db
    .insertInto('escalation_sessions')
    .values({ number, session_id, call_id })
    .onConflict(same => same.columns(['number', 'session_id']).doUpdateSet({ call_id }))
    .execute()
}

/** Those that wait, or waited, for these answers. */
export async function sessionsOf(
  db: Kysely<Tables>,
  numbers: readonly number[],
): Promise<Tables['escalation_sessions'][]> {
  const found: Tables['escalation_sessions'][] = []
  for (let at = 0; at < numbers.length; at += AT_ONCE) {
    const those = db.selectFrom('escalation_sessions').selectAll()
    const some = those.where('number', 'in', numbers.slice(at, at + AT_ONCE))
    found.push(...(await some.orderBy('number').orderBy('session_id').execute()))
  }
  return found
}

/** A statement has room for some ten thousands of values. */
const AT_ONCE = 5_000

/** Nobody needs an answer for this session any more. A decision that others wait for stays open, as one of theirs. */
export async function withdraw(
  db: Kysely<Tables>,
  session: string,
  { reason, at }: { reason: string; at: number },
): Promise<void> {
  const open = await db
    .selectFrom('escalations')
    .innerJoin('escalation_sessions', 'escalation_sessions.number', 'escalations.number')
    .select(['escalations.number', 'escalations.session_id'])
    .where('escalation_sessions.session_id', '=', session)
    .where('state', '=', 'open')
    .execute()
  for (const { number, session_id } of open) {
    const [other] = (await sessionsOf(db, [number])).filter(each => each.session_id !== session)
    const row = db.updateTable('escalations').where('number', '=', number)
    if (!other) {
      await row.set({ state: 'withdrawn', answered_at: at, answer_reason: reason }).execute()
      continue
    }
    const gone = db.deleteFrom('escalation_sessions').where('number', '=', number)
    await gone.where('session_id', '=', session).execute()
    if (session_id === session) await row.set({ session_id: other.session_id, call_id: other.call_id }).execute()
  }
}
