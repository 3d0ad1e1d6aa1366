import { messageOf } from '../base/errors.ts'
import { type Escalation, type EscalationAnswer, isSettled } from '../domain/escalation.ts'
import { resumesLater } from '../domain/session-end.ts'
import type { SessionRow } from '../store/tables.ts'
import { type DaemonContext, getEscalations } from './context.ts'

/** Delivers answers that an earlier daemon had settled, but not delivered to the agent before it died. */
export async function deliverAnswers(daemon: DaemonContext): Promise<void> {
  for (const row of await daemon.store.sessions.list({ only: 'parked' })) {
    const number = isDue(row) ? row.parked?.number : undefined
    if (number === undefined) continue
    const settled = await daemon.store.escalations.get(number)
    if (!settled || !isSettled(settled)) continue
    const story = `The daemon died before the answer to decision ${number} reached the agent`
    await deliverAnswer({ row, settled, story, env: daemon.supervisor.envOf(row.id) }, daemon)
  }
}

interface AnswerDelivery {
  row: SessionRow
  settled: Escalation
  /** The environment to start the agent in; one of another login leaves the session with its own. */
  env: Record<string, string>
  /** Why the answer comes only now; shown to the person if they are asked again. */
  story: string
}

/** Whether a session waits only for an answer. One that waits for a time, or was paused, gets the answer when it resumes. */
export function isDue({ state, ended_as, resumes_at }: SessionRow): boolean {
  return state === 'ended' && !resumesLater(ended_as) && resumes_at === null
}

/**
 * Delivers a settled answer to a session that waits for it. If the session cannot resume (its login came from a shell), the
 * decision is opened again, so that the person sees it. Returns whether the session resumes.
 */
export async function deliverAnswer(
  { row, settled, env, story }: AnswerDelivery,
  daemon: DaemonContext,
): Promise<boolean> {
  const { number } = settled
  try {
    await daemon.supervisor.resumeParked(row, { said: readSettledAnswer(settled), settled: true, env })
    daemon.log.info({ number, session: row.id }, 'answer delivered to a session that waited for it')
    return true
  } catch (error) {
    if (daemon.stopping.aborted) return false // the next daemon tries again
    daemon.log.warn({ number, session: row.id, error }, 'answer could not be delivered to its session')
    await askAgain(row.id, number, { daemon, why: `${story}, so it is asked again: ${messageOf(error)}` })
    return false
  }
}

function readSettledAnswer({ verdict, answer, answered_by, answer_reason }: Escalation): EscalationAnswer {
  return {
    by: answered_by ?? 'human',
    verdict: verdict ?? undefined,
    answer: answer ?? undefined,
    reason: answer_reason ?? undefined,
  }
}

async function askAgain(
  id: string,
  number: number,
  { daemon, why }: { daemon: DaemonContext; why: string },
): Promise<void> {
  await daemon.store.transaction(async tx => {
    const row = await daemon.store.sessions.get(id, tx)
    if (row?.state !== 'ended' || row.parked?.number !== number) return // the session was stopped or has resumed
    const newNumber = await getEscalations(daemon).reopen(number, tx, id)
    await daemon.store.sessions.update(id, { parked: { ...row.parked, number: newNumber } }, tx)
    await tx.append([{ actor: 'daemon', subject: id, kind: 'session.noted', body: { text: why } }])
  })
}
