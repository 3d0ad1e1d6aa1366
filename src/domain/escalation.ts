import * as z from 'zod'
import { Answerer } from './answerer.ts'
import { Risk } from './session.ts'

/**
 * A row that waits for a human. `open`: somebody must answer before the work goes on. `denied`: it was refused because nobody
 * was there, the work went on without it, and the row is listed for the morning. `answered`: a person has said what they think.
 */
export const EscalationState = z.enum(['open', 'denied', 'answered'])
export type EscalationState = z.infer<typeof EscalationState>

export const Escalation = z.object({
  /** A small number, given once per data directory. */
  number: z.number(),
  kind: z.literal('permission'),
  session_id: z.string(),
  project: z.string(),
  /** The newest call that asked for it. */
  call_id: z.string(),
  tool: z.string(),
  target: z.string(),
  input: z.record(z.string(), z.unknown()),
  risk: Risk,
  reason: z.string(),
  /** One spelling for requests that are the same. Very long ones are kept cut; `fingerprint` is of the whole. */
  normalised: z.string(),
  fingerprint: z.string(),
  state: EscalationState,
  /** How often the session asked for it. */
  count: z.number(),
  created_at: z.number(),
  last_at: z.number(),
  verdict: z.enum(['allow', 'deny']).nullable(),
  answered_by: z.string().nullable(),
  answered_at: z.number().nullable(),
  answer_reason: z.string().nullable(),
})
export type Escalation = z.infer<typeof Escalation>

/** What is known when nobody could be asked. */
export type NewEscalation = Pick<
  Escalation,
  'kind' | 'session_id' | 'project' | 'call_id' | 'tool' | 'target' | 'input' | 'risk' | 'reason' | 'normalised'
> & { state: 'open' | 'denied' }

/** What a person said to an escalation. */
export interface EscalationAnswer {
  verdict: 'allow' | 'deny'
  by: string
  reason?: string | undefined
}

/** POST /escalations/:number/answer */
export const AnswerEscalation = z.strictObject({
  verdict: z.enum(['allow', 'deny']),
  /** Why, for who reads the log later. */
  reason: z.string().max(10_000).optional(),
  by: Answerer,
})

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
