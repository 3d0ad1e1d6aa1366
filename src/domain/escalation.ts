import * as z from 'zod'
import { Suggestion } from './brain.ts'
import { isAutomatic } from './deciders.ts'
import type { Needs } from './needs.ts'
import { FAILED_BEFORE_KEY } from './option-values.ts'
import { Risk, StoredReason } from './session.ts'

/** The name of the one who answers: any name, except those of the automatic deciders. */
export const Answerer = z
  .string()
  .min(1)
  .max(40)
  .refine(by => !isAutomatic(by) && by !== 'nobody', 'an answer is not by the machine')
  .default('human')

/**
 * The state of a decision that waits for a human. `open`: its session is parked until somebody answers. `denied`: it was
 * refused because nobody was there (at once, or by a deadline, which `answered_by` then names); the work continued without
 * it, and the row is listed for the morning. `answered`: a person has answered. `withdrawn`: no answer is needed any more,
 * because the session was stopped.
 */
export const EscalationState = z.enum(['open', 'denied', 'answered', 'withdrawn'])
export type EscalationState = z.infer<typeof EscalationState>

/** What happens if nobody has answered by the deadline. A deadline never approves anything. */
export const OnDeadline = z.enum(['deny', 'take_suggestion', 'keep_waiting'])
export type OnDeadline = z.infer<typeof OnDeadline>

/** What helps a person to decide, besides the request itself. */
export const EscalationContext = z.object({
  /** The last steps of the session, one line each, the newest last. */
  steps: z.array(z.string()).optional(),
  suggestion: Suggestion.optional(),
})
export type EscalationContext = z.infer<typeof EscalationContext>

export const Escalation = z.object({
  /** A small number, unique in a data directory. */
  number: z.number(),
  kind: z.enum(['permission', 'question', 'error', 'review']),
  session_id: z.string(),
  project: z.string(),
  /** The task of the session, in words. */
  task: z.string(),
  /** The id of that task; null for a session without tasks. */
  task_id: z.string().nullable(),
  /** The newest call with this request. */
  call_id: z.string(),
  tool: z.string(),
  target: z.string(),
  input: z.record(z.string(), z.unknown()),
  /** A question is LOW, because it does nothing. */
  risk: Risk,
  reason: z.string(),
  reasons: z.array(StoredReason),
  /** One spelling for equal requests. Very long ones are stored cut; `fingerprint` is of the whole text. */
  normalised: z.string(),
  fingerprint: z.string(),
  /** Open requests with the same key share one row: the same question in one project. */
  dedup_key: z.string().nullable(),
  /** Higher comes first. */
  priority: z.number(),
  context: EscalationContext,
  /** When `on_deadline` takes effect; null if it waits for a person without limit. */
  deadline: z.number().nullable(),
  on_deadline: OnDeadline,
  state: EscalationState,
  /** How often the session made the request. */
  count: z.number(),
  created_at: z.number(),
  last_at: z.number(),
  verdict: z.enum(['allow', 'deny']).nullable(),
  /** The answer to a question, one for each of its parts; null if it was declined. */
  answer: z.array(z.union([z.string(), z.array(z.string())])).nullable(),
  answered_by: z.string().nullable(),
  answered_at: z.number().nullable(),
  answer_reason: z.string().nullable(),
  /** A hash of project, task, request and tree: a yes that is used later is for exactly this. Null if no yes may be used later. */
  bound: z.string().nullable(),
  /** A person allowed the refused request once, until then. */
  allowed_until: z.number().nullable(),
  /** When that was used; it cannot be used again. */
  used_at: z.number().nullable(),
})
export type Escalation = z.infer<typeof Escalation>

/** A decision to be stored. */
export type NewEscalation = Omit<
  Escalation,
  'number' | 'fingerprint' | 'dedup_key' | 'count' | 'created_at' | 'last_at' | 'state' | AnswerFields | OptionalFields
> & {
  state: 'open' | 'denied'
  /** The spelling by which attempts at one task find the same request, where `normalised` names the attempt's worktree. */
  spelling?: string | undefined
} & Partial<Pick<Escalation, OptionalFields>>

/** Defaults: the session's task and priority, its last steps, no deadline, and no yes that is used later. */
type OptionalFields = 'task_id' | 'priority' | 'context' | 'deadline' | 'on_deadline' | 'bound'

type AnswerFields =
  | ('verdict' | 'answer' | 'answered_by' | 'answered_at' | 'answer_reason')
  | ('allowed_until' | 'used_at')

/** A person's answer: `verdict` to a permission, `answer` to a question; a `deny` to a question declines it. */
export interface EscalationAnswer {
  verdict?: 'allow' | 'deny' | undefined
  answer?: NonNullable<Escalation['answer']> | undefined
  by: string
  reason?: string | undefined
  /** The answer to a question applies until it is removed: in this project, or everywhere. */
  always?: 'project' | 'everywhere' | undefined
  /** The yes to a refused request allows exactly this request once more. */
  again?: true | undefined
}

/** POST /escalations/:number/answer */
export const AnswerEscalation = z.strictObject({
  verdict: z.enum(['allow', 'deny']).optional(),
  /** For a question: text, or the number of an option; one for each part if it has several. */
  answer: z.union([z.string(), z.array(z.string()).min(1).max(20)]).optional(),
  /** The reason, for the log. If it is a refusal, the agent gets it too. */
  reason: z.string().max(10_000).optional(),
  /** Who answers. The daemon fills it in: what a client says here does not count. */
  by: Answerer,
  /** The answer to a question applies until it is removed: in this project, or in every one. */
  always: z.enum(['project', 'everywhere']).optional(),
  /** A yes to a refused request: exactly this is allowed once, and its task is done again. */
  again: z.literal(true).optional(),
  /** The environment in which a parked session is resumed. If absent, the daemon's own is used. Never stored. */
  env: z.record(z.string(), z.string()).optional(),
})
export type AnswerEscalation = z.infer<typeof AnswerEscalation>

/** The reply: the row as it is now, and whether the answer is reused when the same is asked again. */
export interface AnsweredEscalation {
  escalation: Escalation
  remembered: boolean
  /** What became of the task of a refused request. */
  task?: TaskAfterAnswer | undefined
}

/**
 * What the answer to a refused request did with its task: its conversation goes on, its agent is at work on it anyway, it was made
 * ready for a run, or nothing.
 */
export const TaskAfterAnswer = z.enum(['goes_on', 'at_work', 'ready', 'as_it_is'])
export type TaskAfterAnswer = z.infer<typeof TaskAfterAnswer>

/** A row as the API shows it, without the store's keys; `sessions` are all sessions that wait for the answer. */
export const EscalationView = Escalation.omit({ fingerprint: true, dedup_key: true, bound: true }).extend({
  sessions: z.array(z.string()),
  /** Whether `again` is possible: the request was refused, and exactly this can be allowed once. */
  again: z.boolean(),
})
export type EscalationView = z.infer<typeof EscalationView>

/** GET /needs: what waits for a person, and the decisions among it. */
export interface NeedsReply extends Needs {
  escalations: EscalationView[]
}

/** Whether a person may allow exactly this request once more. */
export function mayBeAllowedOnce({ kind, state, verdict, bound, used_at }: Escalation): boolean {
  const isRefused = state === 'denied' || (state === 'answered' && verdict === 'allow' && used_at === null)
  return kind === 'permission' && bound !== null && isRefused
}

/** Whether there is an answer to deliver to its sessions: from a person, or from a deadline that refused on their behalf. */
export function isSettled({ state, answered_by }: Pick<Escalation, 'state' | 'answered_by'>): boolean {
  return state === 'answered' || (state === 'denied' && answered_by !== null)
}

/**
 * The key that open questions about work share which one setting of its project answers: it lacks checks, or only tests fail that failed
 * before. One cause, and one row for a person.
 */
export function uncheckedKey({
  kind,
  project,
  input,
}: Pick<Escalation, 'kind' | 'project' | 'input'>): string | undefined {
  // Only pcc opens a review. The input of other kinds is an agent's.
  if (kind !== 'review' || typeof input['fix'] !== 'string') return undefined
  if (typeof input['untilAllowed'] === 'string') return `${FAILED_BEFORE_KEY}${project}:${input['untilAllowed']}`
  return input['untilChecked'] === true ? `unchecked:${project}` : undefined
}

/** The key that tasks of one project share whose checks could not run for the same reason: one cause, and one row for a person. */
export function brokenCheckKey({
  kind,
  project,
  reason,
  input,
}: Pick<Escalation, 'kind' | 'project' | 'reason' | 'input'>): string | undefined {
  return kind === 'error' && input['about'] === 'gate' ? `gate:${project}:${reason}` : undefined
}

/** A recovery that failed after its retries: its session does not go on by itself. It is listed for ever, also after it is over. */
export interface Incident {
  number: number
  at: number
  /** When the same happened last. */
  last_at: number
  count: number
  session_id: string
  task_id: string | null
  project: string
  reason: string
  /** Null while it waits for a person. */
  over_at: number | null
  /** What ended it: a person's answer, or that nobody needs one any more. */
  over: string | null
}

/** The incident that an escalation is, if it is one. A spent budget is no failure. */
export function toIncident(row: Escalation): Incident | undefined {
  const { kind, tool, input, state, number, created_at, last_at, count, session_id, task_id, project, reason } = row
  if (kind !== 'error' || tool !== 'session' || input['guard'] !== undefined) return undefined
  const isOpen = state === 'open'
  const said = row.verdict === 'allow' ? 'tried again' : 'left as it is'
  const over = state === 'answered' ? `${said}, by ${row.answered_by ?? 'nobody'}` : (row.answer_reason ?? state)
  return {
    ...{ number, at: created_at, last_at, count, session_id, task_id, project, reason },
    over_at: isOpen ? null : (row.answered_at ?? last_at),
    over: isOpen ? null : over,
  }
}
