import * as z from 'zod'
import type { SandboxSettings } from '../base/sandbox/settings.ts'
import type { AgentToolName, ToolReply } from './agent-tools.ts'
import { type AccountFault, FAULT_NAMES, FAULTS, type Limit } from './limit.ts'

/**
 * The contract between the supervisor and every driver.
 *
 * A driver turns one vendor's program into a `Session`. Its `events` never throw: a failure is an `ended` event, and
 * `ended` is always the last one. Before an agent may act, the driver awaits `Asks`; a thrown, late or malformed answer
 * counts as a refusal.
 */
export interface Session extends AsyncDisposable {
  readonly id: string
  /** The vendor's own conversation id, for resume. Known once `started` was seen. */
  readonly vendorId: string | undefined
  /** The pid of the agent's process, if there is one. */
  readonly pid?: number | undefined
  /** True if it is certain that only the agent itself runs: none of its tools left a process behind. */
  readonly alone?: boolean | undefined
  /** True if the session is closed and a process that it started could not be ended. */
  readonly hasSurvivors?: boolean | undefined
  /** True if its process runs in a sandbox that holds at this moment, so that what its calls do stays in there. */
  readonly walled?: boolean | undefined
  /** How many sessions its process has served before this one. */
  readonly served?: number
  /** Whether its process may serve another session after this one, as far as that is known by now. */
  readonly mayServeAnother?: boolean
  /** Resolves with true once it is known that its process serves no other session; with false if the session ends before. */
  readonly servesNoOther?: Promise<boolean>
  /**
   * Leaves the process to the next session that is opened with the same marker, and ends this one. To be called after the last turn,
   * in place of closing. If it returns a reason, nothing was done, and the session is closed as usual.
   */
  release?(): Promise<string | undefined>
  readonly events: AsyncIterable<SessionEvent>
  /** Starts the next user turn in the same process. */
  prompt(text: string): Promise<void>
  /** Stops after the running tool. The conversation can be resumed, or continued with `prompt`. */
  pause(): Promise<void>
  /** Stops now: the running tool is killed. */
  interrupt(): Promise<void>
  /** Prevents any further call of the model: an agent that waits for its first reply is ended at once, any other stops as by `pause`. */
  withhold?(): Promise<void>
  /** True while a person has taken over the agent's terminal. */
  readonly takenOver?: boolean | undefined
  /** Lets a person type: until they hand the terminal back, pcc types nothing and answers no question. Calls are judged as before. */
  takeover?(): Promise<void>
  handback?(): Promise<void>
}

export interface Asks {
  permission(request: Request, signal: AbortSignal): Promise<Verdict | Park>
  question(question: Question, signal: AbortSignal): Promise<Answer | Park>
  /** Runs an allowed tool of ours (`OpenSession.ownTools`). Without it the agent is told that there is no such tool. */
  tool?(name: AgentToolName, input: unknown, signal: AbortSignal): Promise<ToolReply>
}

/** A tool call for which the agent asks permission. */
export const Request = z.object({
  callId: z.string(),
  tool: z.string(),
  input: z.record(z.string(), z.unknown()),
  cwd: z.string(),
  /** Set if a subagent asks. */
  agentId: z.string().optional(),
  /** Set if the driver itself runs the server of this tool; the name alone does not prove that. */
  own: z.literal(true).optional(),
})
export type Request = z.infer<typeof Request>

export const Risk = z.enum(['LOW', 'MEDIUM', 'HIGH'])
export type Risk = z.infer<typeof Risk>

/** One observation about a request: a stable code, and a text for a person. */
export const StoredReason = z.object({ code: z.string(), risk: Risk, text: z.string() })
export type StoredReason = z.infer<typeof StoredReason>

export const Verdict = z.object({
  verdict: z.enum(['allow', 'deny', 'ask']),
  risk: Risk,
  /** The reason, for the person. On a denial it is also for the agent and says what to do instead. */
  reason: z.string(),
  confidence: z.number().min(0).max(1),
  /** `policy`, `rule`, `brain`, `precedent`, `human`, or `nobody` if there was no one to ask. */
  by: z.string(),
})
export type Verdict = z.infer<typeof Verdict>

/** Nobody can answer now: the call is deferred, the process is closed, and on resume the same call is answered. */
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

/** `answers` maps the question's text to the chosen label or labels, or to free text. `declined` tells the agent why there is no answer. */
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
  'nothing_parked', // the parked call no longer exists
  'agent_missing', // the program cannot be started
  'agent_crashed', // the program died during the turn
  'other',
])
export type FailureKind = z.infer<typeof FailureKind>

/** Failures of the account, not of the task: it cannot be used until a person has mended something. */
export const ACCOUNT_FAULTS: Partial<Record<FailureKind, AccountFault>> = Object.fromEntries(
  FAULT_NAMES.map(fault => [FAULTS[fault].failure satisfies FailureKind, fault]),
)

const LimitReport: z.ZodType<Limit> = z.object({
  window: z.string().optional(),
  resetsAt: z.number().optional(),
  source: z.enum(['event', 'result', 'message', 'retry']),
  message: z.string(),
  fault: z.enum(FAULT_NAMES).optional(),
})

export const Failure = z.object({
  kind: FailureKind,
  message: z.string(),
  status: z.number().optional(),
  /** Always set with `kind: 'limit'`. */
  limit: LimitReport.optional(),
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

/** Times are milliseconds since the epoch. Tokens and cost are totals since the session was opened: take the latest value, never add them up. */
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
    /** Usually changes at the end of a turn; 0 while nothing is known. */
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
    /** `gone`: the call itself can no longer be answered; the answer is sent as the next prompt. */
    parked: z.object({ callId: z.string(), tool: z.string(), gone: z.literal(true).optional() }).optional(),
  }),
  z.object({ kind: z.literal('ended'), reason: z.enum(['closed', 'crashed', 'failed']), failure: Failure.optional() }),
])
export type SessionEvent = z.infer<typeof SessionEvent>

/** The options with which a driver opens a conversation. */
export interface OpenSession {
  id: string
  cwd: string
  /** Absent if a parked call is to be answered, because the conversation then continues by itself. */
  prompt?: string | undefined
  /** Called right before the first prompt is sent. If it returns false, nothing is sent and the session is only closed. */
  mayBegin?: (() => boolean) | undefined
  asks: Asks
  /** The whole environment of the agent, filtered by the caller's allow-list. The driver adds a few variables and the marker. */
  env: Record<string, string>
  resume?: { vendorId: string; fork: boolean } | undefined
  model?: string | undefined
  maxTurns?: number | undefined
  allowedTools?: string[] | undefined
  /** The only tools of the agent; if absent, it has all tools of its vendor. */
  tools?: string[] | undefined
  /** The agent only reads, whatever its tools: commands that it may run cannot write either. */
  readsOnly?: boolean | undefined
  disallowedTools?: string[] | undefined
  /** Tools of ours that the agent gets in addition; `asks.tool` runs them. */
  ownTools?: readonly AgentToolName[] | undefined
  /** Which of the person's own settings apply: `user`, `project`, `local`. */
  settingSources: ('user' | 'project' | 'local')[]
  /** Starts no MCP servers from files, because those of the project are not trusted. */
  strictMcp?: boolean | undefined
  /** Runs no hooks from settings files, because a hook could change a call after it was judged. */
  hooksOff?: boolean | undefined
  /** Whether the cost is also reported during a turn, and not only at its end. */
  followCost?: boolean | undefined
  /** A file for the vendor's raw messages, one JSON object per line. */
  record?: string | undefined
  /** `auto` uses a PID namespace if the system allows one. */
  isolation: 'auto' | 'namespace' | 'marker'
  /** The sandbox of the agent; none if absent. */
  sandbox?: SandboxSettings | undefined
  /** The value of PCC_SESSION_MARK in everything that the agent starts. The caller stores it, to sweep after a crash. Generated if absent. */
  marker?: string | undefined
}

/** Whether an agent can resume a stored conversation. `damaged`: it exists, but cannot be used. */
export type ConversationState = 'intact' | 'missing' | 'damaged'

/** One kind of agent. `warm` starts a process ahead of time for an `open` with the same environment, folder and options. */
export interface Driver {
  readonly agent: string
  /** Set if `warm` does nothing, so no process is started ahead of time. */
  readonly cold?: true
  /** Whether this can be the id of one of its conversations; if absent, every text can. */
  isVendorId?(id: string): boolean
  /** The state of a conversation in the agent's own files; if absent, only a try can tell. */
  conversationState?(vendorId: string, of: { cwd: string; env: Record<string, string> }): Promise<ConversationState>
  open(options: OpenSession): Promise<Session>
  warm(options: OpenSession): Promise<void>
  /** Begins a fresh conversation in the process that is kept under this marker: a session will be opened with it in a moment. */
  clearAhead?(options: Pick<OpenSession, 'marker'>): void
  /** Ends the warm process for these options, if there is one, because it is no longer needed. */
  cool(options: OpenSession): Promise<void>
  /** Ends warm processes. Open sessions must be closed by their openers. */
  close(): Promise<void>
}

/**
 * Failures that may pass within moments. All others need a person: a login, money, another model, another task. A limit is
 * neither, because it has its own reset time.
 */
const TRANSIENT: ReadonlySet<FailureKind> = new Set(['overloaded', 'server', 'network', 'agent_crashed'])

/** Whether a failure is worth another try soon. */
export function isTransient(kind: FailureKind): boolean {
  return TRANSIENT.has(kind)
}
