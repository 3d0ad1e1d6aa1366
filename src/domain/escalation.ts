import * as z from 'zod'
import { Suggestion } from './brain.ts'
import { Risk, StoredReason } from './session.ts'

/** Who answers, as said with an answer: anybody, but not in the name of the machine. */
export const Answerer = z
  .string()
  .min(1)
  .max(40)
  .refine(by => !isAutomatic(by) && by !== 'nobody', 'an answer is not by the machine')
  .default('human')

/**
 * A row that waits for a human. `open`: its session is parked until somebody answers. `denied`: it was refused because nobody
 * was there (at once, or by a deadline: then `answered_by` says so), the work went on without it, and the row is listed for the
 * morning. `answered`: a person has said what they think. `withdrawn`: nobody needs an answer any more, because the session
 * was stopped.
 */
export const EscalationState = z.enum(['open', 'denied', 'answered', 'withdrawn'])
export type EscalationState = z.infer<typeof EscalationState>

/** What becomes of it when nobody has answered by its deadline. Nothing is ever approved by a clock. */
export const OnDeadline = z.enum(['deny', 'take_suggestion', 'keep_waiting'])
export type OnDeadline = z.infer<typeof OnDeadline>

/** What a person judges by, beside the request itself. */
export const EscalationContext = z.object({
  /** What the session did last, one line each, the newest at the end. */
  steps: z.array(z.string()).optional(),
  suggestion: Suggestion.optional(),
})
export type EscalationContext = z.infer<typeof EscalationContext>

export const Escalation = z.object({
  /** A small number, given once per data directory. */
  number: z.number(),
  kind: z.enum(['permission', 'question', 'error', 'review']),
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
  /** Of two that are open and have the same, there is one row: the same question of one project. */
  dedup_key: z.string().nullable(),
  /** Higher comes first. */
  priority: z.number(),
  context: EscalationContext,
  /** When `on_deadline` happens; null: it waits for a person however long. */
  deadline: z.number().nullable(),
  on_deadline: OnDeadline,
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
  'number' | 'fingerprint' | 'dedup_key' | 'count' | 'created_at' | 'last_at' | 'state' | AnswerFields | OptionalFields
> & {
  state: 'open' | 'denied'
} & Partial<Pick<Escalation, OptionalFields>>

/** Without a priority the session's own counts, without steps its last ones, without a deadline there is none. */
type OptionalFields = 'priority' | 'context' | 'deadline' | 'on_deadline'

type AnswerFields = 'verdict' | 'answer' | 'answered_by' | 'answered_at' | 'answer_reason'

/** What a person said: `verdict` to a permission, `answer` to a question, or to that too a `deny`: they will not answer. */
export interface EscalationAnswer {
  verdict?: 'allow' | 'deny' | undefined
  answer?: NonNullable<Escalation['answer']> | undefined
  by: string
  reason?: string | undefined
  /** It counts until somebody forgets it: in this project, or everywhere. Of a question only. */
  always?: 'project' | 'everywhere' | undefined
}

/** POST /escalations/:number/answer */
export const AnswerEscalation = z.strictObject({
  verdict: z.enum(['allow', 'deny']).optional(),
  /** To a question: words, or the number of an option; where it has several parts, one for each. */
  answer: z.union([z.string(), z.array(z.string()).min(1).max(20)]).optional(),
  /** Why, for who reads the log later; the agent is told it with a no. */
  reason: z.string().max(10_000).optional(),
  by: Answerer,
  /** The answer to a question counts until it is forgotten: in this project, or in every one. */
  always: z.enum(['project', 'everywhere']).optional(),
  /** The environment in which a parked session goes on. Without it the daemon's own counts. Never stored. */
  env: z.record(z.string(), z.string()).optional(),
})
export type AnswerEscalation = z.infer<typeof AnswerEscalation>

/** The reply to it: the row as it is now, and whether the answer counts the next time the same is asked. */
export interface AnsweredEscalation {
  escalation: Escalation
  remembered: boolean
}

/** A row as the API shows it: the keys are the store's own business, and `sessions` are all that wait for the answer. */
export type EscalationView = Omit<Escalation, 'fingerprint' | 'dedup_key'> & { sessions: string[] }

/** Whether something was said that its sessions are to hear: by somebody, or by a deadline that refused in their place. */
export function isSettled({ state, answered_by }: Pick<Escalation, 'state' | 'answered_by'>): boolean {
  return state === 'answered' || (state === 'denied' && answered_by !== null)
}

/** Who decides without a person: the policy, a rule, a brain (`brain:rules`), an earlier answer, a deadline, a guard. Whoever else is named is somebody. */
const AUTOMATIC: ReadonlySet<string> = new Set(['policy', 'rule', 'brain', 'precedent', 'memory', 'deadline', 'guard'])

/** Whether a decision came about without a person. */
export function isAutomatic(by: string): boolean {
  return AUTOMATIC.has(by.split(':', 1)[0] ?? by)
}
