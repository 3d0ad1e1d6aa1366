import * as z from 'zod'
import type { SandboxSettings } from './agent-manifest.ts'
import type { AgentToolName, ToolReply } from './agent-tools.ts'
import { Limit } from './limit.ts'

/**
 * The contract between the supervisor and every driver.
 *
 * A driver turns one vendor's program into a `Session`. Its `events` never throw: whatever goes wrong is an `ended` event,
 * and `ended` is always the last one. Before an agent may act the driver awaits `Asks`; a thrown, late or malformed answer
 * is a refusal.
 */
export interface Session extends AsyncDisposable {
  readonly id: string
  /** The vendor's own conversation id, for resume. Known once `started` was seen. */
  readonly vendorId: string | undefined
  /** The agent's process, where there is one. */
  readonly pid?: number | undefined
  /** True where it is certain that nothing but the agent itself runs: none of its tools has left anything behind. */
  readonly alone?: boolean | undefined
  /** True once it is closed and something that it started could not be ended. */
  readonly withstood?: boolean | undefined
  readonly events: AsyncIterable<SessionEvent>
  /** The next user turn, in the same process. */
  prompt(text: string): Promise<void>
  /** Stops after the tool in flight; the conversation can be resumed, or go on with `prompt`. */
  pause(): Promise<void>
  /** Stops now: the running tool is killed. */
  interrupt(): Promise<void>
  /** Not one more call of the model: whoever had no answer yet is ended on the spot, everybody else stops as by `pause`. */
  withhold?(): Promise<void>
  /** True while a person has the agent's terminal. */
  readonly takenOver?: boolean | undefined
  /** A person types from now on: nothing is typed and no question answered until they hand it back. Calls are judged as before. */
  takeover?(): Promise<void>
  handback?(): Promise<void>
}

export interface Asks {
  permission(request: Request, signal: AbortSignal): Promise<Verdict | Park>
  question(question: Question, signal: AbortSignal): Promise<Answer | Park>
  /** Runs a tool of ours (`OpenSession.ownTools`) that was allowed. Without it the agent is told that there is none. */
  tool?(name: AgentToolName, input: unknown, signal: AbortSignal): Promise<ToolReply>
}

/** A tool call that asks to happen. */
export const Request = z.object({
  callId: z.string(),
  tool: z.string(),
  input: z.record(z.string(), z.unknown()),
  cwd: z.string(),
  /** Set when a subagent asks. */
  agentId: z.string().optional(),
  /** The driver itself runs the server that this tool belongs to: a name alone makes nothing ours. */
  own: z.literal(true).optional(),
})
export type Request = z.infer<typeof Request>

export const Risk = z.enum(['LOW', 'MEDIUM', 'HIGH'])
export type Risk = z.infer<typeof Risk>

/** One thing that was seen in a request: a stable code, and words for a person. */
export const StoredReason = z.object({ code: z.string(), risk: Risk, text: z.string() })
export type StoredReason = z.infer<typeof StoredReason>

export const Verdict = z.object({
  verdict: z.enum(['allow', 'deny', 'ask']),
  risk: Risk,
  /** For the person and, on a denial, for the agent: why, and the way round. */
  reason: z.string(),
  confidence: z.number().min(0).max(1),
  /** `policy`, `rule`, `brain`, `precedent`, `human`, or `nobody`: there was no one to ask. */
  by: z.string(),
})
export type Verdict = z.infer<typeof Verdict>

/** Nobody can answer now: the call is deferred, the process closed, and on resume the same call is answered. */
export interface Park {
  park: true
  reason: string
}

export const QuestionItem = z.object({
  question: z.string(),
  header: z.string().default(''),
  multiSelect: z.boolean().default(false),
  options: z.array(z.object({ label: z.string(), description: z.string().default('') })).default([]),
})
export type QuestionItem = z.infer<typeof QuestionItem>

export const Question = z.object({
  callId: z.string(),
  questions: z.array(QuestionItem).min(1),
  agentId: z.string().optional(),
})
export type Question = z.infer<typeof Question>

/** `answers` maps the question's text to the chosen label, or labels, or free text. `declined` tells the agent why there is none. */
export const Answer = z.union([
  z.object({ answers: z.record(z.string(), z.union([z.string(), z.array(z.string())])), by: z.string() }),
  z.object({ declined: z.string(), by: z.string() }),
])
export type Answer = z.infer<typeof Answer>

export const PlanItem = z.object({ text: z.string(), state: z.enum(['pending', 'active', 'done']) })
export type PlanItem = z.infer<typeof PlanItem>

const byAgent = { agentId: z.string().optional() }

export const LimitWindow = z.object({
  utilization: z.number().optional(),
  resetsAt: z.number().optional(),
  status: z.string().optional(),
})

/** Why a turn failed, so that callers branch on `kind` and never on text. */
export const FailureKind = z.enum([
  'limit', // the vendor refuses until a time
  'overloaded', // 529
  'server', // 5xx
  'network', // reset, cut, timeout
  'auth', // not logged in, wrong key
  'billing',
  'model_not_found',
  'prompt_too_long',
  'refusal',
  'resume_unknown', // no conversation with that id
  'nothing_parked', // the call that was to be answered is not there any more
  'agent_missing', // the program cannot be started
  'agent_crashed', // the program died under the turn
  'other',
])
export type FailureKind = z.infer<typeof FailureKind>

export const Failure = z.object({
  kind: FailureKind,
  message: z.string(),
  status: z.number().optional(),
  /** With `kind: 'limit'`, always. */
  limit: Limit.optional(),
})
export type Failure = z.infer<typeof Failure>

/** How a turn ended. Only `completed` is a claim of success. */
export const TurnOutcome = z.enum([
  'completed',
  'paused', // by pause()
  'parked', // a call was deferred
  'interrupted', // by interrupt()
  'capped', // max turns or budget
  'failed',
])
export type TurnOutcome = z.infer<typeof TurnOutcome>

/** Times are milliseconds since the epoch. Token counts and cost count from the opening of the session: take the latest, never sum. */
export const SessionEvent = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('started'),
    vendorId: z.string(),
    model: z.string(),
    cwd: z.string(),
    tools: z.array(z.string()),
    version: z.string().optional(),
    resumed: z.boolean(),
  }),
  z.object({ kind: z.literal('text'), text: z.string(), ...byAgent }),
  z.object({ kind: z.literal('thinking'), text: z.string(), ...byAgent }),
  z.object({
    kind: z.literal('tool_request'),
    callId: z.string(),
    tool: z.string(),
    input: z.record(z.string(), z.unknown()),
    ...byAgent,
  }),
  z.object({ kind: z.literal('tool_result'), callId: z.string(), ok: z.boolean(), output: z.string(), ...byAgent }),
  z.object({ kind: z.literal('question'), callId: z.string(), questions: z.array(QuestionItem), ...byAgent }),
  z.object({ kind: z.literal('plan'), items: z.array(PlanItem) }),
  z.object({
    kind: z.literal('usage'),
    inputTokens: z.number(),
    outputTokens: z.number(),
    cacheReadTokens: z.number(),
    cacheWriteTokens: z.number(),
    /** Moves at the end of a turn; 0 while nothing is known. */
    costUsd: z.number(),
    /** Rounds with the model in this turn so far. */
    turns: z.number().optional(),
    contextTokens: z.number().optional(),
    contextWindow: z.number().optional(),
  }),
  z.object({
    kind: z.literal('limit'),
    status: z.enum(['allowed', 'warning', 'rejected']),
    window: z.string().optional(),
    resetsAt: z.number().optional(),
    utilization: z.number().optional(),
    windows: z.record(z.string(), LimitWindow).optional(),
  }),
  z.object({
    kind: z.literal('retry'),
    attempt: z.number(),
    maxRetries: z.number(),
    delayMs: z.number(),
    failure: Failure,
  }),
  z.object({ kind: z.literal('compacting'), state: z.enum(['started', 'ended']) }),
  z.object({
    kind: z.literal('turn_ended'),
    outcome: TurnOutcome,
    text: z.string(),
    /** Rounds with the model, as `maxTurns` counts them. */
    turns: z.number(),
    durationMs: z.number(),
    denials: z.number(),
    failure: Failure.optional(),
    /** `gone`: the call itself cannot be answered any more; what is said to it is told as the next prompt. */
    parked: z.object({ callId: z.string(), tool: z.string(), gone: z.literal(true).optional() }).optional(),
  }),
  z.object({ kind: z.literal('ended'), reason: z.enum(['closed', 'crashed', 'failed']), failure: Failure.optional() }),
])
export type SessionEvent = z.infer<typeof SessionEvent>

/** What a driver needs to open one conversation. */
export interface OpenSession {
  id: string
  cwd: string
  /** Absent when a parked call is to be answered: the conversation goes on by itself. */
  prompt?: string | undefined
  /** Looked at last, before the first word reaches the process: after a no nothing is said, and the session is only closed. */
  mayBegin?: (() => boolean) | undefined
  asks: Asks
  /** The whole environment of the agent: an allow-list made by the caller; the driver adds its own few and the marker. */
  env: Record<string, string>
  resume?: { vendorId: string; fork: boolean } | undefined
  model?: string | undefined
  maxTurns?: number | undefined
  allowedTools?: string[] | undefined
  /** All the tools that it has; without it every one that the vendor gives. */
  tools?: string[] | undefined
  disallowedTools?: string[] | undefined
  /** Tools of ours that it is given beside them; `asks.tool` runs them. */
  ownTools?: readonly AgentToolName[] | undefined
  /** Which of the person's own settings apply: `user`, `project`, `local`. */
  settingSources: ('user' | 'project' | 'local')[]
  /** No MCP servers from files: the project's are not trusted. */
  strictMcp?: boolean | undefined
  /** No hook from settings files may run, because one of them could change a call after it was judged. */
  hooksOff?: boolean | undefined
  /** Whether the cost is told within a turn too, and not only when it ends. */
  followCost?: boolean | undefined
  /** Keeps the vendor's raw messages, one JSON object a line. */
  record?: string | undefined
  /** `auto` uses a PID namespace where the system allows one. */
  isolation: 'auto' | 'namespace' | 'marker'
  /** What stands around an agent that is not held to every call; nothing when absent. */
  sandbox?: SandboxSettings | undefined
  /** Value of PCC_SESSION_MARK in everything the agent starts: the caller keeps it, to sweep after a crash. Made up when absent. */
  marker?: string | undefined
}

/** Whether an agent can go on with a conversation it kept: `damaged` is there, and no use. */
export type ConversationState = 'intact' | 'missing' | 'damaged'

/** One kind of agent. `warm` starts a process ahead of time for an `open` with the same environment, folder and options. */
export interface Driver {
  readonly agent: string
  /** `warm` does nothing: no process is started ahead of time. */
  readonly cold?: true
  /** Whether this can be the id of one of its conversations; without it every text can. */
  isVendorId?(id: string): boolean
  /** What is left of a conversation in the agent's own files; without it nobody can say before trying. */
  conversationState?(vendorId: string, of: { cwd: string; env: Record<string, string> }): Promise<ConversationState>
  open(options: OpenSession): Promise<Session>
  warm(options: OpenSession): Promise<void>
  /** Ends the process that waits for these options, if one does: they are not needed any more. */
  cool(options: OpenSession): Promise<void>
  /** Ends warm processes; open sessions are their openers' to close. */
  close(): Promise<void>
}

/**
 * Whether the same may work a moment later. What is not named here needs somebody: a login, money, another model, another
 * task. A limit is neither: it has a time of its own.
 */
const TRANSIENT: ReadonlySet<FailureKind> = new Set(['overloaded', 'server', 'network', 'agent_crashed'])

/** Whether a failure is worth another try soon. */
export function isTransient(kind: FailureKind): boolean {
  return TRANSIENT.has(kind)
}
