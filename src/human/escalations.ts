import type { Clock } from '../base/clock.ts'
import { AppError } from '../base/errors.ts'
import {
  type AnsweredEscalation,
  type Escalation,
  type EscalationAnswer,
  type EscalationState,
  isAutomatic,
  type NewEscalation,
  type OnDeadline,
} from '../domain/escalation.ts'
import type { NewEvent } from '../domain/event.ts'
import type { Store, Tx } from '../store/store.ts'
import type { EscalationSession } from '../store/tables.ts'
import { fingerprintRequest, openPrecedents } from './precedents.ts'
import { questionsIn } from './questions.ts'
import { type EscalationDeps, recordDecision, UNANSWERED, WAITING } from './record-decision.ts'
import { openAnswerMemory } from './remembered-answers.ts'

export interface HumanEscalations {
  /**
   * Lists what nobody could be asked about and gives its number. Asked again by the same session it is the same row,
   * counted; so is the same question of another session of the project while it is open.
   */
  record(entry: NewEscalation, tx?: Tx): Promise<number>
  /** Throws `escalation_unknown`. */
  get(number: number): Promise<Escalation>
  /** Highest priority first, then oldest; without a state, those that wait. */
  list(filter?: {
    session?: string | undefined
    states?: readonly EscalationState[] | undefined
  }): Promise<Escalation[]>
  /** Those that wait, or waited, for the answer, with the call that gets it. */
  sessionsOf(number: number): Promise<EscalationSession[]>
  /** A word on what was refused. The first counts; a later one is `escalation_answered`. Nothing comes back for a row that is open. */
  answer(number: number, answer: EscalationAnswer): Promise<AnsweredEscalation | undefined>
  /** The same for a row that is open, in the transaction in which its session is taken up again. */
  settle(number: number, answer: EscalationAnswer, tx: Tx): Promise<AnsweredEscalation>
  /** The answer did not reach this session (without one: that of the row): it waits again, under the number that comes back. */
  reopen(number: number, tx: Tx, session?: string): Promise<number>
  /** Nobody needs an answer to what is open of this session any more. What others wait for too stays open for them. */
  withdraw(session: string, reason: string, tx: Tx): Promise<void>
  /** How many wait. */
  waiting(): Promise<number>
}

/** The last word: what waits for a person, and what they say to it. */
export function openEscalations({ store, clock }: { store: Store; clock: Clock }): HumanEscalations {
  const desk = (tx: Tx) => ({ store, clock, tx })
  return {
    record: (entry, tx) =>
      tx ? recordDecision(entry, desk(tx)) : store.transaction(own => recordDecision(entry, desk(own))),
    get: number => requireDecision(number, { store }),
    list: ({ session, states = WAITING } = {}) => store.escalations.list({ session, states }),
    sessionsOf: number => store.escalations.sessionsOf([number]),
    answer: (number, answer) =>
      store.transaction(async tx => {
        const answered = await answerDecision(number, { ...answer, from: 'denied' }, desk(tx))
        return 'open' in answered ? undefined : answered
      }),
    settle: async (number, answer, tx) => {
      const answered = await answerDecision(number, { ...answer, from: 'open' }, desk(tx))
      if ('open' in answered) throw lateAnswerError(answered.open)
      return answered
    },
    reopen: (number, tx, session) => askAgain(number, session, desk(tx)),
    withdraw: (session, reason, tx) => store.escalations.withdraw(session, { reason, at: clock.now() }, tx),
    waiting: () => store.escalations.count(WAITING),
  }
}

interface DecisionAnswer extends EscalationAnswer {
  /** The state in which the row must be for the answer to count. */
  from: 'open' | 'denied'
}

/** Writes an answer down once, tells every session that waits for it, and keeps it for the next time where that is right. */
async function answerDecision(
  number: number,
  { from, ...answer }: DecisionAnswer,
  desk: EscalationDeps,
): Promise<AnsweredEscalation | { open: Escalation }> {
  const { store, clock, tx } = desk
  const to = await stateAfter(number, answer, desk)
  const first = await store.escalations.answer(number, { ...answer, at: clock.now(), from, to }, tx)
  const escalation = await requireDecision(number, desk)
  if (!first && escalation.state === 'open') return { open: escalation }
  if (!first) throw lateAnswerError(escalation)
  const kept = isAutomatic(answer.by) ? false : await remember(escalation, answer, desk)
  const sessions = await store.escalations.sessionsOf([number], tx)
  await tx.append(sessions.map(({ session_id }) => answeredEvent(escalation, session_id, { ...answer, kept, from })))
  return { escalation, remembered: kept }
}

/** A call that a clock refused was refused because nobody was there: it is listed until somebody has said something to it. */
async function stateAfter(
  number: number,
  { by, verdict }: EscalationAnswer,
  desk: EscalationDeps,
): Promise<'answered' | 'denied'> {
  if (by !== 'deadline' || verdict !== 'deny') return 'answered'
  return (await requireDecision(number, desk)).kind === 'permission' ? 'denied' : 'answered'
}

/** Throws `escalation_unknown`. */
async function requireDecision(number: number, { store, tx }: { store: Store; tx?: Tx }): Promise<Escalation> {
  const escalation = await store.escalations.get(number, tx)
  if (!escalation) throw new AppError('escalation_unknown', { number })
  return escalation
}

function answeredEvent(
  { number, tool, target, risk }: Escalation,
  subject: string,
  { verdict, answer, by, reason, kept, from }: DecisionAnswer & { kept: boolean },
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

async function remember(
  row: Escalation,
  said: EscalationAnswer,
  { store, clock, tx }: EscalationDeps,
): Promise<boolean> {
  const { kind, project, session_id: session, tool, normalised, fingerprint, risk } = row
  const { verdict, answer, by, always } = said
  if (kind === 'question') {
    const questions = questionsIn(row.input)
    if (!questions || !answer) return false
    return openAnswerMemory(store, { clock }).keep({ project, session, questions, answer, by, always }, tx)
  }
  // Where the kept spelling is not the whole request (very long, or only a tool's name) the answer is for this one alone.
  if (kind !== 'permission' || fingerprintRequest(tool, normalised) !== fingerprint || verdict === undefined)
    return false
  return openPrecedents(store, clock).remember({ project, tool, normalised, risk, verdict, by, session }, tx)
}

/**
 * An answer did not reach a session: it waits again, and this gives the number under which it does. Where others waited for
 * the same and have their answer, that is a new number: what was answered stays so for them.
 */
async function askAgain(
  number: number,
  session: string | undefined,
  { store, clock, tx }: EscalationDeps,
): Promise<number> {
  const row = await store.escalations.get(number, tx)
  const waiting = await store.escalations.sessionsOf([number], tx)
  const own = waiting.find(({ session_id }) => session_id === (session ?? row?.session_id))
  if (!row || !own || waiting.length === 1) {
    await store.escalations.reopen(number, tx)
    return number
  }
  if (row.state === 'open') return number // somebody opened it again before
  const { number: _, ...asked } = row
  await store.escalations.leave(number, own.session_id, tx)
  return store.escalations.insert(
    {
      ...asked,
      ...{ session_id: own.session_id, call_id: own.call_id, state: 'open', dedup_key: null, deadline: null },
      ...{ count: 1, last_at: clock.now() },
      ...UNANSWERED,
    },
    tx,
  )
}

/** What somebody is told who answers when nothing waits any more: who was first, or why no answer is needed. */
export function lateAnswerError({
  number,
  state,
  verdict,
  answered_by,
  answered_at,
  answer_reason,
}: Escalation): AppError {
  const when = `${new Date(answered_at ?? 0).toISOString().slice(0, 16).replace('T', ' ')} UTC`
  if (state === 'withdrawn') return new AppError('escalation_withdrawn', { number, when, reason: answer_reason ?? '' })
  const said = verdict === 'allow' ? 'approved' : verdict === 'deny' ? 'denied' : 'answered'
  return new AppError('escalation_answered', { number, verdict: said, by: answered_by ?? 'somebody', when })
}

/** The settings of `[human]`. */
export interface DeadlineSettings {
  /** How long a terminal may be silent before what it asks waits without an agent. */
  grace_seconds: number
  deadline_minutes: number | undefined
  on_deadline: { question: OnDeadline; permission: Exclude<OnDeadline, 'take_suggestion'> }
}

/** By when something of this kind is settled without a person, and how; an error or a review waits however long. */
export function computeDeadline(
  kind: Escalation['kind'],
  { deadline_minutes, on_deadline }: DeadlineSettings,
  now: number,
): Pick<Escalation, 'deadline' | 'on_deadline'> {
  const then = kind === 'question' || kind === 'permission' ? on_deadline[kind] : 'keep_waiting'
  if (deadline_minutes === undefined || then === 'keep_waiting') return { deadline: null, on_deadline: 'keep_waiting' }
  return { deadline: now + deadline_minutes * 60_000, on_deadline: then }
}

/** What is said in place of a person when the deadline is there; nothing where it waits on. No call is ever approved so. */
export function answerAtDeadline({ kind, on_deadline, context, created_at }: Escalation, now: number) {
  const minutes = Math.max(1, Math.round((now - created_at) / 60_000))
  const nobody = `nobody answered in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}`
  if (on_deadline === 'deny') {
    const next = kind === 'question' ? 'decide by yourself and say what you assumed' : 'go on without it'
    return { verdict: 'deny', by: 'deadline', reason: `${nobody}; ${next}` } satisfies EscalationAnswer
  }
  const { suggestion } = context
  if (on_deadline !== 'take_suggestion' || kind !== 'question' || !suggestion) return undefined
  const { answer, confidence, by } = suggestion
  const reason = `${nobody}; the suggestion of ${by} was taken (${Math.round(confidence * 100)} %)`
  return { answer, by: 'deadline', reason } satisfies EscalationAnswer
}
