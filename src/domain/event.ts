import * as z from 'zod'
import { HAND_OVER_CAUSES } from './agent-choice.ts'
import { ModelAsked, Suggestion } from './brain.ts'
import { BUDGET_SCOPES, MEASURES, PURPOSES } from './budget.ts'
import { FeaturePhase } from './feature-phase.ts'
import { hookEvents } from './hook-capture.ts'
import {
  Failure,
  FailureKind,
  LimitWindow,
  PlanItem,
  QuestionItem,
  Risk,
  StoredReason,
  TurnOutcome,
} from './session.ts'
import { ENDED_AS } from './session-end.ts'
import { WORK_EVENTS } from './work-events.ts'

/** The checks that keep a session from running away. */
export const Guard = z.enum(['budget', 'repetition', 'progress', 'stall', 'memory', 'processes', 'disk', 'unwatched'])
export type Guard = z.infer<typeof Guard>

const BudgetUsed = z.object({
  scope: z.enum(BUDGET_SCOPES),
  /** The day, project, session or task that is counted. */
  key: z.string(),
  measure: z.enum(MEASURES),
  spent: z.number(),
  limit: z.number(),
})

/** Notes that an agent leaves for later agents. */
const LeftForOthers = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('journal'), notes: z.string() }),
  z.object({ kind: z.literal('knowledge'), title: z.string(), tags: z.array(z.string()), body: z.string() }),
])

const AskedPermission = z.object({
  ask_id: z.string(),
  call_id: z.string(),
  tool: z.string(),
  target: z.string(),
  risk: Risk,
  reason: z.string(),
  reasons: z.array(StoredReason).optional(),
  suggestion: Suggestion.optional(),
  /** The number of the decision, by which it can also be answered elsewhere. */
  number: z.number().optional(),
})

const AskedQuestions = z.object({
  ask_id: z.string(),
  call_id: z.string(),
  questions: z.array(QuestionItem),
  suggestion: Suggestion.optional(),
  number: z.number().optional(),
})

/** Every kind of stored event and its body. Logs, the terminal, the API's stream and webhooks show nothing but these. */
export const EVENT_BODIES = {
  ...WORK_EVENTS,
  'session.created': z.object({
    name: z.string(),
    project: z.string(),
    task: z.string(),
    agent: z.string(),
    resumed: z.string().optional(),
  }),
  /**
   * Something that the person should know about how the session runs, for example that untrusted project settings were left
   * out. `unheard`: nobody answers a question of a terminal, and it cannot wait elsewhere, so people are notified.
   */
  'session.noted': z.object({ text: z.string(), unheard: z.literal(true).optional() }),
  'agent.started': z.object({
    vendor_id: z.string(),
    model: z.string(),
    version: z.string().optional(),
    resumed: z.boolean(),
    /** Whether it runs in a sandbox. */
    sandboxed: z.boolean().optional(),
  }),
  /** Another agent continues the task of the session. `until`: when the vendor of the previous agent lets it work again. */
  'agent.changed': z.object({
    from: z.string(),
    to: z.string(),
    why: z.enum(HAND_OVER_CAUSES),
    until: z.number().optional(),
    /** Why the previous agent could not start. */
    problem: z.string().optional(),
  }),
  'agent.said': z.object({ text: z.string(), agent_id: z.string().optional() }),
  'agent.thought': z.object({ text: z.string(), agent_id: z.string().optional() }),
  'agent.retried': z.object({ attempt: z.number(), max_retries: z.number(), delay_ms: z.number(), failure: Failure }),
  'agent.compacted': z.object({ state: z.enum(['started', 'ended']) }),
  'tool.requested': z.object({
    call_id: z.string(),
    tool: z.string(),
    target: z.string(),
    input: z.record(z.string(), z.unknown()),
    agent_id: z.string().optional(),
  }),
  /** A person at an attached terminal is asked. The answer refers to `ask_id`. */
  'permission.asked': AskedPermission.extend({ agent_id: z.string().optional() }),
  'permission.decided': z.object({
    call_id: z.string(),
    tool: z.string(),
    target: z.string(),
    verdict: z.enum(['allow', 'deny']),
    risk: Risk,
    reason: z.string(),
    confidence: z.number(),
    by: z.string(),
    /** The person's rule or the blocked command that decided. */
    rule: z.string().optional(),
    reasons: z.array(StoredReason).optional(),
    /** From the question to the verdict, a person's thinking time included. */
    latency_ms: z.number(),
    agent_id: z.string().optional(),
  }),
  /** Nobody could be asked: the call waits, and no process runs. `number` is the decision's number in `pcc pending`. */
  'permission.parked': AskedPermission,
  /** A person answered a request that was refused, or waits, because nobody was there. */
  'escalation.answered': z.object({
    number: z.number(),
    tool: z.string(),
    target: z.string(),
    risk: Risk,
    /** For a question only if it was declined. */
    verdict: z.enum(['allow', 'deny']).optional(),
    answer: z.array(z.union([z.string(), z.array(z.string())])).optional(),
    by: z.string(),
    reason: z.string().optional(),
    /** Whether the answer is reused when the same is asked again. */
    remembered: z.boolean(),
    /** Set if the request was refused when it was asked, and the work continued without it. */
    late: z.literal(true).optional(),
    /** Set if the person allowed exactly this request once more. */
    again: z.literal(true).optional(),
  }),
  /** A request that a person had allowed once was made, and the yes is used up. `number` is that of the decision. */
  'allowance.used': z.object({
    number: z.number(),
    call_id: z.string(),
    task: z.string(),
    attempt: z.number(),
    tool: z.string(),
    target: z.string(),
    by: z.string(),
  }),
  'tool.finished': z.object({
    call_id: z.string(),
    tool: z.string(),
    target: z.string(),
    ok: z.boolean(),
    output: z.string(),
    agent_id: z.string().optional(),
  }),
  'question.asked': AskedQuestions.extend({ agent_id: z.string().optional() }),
  'question.answered': z.object({
    call_id: z.string(),
    answers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
    declined: z.string().optional(),
    by: z.string(),
    /** For an answer without a person: how confident it is, and why. */
    confidence: z.number().optional(),
    reasoning: z.string().optional(),
    /** From the question to this answer, if no person was asked. */
    latency_ms: z.number().optional(),
    agent_id: z.string().optional(),
  }),
  /** Nobody could answer: the call waits, and no process runs. */
  'question.parked': AskedQuestions.extend({ reason: z.string() }),
  'plan.changed': z.object({ items: z.array(PlanItem) }),
  'usage.reported': z.object({
    input_tokens: z.number(),
    output_tokens: z.number(),
    cache_read_tokens: z.number(),
    cache_write_tokens: z.number(),
    cost_usd: z.number(),
    context_tokens: z.number().optional(),
    context_window: z.number().optional(),
    purpose: z.enum(PURPOSES).optional(), // of what was used since the last of these events; absent for work
  }),
  'model.asked': ModelAsked,
  'limit.warned': z.object({
    window: z.string().optional(),
    utilization: z.number().optional(),
    resets_at: z.number().optional(),
    windows: z.record(z.string(), LimitWindow).optional(),
  }),
  'limit.hit': z.object({ window: z.string().optional(), resets_at: z.number().optional(), message: z.string() }),
  'turn.ended': z.object({
    outcome: TurnOutcome,
    text: z.string(),
    turns: z.number(),
    duration_ms: z.number(),
    denials: z.number(),
    failure: Failure.optional(),
    /** What the sigils at the end of the text ask of the run. They are stored separately because `text` may be cut before them. */
    sigils: z
      .object({
        next_model: z.string().optional(),
        gave_up: z.string().optional(),
        left: z.array(LeftForOthers).optional(),
      })
      .optional(),
  }),
  /** Four fifths of a budget are spent; reported once. */
  'budget.warned': BudgetUsed,
  'budget.spent': BudgetUsed,
  /** A guard acted: it told the agent, stopped it after the running tool, or killed what did not stop. */
  'guard.tripped': z.object({
    guard: Guard,
    did: z.enum(['told', 'paused', 'interrupted', 'killed']),
    reason: z.string(),
  }),
  'session.ended': z.object({
    status: z.enum(ENDED_AS),
    reason: z.string(),
    /** When the session resumes by itself. */
    resumes_at: z.number().optional(),
    /** The failure of the vendor or the agent, if that was the cause. */
    failure: FailureKind.optional(),
  }),
  /** A session that had ended or waited was resumed. */
  'session.resumed': z.object({ reason: z.string() }),
  /** The nightly report, made at `report.at`: its counts and the first titles, failed tasks first. */
  'report.made': z.object({
    ...{ since: z.number(), until: z.number() },
    ...{ done: z.number(), failed: z.number(), unfinished: z.number(), waiting: z.number() },
    not_begun: z.number().optional(),
    cost_usd: z.number(),
    titles: z.array(z.string()),
  }),
  /** An agent, or something that the daemon started, tried to speak for a person. `count` tries since the event before, of which this is the last. */
  'speaker.refused': z.object({ what: z.string(), command: z.string(), pid: z.number(), count: z.number() }),
  ...hookEvents,
  /** A feature entered a phase, or stopped there. */
  'feature.moved': z.object({
    project: z.string(),
    name: z.string(),
    phase: FeaturePhase,
    problem: z.string().optional(),
  }),
  'feature.deleted': z.object({ project: z.string(), name: z.string() }),
  /** Something needs a person: terminals that show this session ring their bell. */
  'person.called': z.object({ text: z.string() }),
  'daemon.started': z.object({ pid: z.number(), version: z.string() }),
  /** An earlier daemon did not end cleanly: what was left of it, and what happened to its sessions. */
  'daemon.recovered': z.object({
    /** How many leftover processes were ended, by how they were found, and how many would not end. */
    swept: z.object({ marker: z.number(), tree: z.number(), directory: z.number(), left: z.number() }),
    /** How many sessions resume, and how many wait for a person. */
    goes_on: z.number(),
    waits: z.number(),
  }),
  'daemon.stopped': z.object({ reason: z.string() }),
  /** An address has taken no events for days. This is written with the first event that is not sent to it any more. */
  'webhook.given_up': z.object({ name: z.string(), problem: z.string() }),
  /** The first successful write after the disk was full or not writable. */
  'disk.freed': z.object({}),
} as const satisfies Record<string, z.ZodType>

export type EventKind = keyof typeof EVENT_BODIES
export type EventBody<Kind extends EventKind> = z.infer<(typeof EVENT_BODIES)[Kind]>

/** A stored event. `id` rises with every append; `subject` is the session or other thing that the event is about. */
export type StoredEvent = { [Kind in EventKind]: EventOf<Kind> }[EventKind]
export interface EventOf<Kind extends EventKind> {
  id: number
  /** Milliseconds since the epoch. */
  time: number
  /** Who caused the event: `daemon`, `agent`, `human` or `cli`. */
  actor: string
  schema_version: number
  subject: string
  kind: Kind
  body: EventBody<Kind>
}

/** An event before it is stored. */
export type NewEvent = {
  [Kind in EventKind]: Omit<EventOf<Kind>, 'id' | 'time' | 'schema_version'> & { time?: number }
}[EventKind]

export const EVENT_SCHEMA_VERSION = 1
