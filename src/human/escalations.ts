import { type Clock, DAY_MS } from '../base/clock.ts'
import { AppError } from '../base/errors.ts'
import { isAutomatic } from '../domain/deciders.ts'
import type {
  AnsweredEscalation,
  Escalation,
  EscalationAnswer,
  EscalationState,
  NewEscalation,
  OnDeadline,
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
   * Records something that nobody could be asked, and returns its number. If the same session asks it again, the same row counts
   * it; so does the same question of another session of the project while the row is open.
   */
  record(entry: NewEscalation, tx?: Tx): Promise<number>
  /** Throws `escalation_unknown`. */
  get(number: number): Promise<Escalation>
  /** Highest priority first, then oldest; without `states`, those that wait. */
  list(filter?: {
    session?: string | undefined
    states?: readonly EscalationState[] | undefined
  }): Promise<Escalation[]>
  /** The sessions that wait, or waited, for the answer, each with the call that gets it. */
  sessionsOf(number: number): Promise<EscalationSession[]>
  /**
   * Answers a request that was refused. The first answer counts, a later one throws `escalation_answered`. Returns undefined if
   * the row is open.
   */
  answer(number: number, answer: EscalationAnswer): Promise<AnsweredEscalation | undefined>
  /** Allows exactly the refused request of an approved row once. Throws `answer_unfit` if it was used, or cannot be allowed so. */
  allowOnce(number: number): Promise<AnsweredEscalation>
  /** The same for an open row, in the transaction in which its session resumes. */
  settle(number: number, answer: EscalationAnswer, tx: Tx): Promise<AnsweredEscalation>
  /** The answer did not reach this session (by default the row's own): it waits again, under the returned number. */
  reopen(number: number, tx: Tx, session?: string): Promise<number>
  /** This session needs no answers any more. A row that other sessions wait for too stays open for them. */
  withdraw(session: string, reason: string, tx: Tx): Promise<void>
}

/** What waits for a person, and their answers to it. */
export function openEscalations({ store, clock }: { store: Store; clock: Clock }): HumanEscalations {
  const depsFor = (tx: Tx) => ({ store, clock, tx })
  return {
    record: (entry, tx) =>
      tx ? recordDecision(entry, depsFor(tx)) : store.transaction(own => recordDecision(entry, depsFor(own))),
    get: number => requireDecision(number, { store }),
    list: ({ session, states = WAITING } = {}) => store.escalations.list({ session, states }),
    sessionsOf: number => store.escalations.sessionsOf([number]),
    answer: (number, answer) =>
      store.transaction(async tx => {
        const answered = await answerDecision(number, { ...answer, from: 'denied' }, depsFor(tx))
        return 'open' in answered ? undefined : answered
      }),
    allowOnce: number =>
      store.transaction(async tx => ({ ...(await allowOnce(number, depsFor(tx))), remembered: false })),
    settle: async (number, answer, tx) => {
      const answered = await answerDecision(number, { ...answer, from: 'open' }, depsFor(tx))
      if ('open' in answered) throw lateAnswerError(answered.open)
      return answered
    },
    reopen: (number, tx, session) => askAgain(number, session, depsFor(tx)),
    withdraw: (session, reason, tx) => store.escalations.withdraw(session, { reason, at: clock.now() }, tx),
  }
}

interface DecisionAnswer extends EscalationAnswer {
  /** The state that the row must have for the answer to count. */
  from: 'open' | 'denied'
}

/** Records an answer once, appends an event to every session that waits for it, and remembers it where that is allowed. */
async function answerDecision(
  number: number,
  { from, ...answer }: DecisionAnswer,
  deps: EscalationDeps,
): Promise<AnsweredEscalation | { open: Escalation }> {
  const { store, clock, tx } = deps
  const to = await stateAfter(number, answer, deps)
  const isFirst = await store.escalations.answer(number, { ...answer, at: clock.now(), from, to }, tx)
  const escalation = await requireDecision(number, deps)
  if (!isFirst && escalation.state === 'open') return { open: escalation }
  if (!isFirst) throw lateAnswerError(escalation)
  const remembered = isAutomatic(answer.by) ? false : await remember(escalation, answer, deps)
  const allowed = answer.again && answer.verdict === 'allow' ? (await allowOnce(number, deps)).escalation : escalation
  const sessions = await store.escalations.sessionsOf([number], tx)
  await tx.append(
    sessions.map(({ session_id }) => answeredEvent(escalation, session_id, { ...answer, remembered, from })),
  )
  return { escalation: allowed, remembered }
}

/** A task may wait for a limit or for its turn before it is done again; a yes from long ago must not surprise anybody. */
const ALLOWED_FOR_MS = DAY_MS

async function allowOnce(number: number, deps: EscalationDeps): Promise<{ escalation: Escalation }> {
  const { store, clock, tx } = deps
  const isAllowed = await store.escalations.allowOnce(number, clock.now() + ALLOWED_FOR_MS, tx)
  const escalation = await requireDecision(number, deps)
  if (isAllowed) return { escalation }
  throw new AppError('answer_unfit', { number, problem: whyNotOnce(escalation) })
}

/** Why exactly this request cannot be allowed once more. */
export function whyNotOnce({ state, used_at }: Pick<Escalation, 'state' | 'used_at'>): string {
  if (state === 'open') return 'it waits for your answer now, and your yes runs it: answer without --again'
  if (used_at !== null) return 'your yes to it was used already'
  return 'exactly this cannot be allowed once; do it yourself, or write a rule with: pcc rules add'
}

/** A call that its deadline refused stays listed until a person has answered it: it was refused only because nobody was there. */
async function stateAfter(
  number: number,
  { by, verdict }: EscalationAnswer,
  deps: EscalationDeps,
): Promise<'answered' | 'denied'> {
  if (by !== 'deadline' || verdict !== 'deny') return 'answered'
  return (await requireDecision(number, deps)).kind === 'permission' ? 'denied' : 'answered'
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
  { verdict, answer, by, reason, remembered, from, again }: DecisionAnswer & { remembered: boolean },
): NewEvent {
  const body = {
    ...{ number, by, remembered, tool, target, risk },
    ...(verdict !== undefined && { verdict }),
    ...(answer !== undefined && { answer }),
    ...(reason !== undefined && { reason }),
    ...(from === 'denied' && { late: true as const }),
    ...(again && { again }),
  }
  return { actor: isAutomatic(by) ? 'daemon' : 'human', subject, kind: 'escalation.answered', body }
}

async function remember(
  row: Escalation,
  { verdict, answer, by, always }: EscalationAnswer,
  { store, clock, tx }: EscalationDeps,
): Promise<boolean> {
  const { kind, project, session_id: session, tool, normalised, fingerprint, risk } = row
  if (kind === 'question') {
    const questions = questionsIn(row.input)
    if (!questions || !answer) return false
    return openAnswerMemory(store, { clock }).keep({ project, session, questions, answer, by, always }, tx)
  }
  // If the stored spelling is not the whole request (it is very long, or only a tool's name), the answer counts only for this one.
  if (kind !== 'permission' || fingerprintRequest(tool, normalised) !== fingerprint || verdict === undefined)
    return false
  return openPrecedents(store, clock).remember({ project, tool, normalised, risk, verdict, by, session }, tx)
}

/**
 * An answer did not reach a session, so the session waits again, under the returned number. If other sessions waited for the same
 * row and have their answer, it is a new number: their row stays answered.
 */
async function askAgain(
  number: number,
  session: string | undefined,
  { store, clock, tx }: EscalationDeps,
): Promise<number> {
  const row = await store.escalations.get(number, tx)
  const waiting = await store.escalations.sessionsOf([number], tx)
  const missed = waiting.find(({ session_id }) => session_id === (session ?? row?.session_id))
  if (!row || !missed || waiting.length === 1) {
    await store.escalations.reopen(number, tx)
    return number
  }
  if (row.state === 'open') return number // another session has reopened it already
  const { number: _, ...asked } = row
  await store.escalations.leave(number, missed.session_id, tx)
  return store.escalations.insert(
    {
      ...asked,
      ...{ session_id: missed.session_id, call_id: missed.call_id, state: 'open', dedup_key: null, deadline: null },
      ...{ count: 1, last_at: clock.now() },
      ...UNANSWERED,
    },
    tx,
  )
}

/** The error for an answer that comes too late: it says who answered first, or why no answer is needed. */
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
  const outcome = verdict === 'allow' ? 'approved' : verdict === 'deny' ? 'denied' : 'answered'
  return new AppError('escalation_answered', { number, verdict: outcome, by: answered_by ?? 'somebody', when })
}

/** The settings of `[human]`. */
export interface DeadlineSettings {
  /** How long a terminal may be silent before its ask is parked. */
  grace_seconds: number
  deadline_minutes: number | undefined
  on_deadline: { question: OnDeadline; permission: Exclude<OnDeadline, 'take_suggestion'> }
}

/** When an escalation of this kind is settled without a person, and how. An error or a review has no deadline. */
export function computeDeadline(
  kind: Escalation['kind'],
  { deadline_minutes, on_deadline }: DeadlineSettings,
  now: number,
): Pick<Escalation, 'deadline' | 'on_deadline'> {
  const action = kind === 'question' || kind === 'permission' ? on_deadline[kind] : 'keep_waiting'
  if (deadline_minutes === undefined || action === 'keep_waiting')
    return { deadline: null, on_deadline: 'keep_waiting' }
  return { deadline: now + deadline_minutes * 60_000, on_deadline: action }
}

/** The answer that is given for a person at the deadline; undefined if it keeps waiting. This never approves a call. */
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
