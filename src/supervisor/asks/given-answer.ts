import type { EscalationAnswer } from '../../domain/escalation.ts'
import type { Answer, QuestionItem } from '../../domain/session.ts'
import type { Parked, ParkedPermission, ParkedQuestion, SessionRow } from '../../store/tables.ts'

/** The answer with which a parked session is started again. */
export type GivenAnswer = GivenToQuestion | GivenToPermission

interface GivenToQuestion {
  callId: string
  questions: QuestionItem[]
  answer: Answer
}

interface GivenToPermission {
  callId: string
  /** Of the call as it was when the person saw it. */
  digest: string
  verdict: 'allow' | 'deny'
  reason?: string | undefined
  by: string
  /** The agent gave the call up: it was told to make it again, once, under whatever id. */
  anew?: true
}

/** What a person said to what is parked, as the call that waits for it will find it. */
export function givenAnswer(parked: Parked, said: EscalationAnswer): GivenAnswer {
  const callId = parked.call_id
  if (!isPermission(parked)) return { callId, questions: parked.questions, answer: answerTo(parked.questions, said) }
  const { verdict, reason, by } = said
  // Only a clear yes is one.
  const again = parked.taken && { anew: true as const }
  return { callId, digest: parked.digest, verdict: verdict === 'allow' ? 'allow' : 'deny', reason, by, ...again }
}

/** The answers by the words of the questions, as the agent wants them. */
export function answerTo(questions: QuestionItem[], { answer, reason, by }: EscalationAnswer): Answer {
  if (!answer) return { declined: reason ?? 'the person does not want to answer; decide yourself', by }
  return { answers: Object.fromEntries(questions.map(({ question }, index) => [question, answer[index] ?? ''])), by }
}

/** As much of a run as has to do with the answer it was started with. */
interface Answered {
  answer: GivenAnswer | undefined
  taken: ParkedQuestion | undefined
  row: SessionRow
}

/**
 * An answer that could not be stored (the disk was full) did not reach the agent, which heard of a failure in its place: the
 * call is over, so it is told in words when the session goes on, or given where the model asks the same once more.
 */
export function tellLater(run: Answered, given: GivenAnswer): void {
  run.answer = given
  run.taken = undefined
  if (run.row.parked) run.row = { ...run.row, parked: { ...run.row.parked, taken: true } }
}

/** Whether a call waits, and not a question. */
export function isPermission(parked: Parked): parked is ParkedPermission {
  return 'digest' in parked
}
