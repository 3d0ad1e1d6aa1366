import type { Clock } from '../base/clock.ts'
import type {
  AnsweredEscalation,
  Escalation,
  EscalationAnswer,
  EscalationState,
  NewEscalation,
} from '../domain/escalation.ts'
import type { Store, Tx } from '../store/store.ts'
import type { EscalationSession } from '../store/tables.ts'
import { answerDecision, knownDecision } from './answer-decision.ts'
import { askAgain } from './ask-again.ts'
import { lateAnswer } from './late-answer.ts'
import { recordDecision, WAITING } from './record-decision.ts'

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
    get: number => knownDecision(number, { store }),
    list: ({ session, states = WAITING } = {}) => store.escalations.list({ session, states }),
    sessionsOf: number => store.escalations.sessionsOf([number]),
    answer: (number, answer) =>
      store.transaction(async tx => {
        const answered = await answerDecision(number, { ...answer, from: 'denied' }, desk(tx))
        return 'open' in answered ? undefined : answered
      }),
    settle: async (number, answer, tx) => {
      const answered = await answerDecision(number, { ...answer, from: 'open' }, desk(tx))
      if ('open' in answered) throw lateAnswer(answered.open)
      return answered
    },
    reopen: (number, tx, session) => askAgain(number, session, desk(tx)),
    withdraw: (session, reason, tx) => store.escalations.withdraw(session, { reason, at: clock.now() }, tx),
    waiting: () => store.escalations.count(WAITING),
  }
}
