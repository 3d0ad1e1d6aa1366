import * as z from 'zod'
import { MAX_REQUIRED_TASKS, Requirements, Suggestion } from './brain.ts'
import { Answerer } from './escalation.ts'
import type { EventBody } from './event.ts'
import { BRAIN_KINDS, SESSION_HOSTS } from './option-values.ts'
import { PlanItem, QuestionItem, Risk, StoredReason } from './session.ts'
import { FirstTask, TaskView } from './task.ts'

/** What a session shows. Derived from its row, never stored (domain/session-status.ts). */
export const SessionStatus = z.enum([
  'idle',
  'processing',
  'waiting_input',
  'rate_limited',
  'paused',
  'stopped',
  'completed',
  'error',
])
export type SessionStatus = z.infer<typeof SessionStatus>

const Amount = z.number().positive().max(Number.MAX_SAFE_INTEGER)

/** The most that one session may spend. */
const SessionBudget = z.strictObject({
  turns: Amount.int().optional(),
  tokens: Amount.int().optional(),
  cost_usd: Amount.optional(),
  wall_minutes: Amount.optional(),
})

/** POST /sessions */
export const StartSession = z.strictObject({
  project: z.string().min(1),
  task: z.string().trim().min(1).max(1_000_000),
  /** The whole queue it begins with, in the order of submission: `task` is the text of the first. */
  tasks: z.array(FirstTask).min(1).max(MAX_REQUIRED_TASKS).optional(),
  /** What the person wrote down about the project, for whoever answers the agent's questions. */
  requirements: Requirements.optional(),
  name: z.string().min(1).max(80).optional(),
  /** `--agent`: a kind, the name of a custom agent, or a command line; in place of `agent.command`. */
  agent: z.string().min(1).max(10_000).optional(),
  model: z.string().min(1).optional(),
  max_turns: z.number().int().positive().optional(),
  allowed_tools: z.array(z.string().min(1)).optional(),
  disallowed_tools: z.array(z.string().min(1)).optional(),
  /** Higher comes first where several sessions wait. */
  priority: z.number().int().min(-1_000_000).max(1_000_000).optional(),
  /** `--brain`, `--brain-model`, `--confidence`: in place of the settings of `[brain]`. */
  brain: z.enum(BRAIN_KINDS).optional(),
  brain_model: z.string().min(1).optional(),
  confidence: z.number().min(0).max(1).optional(),
  /** `--[no-]auto-resume`: in place of `sessions.auto_resume`. */
  auto_resume: z.boolean().optional(),
  /** `--budget`: the most that the session may spend, in place of `budgets.session`. */
  budget: SessionBudget.optional(),
  /** `--[no-]auto-approve`: in place of `permissions.auto_approve_low_risk`. */
  auto_approve: z.boolean().optional(),
  /** In a worktree of its own, on the branch of its task: what it does is verified and merged. */
  worktree: z.boolean().optional(),
  /** `--host tmux`: in a terminal that a person can watch and take over. */
  host: z.enum(SESSION_HOSTS).optional(),
  resume: z.strictObject({ vendor_id: z.string().min(1), fork: z.boolean() }).optional(),
  record: z.string().min(1).optional(),
  /** The caller is about to open `/events?attach=1`: until then, and for 10 s at most, it counts as a person at a terminal. */
  attach: z.boolean().optional(),
  /** The caller's config file, absolute; null where there is none. Without it the daemon's own counts. */
  config: z.string().min(1).nullable().optional(),
  /** The caller's variables that set something (PCC_SESSIONS_MAX_CONCURRENT …). Without them the daemon's own count. */
  settings: z.record(z.string().regex(/^PCC_/), z.string()).optional(),
  /** The caller's environment, already cut down to the allow-list; cut down again by the daemon. Never stored, never logged. */
  env: z.record(z.string(), z.string()),
})
export type StartSession = z.infer<typeof StartSession>

/** Something a session asks a person right now. */
export const OpenAsk = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('permission'),
    ask_id: z.string(),
    tool: z.string(),
    target: z.string(),
    risk: Risk,
    reason: z.string(),
    reasons: z.array(StoredReason).optional(),
    suggestion: Suggestion.optional(),
    /** That of the decision. */
    number: z.number().optional(),
  }),
  z.object({
    kind: z.literal('question'),
    ask_id: z.string(),
    questions: z.array(QuestionItem),
    suggestion: Suggestion.optional(),
    number: z.number().optional(),
  }),
])
export type OpenAsk = z.infer<typeof OpenAsk>

/** GET /sessions/:ref */
export const SessionView = z.object({
  id: z.string(),
  name: z.string(),
  project: z.string(),
  task: z.string(),
  /** The task of its queue that it works on, or will go on with. */
  task_id: z.string().nullable().optional(),
  /** The worktree in which its agent works, and its branch; absent where that is the project itself. */
  place: z.object({ directory: z.string(), branch: z.string(), target: z.string() }).optional(),
  agent: z.string(),
  /** It has a terminal that a person can enter. */
  host: z.enum(SESSION_HOSTS).optional(),
  /** A person has that terminal now. */
  taken_over: z.literal(true).optional(),
  /** Agents that worked on it before and do not now, and until when their vendor keeps them from it. */
  handed: z
    .array(z.object({ agent: z.string(), left_at: z.number(), until: z.number().nullable(), why: z.string() }))
    .optional(),
  model: z.string().nullable(),
  status: SessionStatus,
  /** It is `idle` because it waits for a free place (`sessions.max_concurrent`). */
  queued: z.boolean(),
  /** Who forms opinions for it, and from which confidence on they count. */
  mind: z.object({ brain: z.string(), threshold: z.number() }).optional(),
  /** Why it has that status, where there is something to say. */
  reason: z.string().nullable(),
  vendor_id: z.string().nullable(),
  created_at: z.number(),
  ended_at: z.number().nullable(),
  /** What it is doing: the active plan item, or the last tool. */
  activity: z.string().nullable(),
  resumes_at: z.number().nullable(),
  /** A person keeps it from going on by itself: it alone, or all of its account. */
  held: z.enum(['session', 'account']).optional(),
  plan: z.array(PlanItem),
  tokens: z.object({ context: z.number(), window: z.number(), input: z.number(), output: z.number() }),
  /** What it spent itself, without the conversation it went on from; null while the vendor has not told it. */
  cost_usd: z.number().nullable(),
  /** Rounds with the model, as `max_turns` counts them. */
  turns: z.number(),
  tools: z.object({ auto: z.number(), human: z.number(), denied: z.number() }),
  questions: z.object({ auto: z.number(), human: z.number() }),
  asks: z.array(OpenAsk),
  /** What is open in its queue, in the order in which it will run; the one at work first. Only of one session that is asked for. */
  queue: z.array(TaskView).optional(),
})
export type SessionView = z.infer<typeof SessionView>

/** POST /sessions/:ref/resume and /retry */
export const ResumeSession = z.strictObject({
  /** A checkpoint's id: a new conversation goes on from there. */
  from: z.string().min(1).optional(),
  /** What it may spend in all from now on, in place of what was said before. */
  budget: SessionBudget.optional(),
  /** As of `StartSession`: the caller is about to open `/events?attach=1`. */
  attach: z.boolean().optional(),
  /** The caller's environment, cut down to the allow-list. Without it the one that was kept counts. */
  env: z.record(z.string(), z.string()).optional(),
})
export type ResumeSession = z.infer<typeof ResumeSession>

/** POST /sessions/:ref/answers */
export const AnswerAsk = z.strictObject({
  ask_id: z.string(),
  /** For a permission. */
  verdict: z.enum(['allow', 'deny']).optional(),
  /** For a question: text of each question → label(s) or free text. */
  answers: z.record(z.string(), z.union([z.string(), z.array(z.string())])).optional(),
  /** Why not, told to the agent. */
  reason: z.string().max(10_000).optional(),
  /** Who answers: `human` unless a scripted person of the demo says so. */
  by: Answerer,
  /** Needed when the session is parked and must be started again. */
  env: z.record(z.string(), z.string()).optional(),
})
export type AnswerAsk = z.infer<typeof AnswerAsk>

/** Every error of the API. */
export interface ErrorReply {
  error: { code: string; message: string; next: string }
}

/** GET /health with the token. Without it only `status`. */
/** POST /daemon/stop. `go_on`: its sessions are only cut off and go on with the next daemon. */
export const StopDaemon = z.strictObject({ go_on: z.boolean().default(false) })

export interface Health {
  status: 'ok' | 'stopping'
  version: string
  pid: number
  started_at: number
  home: string
  data: string
  sessions: { live: number; total: number }
  /** What was found of an earlier daemon that had not ended cleanly, when this one started. */
  recovered?: EventBody<'daemon.recovered'> | undefined
  schema: number
  /** Who starts it again when it dies. */
  kept_by?: 'parent' | 'systemd' | 'launchd' | 'nobody'
  watchdog_seconds?: number
  /** Why nothing new starts, while the disk is full or cannot be written to. */
  disk?: string
}

/** What a session is doing, as its row says it. `ended` comes with an `EndedAs`. */
export type SessionState = 'queued' | 'starting' | 'running' | 'asking' | 'ended'

/** How a session ended. Only `completed` is a success; `paused`, `rate_limited` and `waiting_input` can go on later. */
export type EndedAs = 'completed' | 'stopped' | 'paused' | 'rate_limited' | 'waiting_input' | 'error'

/** The columns of a session's row that its status follows from. */
export interface StatusFacts {
  id: string
  state: SessionState
  ended_as: EndedAs | null
  status_reason: string | null
  /** The daemon (one boot of it) that runs the session. */
  owner: string | null
}

/** The status a person sees. A live row of another boot is an error: the daemon that ran it died without ending it. */
export function statusOf(row: StatusFacts, currentOwner: string): { status: SessionStatus; reason: string | null } {
  if (row.state === 'ended') return { status: row.ended_as ?? 'error', reason: row.status_reason }
  if (row.owner !== currentOwner) return { status: 'error', reason: interruption(row) }
  return { status: LIVE_STATUS[row.state], reason: row.status_reason }
}

const LIVE_STATUS = {
  queued: 'idle',
  starting: 'idle',
  running: 'processing',
  asking: 'waiting_input',
} as const satisfies Record<Exclude<SessionState, 'ended'>, SessionStatus>

function interruption(row: StatusFacts): string {
  return `interrupted; go on with: pcc resume ${row.id}`
}
