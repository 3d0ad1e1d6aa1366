import { AppError } from '../base/errors.ts'
import type { AnsweredEscalation, Escalation, EscalationAnswer } from '../domain/escalation.ts'
import type { NewEvent } from '../domain/event.ts'
import { isAutomatic } from '../domain/human/decided-by.ts'
import type { Store, Tx } from '../store/store.ts'
import { fingerprintOf } from './fingerprint.ts'
import { lateAnswer } from './late-answer.ts'
import { questionsIn } from './memory/questions.ts'
import { remembered } from './memory/remembered.ts'
import { precedents } from './precedents.ts'
import type { Desk } from './record-decision.ts'

interface Said extends EscalationAnswer {
  /** The state in which the row must be for the answer to count. */
  from: 'open' | 'denied'
}

/** Writes an answer down once, tells every session that waits for it, and keeps it for the next time where that is right. */
export async function answerDecision(
  number: number,
  { from, ...answer }: Said,
  desk: Desk,
): Promise<AnsweredEscalation | { open: Escalation }> {
  const { store, clock, tx } = desk
  const to = await stateAfter(number, answer, desk)
  const first = await store.escalations.answer(number, { ...answer, at: clock.now(), from, to }, tx)
  const escalation = await knownDecision(number, desk)
  if (!first && escalation.state === 'open') return { open: escalation }
  if (!first) throw lateAnswer(escalation)
  const kept = isAutomatic(answer.by) ? false : await remember(escalation, answer, desk)
  const sessions = await store.escalations.sessionsOf([number], tx)
  await tx.append(sessions.map(({ session_id }) => answeredEvent(escalation, session_id, { ...answer, kept, from })))
  return { escalation, remembered: kept }
}

/** A call that a clock refused was refused because nobody was there: it is listed until somebody has said something to it. */
async function stateAfter(
  number: number,
  { by, verdict }: EscalationAnswer,
  desk: Desk,
): Promise<'answered' | 'denied'> {
  if (by !== 'deadline' || verdict !== 'deny') return 'answered'
  return (await knownDecision(number, desk)).kind === 'permission' ? 'denied' : 'answered'
}

/** Throws `escalation_unknown`. */
export async function knownDecision(number: number, { store, tx }: { store: Store; tx?: Tx }): Promise<Escalation> {
  const escalation = await store.escalations.get(number, tx)
  if (!escalation) throw new AppError('escalation_unknown', { number })
  return escalation
}

function answeredEvent(
  { number, tool, target, risk }: Escalation,
  subject: string,
  { verdict, answer, by, reason, kept, from }: Said & { kept: boolean },
): NewEvent {
  const body = {
    ...{ number, by, remembered: kept, tool, target, risk },
    ...(verdict !== undefined && { verdict }),
    ...(answer !== undefined && { answer }),
    ...(reason !== undefined && { reason }),
    ...(from === 'denied' && { late: true as const }),
  }
  return { actor: isAutomatic(by) ? 'daemon' : 'human', subject, kind: 'escalation.answered', body }
}

async function remember(row: Escalation, said: EscalationAnswer, { store, clock, tx }: Desk): Promise<boolean> {
  const { kind, project, session_id: session, tool, normalised, fingerprint, risk } = row
  const { verdict, answer, by, always } = said
  if (kind === 'question') {
    const questions = questionsIn(row.input)
    if (!questions || !answer) return false
    return remembered(store, { clock }).keep({ project, session, questions, answer, by, always }, tx)
  }
  // Where the kept spelling is not the whole request (very long, or only a tool's name) the answer is for this one alone.
  if (kind !== 'permission' || fingerprintOf(tool, normalised) !== fingerprint || verdict === undefined) return false
  return precedents(store, clock).remember({ project, tool, normalised, risk, verdict, by, session }, tx)
}
