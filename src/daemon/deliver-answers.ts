import { AppError, messageOf } from '../base/errors.ts'
import { type Escalation, type EscalationAnswer, isSettled } from '../domain/escalation.ts'
import type { SessionRow } from '../store/tables.ts'
import { type DaemonContext, getEscalations } from './context.ts'

/** Brings answers to sessions that an earlier daemon had settled and died before the agent heard of them. */
export async function deliverAnswers(daemon: DaemonContext): Promise<void> {
  for (const row of await daemon.store.sessions.list()) {
    const number = isDue(row) ? row.parked?.number : undefined
    if (number === undefined) continue
    const settled = await daemon.store.escalations.get(number)
    if (!settled || !isSettled(settled)) continue
    const story = `The daemon died before the answer to decision ${number} reached the agent`
    await deliverAnswer({ row, settled, story, envs: [daemon.supervisor.envOf(row.id)] }, daemon)
  }
}

interface AnswerDelivery {
  row: SessionRow
  settled: Escalation
  /** In which the agent starts; the first that has its login is taken. */
  envs: Record<string, string>[]
  /** Why it is brought only now, for who is asked again. */
  story: string
}

/** Whether a session waits for nothing but an answer. One that waits for a time, or that a person paused, gets it when it goes on. */
export function isDue({ state, ended_as, resumes_at }: SessionRow): boolean {
  return state === 'ended' && !STANDS_STILL.has(ended_as) && resumes_at === null
}

const STANDS_STILL = new Set<SessionRow['ended_as']>(['paused', 'rate_limited'])

/**
 * Brings a settled answer to a session that waits for it. Where the session cannot go on (its login came from a shell) the
 * decision waits for the person again, so that they hear of it. True where the session goes on.
 */
export async function deliverAnswer(
  { row, settled, envs, story }: AnswerDelivery,
  daemon: DaemonContext,
): Promise<boolean> {
  const { number } = settled
  try {
    await resumeIn(envs, { row, said: saidIn(settled) }, daemon)
    daemon.log.info({ number, session: row.id }, 'answer brought to a session that waited for it')
    return true
  } catch (error) {
    if (daemon.stopping.aborted) return false // the next daemon tries again
    daemon.log.warn({ number, session: row.id, error }, 'answer could not be brought to its session')
    await askAgain(row.id, number, { daemon, why: `${story}, so it is asked again: ${messageOf(error)}` })
    return false
  }
}

async function resumeIn(
  [env = {}, ...others]: Record<string, string>[],
  going: { row: SessionRow; said: EscalationAnswer },
  daemon: DaemonContext,
): Promise<void> {
  try {
    await daemon.supervisor.resumeParked(going.row, { said: going.said, settled: true, env })
  } catch (error) {
    const isAnother = error instanceof AppError && error.code === 'account_differs'
    if (!isAnother || others.length === 0) throw error
    await resumeIn(others, going, daemon)
  }
}

function saidIn({ verdict, answer, answered_by, answer_reason }: Escalation): EscalationAnswer {
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
    const now = await daemon.store.sessions.get(id, tx)
    if (now?.state !== 'ended' || now.parked?.number !== number) return // it was stopped or goes on
    const again = await getEscalations(daemon).reopen(number, tx, id)
    await daemon.store.sessions.update(id, { parked: { ...now.parked, number: again } }, tx)
    await tx.append([{ actor: 'daemon', subject: id, kind: 'session.noted', body: { text: why } }])
  })
}
