import * as z from 'zod'
import { Answerer } from './answerer.ts'
import { Risk, StoredReason } from './session.ts'

/**
 * A row that waits for a human. `open`: its session is parked until somebody answers. `denied`: it was refused because nobody
 * was there, the work went on without it, and the row is listed for the morning. `answered`: a person has said what they
 * think. `withdrawn`: nobody needs an answer any more, because the session was stopped.
 */
export const EscalationState = z.enum(['open', 'denied', 'answered', 'withdrawn'])
export type EscalationState = z.infer<typeof EscalationState>

export const Escalation = z.object({
  /** A small number, given once per data directory. */
  number: z.number(),
  kind: z.enum(['permission', 'question', 'error']),
  session_id: z.string(),
  project: z.string(),
  /** What the session was told to do. */
  task: z.string(),
  /** The newest call that asked for it. */
  call_id: z.string(),
  tool: z.string(),
  target: z.string(),
  input: z.record(z.string(), z.unknown()),
  /** A question is LOW: it does nothing. */
  risk: Risk,
  reason: z.string(),
  reasons: z.array(StoredReason),
  /** One spelling for requests that are the same. Very long ones are kept cut; `fingerprint` is of the whole. */
  normalised: z.string(),
  fingerprint: z.string(),
  state: EscalationState,
  /** How often the session asked for it. */
  count: z.number(),
  created_at: z.number(),
  last_at: z.number(),
  verdict: z.enum(['allow', 'deny']).nullable(),
  /** What was said to a question, one for each of its parts; null where it was declined. */
  answer: z.array(z.union([z.string(), z.array(z.string())])).nullable(),
  answered_by: z.string().nullable(),
  answered_at: z.number().nullable(),
  answer_reason: z.string().nullable(),
})
export type Escalation = z.infer<typeof Escalation>

/** What is known when nobody could be asked. */
export type NewEscalation = Omit<
  Escalation,
  'number' | 'fingerprint' | 'count' | 'created_at' | 'last_at' | AnswerFields
> & {
  state: 'open' | 'denied'
}

type AnswerFields = 'verdict' | 'answer' | 'answered_by' | 'answered_at' | 'answer_reason'

/** What a person said: `verdict` to a permission, `answer` to a question, or to that too a `deny`: they will not answer. */
export interface EscalationAnswer {
  verdict?: 'allow' | 'deny' | undefined
  answer?: NonNullable<Escalation['answer']> | undefined
  by: string
  reason?: string | undefined
}

/** POST /escalations/:number/answer */
export const AnswerEscalation = z.strictObject({
  verdict: z.enum(['allow', 'deny']).optional(),
  /** To a question: words, or the number of an option; where it has several parts, one for each. */
  answer: z.union([z.string(), z.array(z.string()).min(1).max(20)]).optional(),
  /** Why, for who reads the log later; the agent is told it with a no. */
  reason: z.string().max(10_000).optional(),
  by: Answerer,
  /** The environment in which a parked session goes on. Without it the daemon's own counts. Never stored. */
  env: z.record(z.string(), z.string()).optional(),
})
export type AnswerEscalation = z.infer<typeof AnswerEscalation>

/** The reply to it: the row as it is now, and whether the answer counts the next time the same is asked. */
export interface AnsweredEscalation {
  escalation: Escalation
  remembered: boolean
}

/** A person's answer that counts again when the same is asked in the same project. Never of a HIGH request. */
export interface RememberedAnswer {
  project: string
  tool: string
  normalised: string
  fingerprint: string
  verdict: 'allow' | 'deny'
  by: string
  answered_at: number
}
