import * as z from 'zod'
import { MAX_REQUIRED_TASKS, Requirements, Suggestion } from './brain.ts'
import { isWhole, MEASURES, type Measure } from './budget.ts'
import { Answerer } from './escalation.ts'
import type { EventBody } from './event.ts'
import { BRAIN_KINDS, SESSION_HOSTS } from './option-values.ts'
import { PlanItem, QuestionItem, Risk, StoredReason } from './session.ts'
import { ENDED_AS, type EndedAs } from './session-end.ts'
import { FirstTask, TaskState, TaskView } from './task.ts'

/** The status that a session shows. It is derived from its row (`statusOf` below) and never stored. */
export const SessionStatus = z.enum(['idle', 'processing', ...ENDED_AS])
export type SessionStatus = z.infer<typeof SessionStatus>

const Amount = z.number().positive().max(Number.MAX_SAFE_INTEGER)

type AmountFields = Record<Measure, z.ZodOptional<z.ZodNumber>>

/** The spending limits of one session. */
const SessionBudget = z.strictObject(
  Object.fromEntries(
    MEASURES.map(measure => [measure, (isWhole(measure) ? Amount.int() : Amount).optional()]),
  ) as AmountFields,
)

/** POST /accepted-files: content of one of the person's own files that counts from now on. */
export const AcceptFile = z.strictObject({
  path: z.string().min(1),
  /** The content that it replaces; absent if that does not matter. */
  before: z.string().optional(),
  after: z.string(),
})

/** POST /sessions */
export const StartSession = z.strictObject({
  project: z.string().min(1),
  task: z.string().trim().min(1).max(1_000_000),
  /** The whole initial queue, in the order of submission; `task` is the text of the first. */
  tasks: z.array(FirstTask).min(1).max(MAX_REQUIRED_TASKS).optional(),
  /** The person's requirements, used to answer the agent's questions. */
  requirements: Requirements.optional(),
  name: z.string().min(1).max(80).optional(),
  /** `--agent`: a kind, the name of a custom agent, or a command line; overrides `agent.command`. */
  agent: z.string().min(1).max(10_000).optional(),
  model: z.string().min(1).optional(),
  max_turns: z.number().int().positive().optional(),
  allowed_tools: z.array(z.string().min(1)).optional(),
  disallowed_tools: z.array(z.string().min(1)).optional(),
  /** Of several waiting sessions, the one with the highest priority goes first. */
  priority: z.number().int().min(-1_000_000).max(1_000_000).optional(),
  /** `--brain`, `--brain-model`, `--confidence`: override the settings in `[brain]`. */
  brain: z.enum(BRAIN_KINDS).optional(),
  brain_model: z.string().min(1).optional(),
  confidence: z.number().min(0).max(1).optional(),
  /** `--[no-]auto-resume`: overrides `sessions.auto_resume`. */
  auto_resume: z.boolean().optional(),
  /** `--budget`: the limits of the session; overrides `budgets.session`. */
  budget: SessionBudget.optional(),
  /** `--[no-]auto-approve`: overrides `permissions.auto_approve_low_risk`. */
  auto_approve: z.boolean().optional(),
  /** Works in a worktree of its own, on the branch of its task; the work is verified and merged. */
  worktree: z.boolean().optional(),
  /** `--host tmux`: runs in a terminal that a person can watch and take over. */
  host: z.enum(SESSION_HOSTS).optional(),
  resume: z.strictObject({ vendor_id: z.string().min(1), fork: z.boolean() }).optional(),
  record: z.string().min(1).optional(),
  /** The caller is about to open `/events?attach=1`. Until then, for at most 10 s, it counts as a person at a terminal. */
  attach: z.boolean().optional(),
  /** The absolute path of the caller's config file; null if there is none. If absent, the daemon's own applies. */
  config: z.string().min(1).nullable().optional(),
  /** The caller's variables for settings (PCC_SESSIONS_MAX_CONCURRENT …). If absent, the daemon's own apply. */
  settings: z.record(z.string().regex(/^PCC_/), z.string()).optional(),
  /** The caller's environment, filtered by the allow-list, and filtered again by the daemon. Never stored, never logged. */
  env: z.record(z.string(), z.string()),
})
export type StartSession = z.infer<typeof StartSession>

/** A question or permission that a session asks a person right now. */
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
    /** The number of the decision. */
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
  /** The task of its queue that it works on or will resume. */
  task_id: z.string().nullable().optional(),
  /** The title of that task. Replies that only confirm an order leave it out. */
  title: z.string().optional(),
  /** How that task stands: its agent's end is not the end of its checks and its merge. Left out with the title. */
  task_state: TaskState.optional(),
  /** The run that began it; absent if a person did. */
  run_id: z.string().optional(),
  /** The worktree in which its agent works, and its branch; absent if the agent works in the project itself. */
  place: z.object({ directory: z.string(), branch: z.string(), target: z.string() }).optional(),
  agent: z.string(),
  /** Set if the session has a terminal that a person can enter. */
  host: z.enum(SESSION_HOSTS).optional(),
  /** Set while a person has taken over that terminal. */
  taken_over: z.literal(true).optional(),
  /** Set from the moment a person asked it to pause until it has. */
  pausing: z.literal(true).optional(),
  /** Agents that worked on the session before, and until when their vendor blocks them. */
  handed: z
    .array(z.object({ agent: z.string(), left_at: z.number(), until: z.number().nullable(), why: z.string() }))
    .optional(),
  model: z.string().nullable(),
  status: SessionStatus,
  /** Whether it is `idle` because it waits for a free slot (`sessions.max_concurrent`). */
  queued: z.boolean(),
  /** The brain of the session, and the confidence from which its answers count. */
  mind: z.object({ brain: z.string(), threshold: z.number() }).optional(),
  /** Why it has that status, if there is something to say. */
  reason: z.string().nullable(),
  vendor_id: z.string().nullable(),
  created_at: z.number(),
  ended_at: z.number().nullable(),
  /** The active plan item, or the last tool. */
  activity: z.string().nullable(),
  resumes_at: z.number().nullable(),
  /** Set if a person keeps it from resuming by itself: this session alone, or all sessions of its account. */
  held: z.enum(['session', 'account']).optional(),
  plan: z.array(PlanItem),
  tokens: z.object({ context: z.number(), window: z.number(), input: z.number(), output: z.number() }),
  /** The cost of this session alone, without the conversation it continued; null while the vendor has not reported it. */
  cost_usd: z.number().nullable(),
  /** Rounds with the model, as `max_turns` counts them. */
  turns: z.number(),
  tools: z.object({ auto: z.number(), human: z.number(), denied: z.number() }),
  questions: z.object({ auto: z.number(), human: z.number() }),
  asks: z.array(OpenAsk),
  /** The open tasks of its queue in the order in which they will run, the current one first. Only in the reply about one session. */
  queue: z.array(TaskView).optional(),
})
export type SessionView = z.infer<typeof SessionView>

/** POST /sessions/:ref/resume and /retry */
export const ResumeSession = z.strictObject({
  /** The id of a checkpoint from which a new conversation starts. */
  from: z.string().min(1).optional(),
  /** The new total budget of the session; replaces the earlier one. */
  budget: SessionBudget.optional(),
  /** The model from now on. */
  model: z.string().min(1).optional(),
  /** As in `StartSession`: the caller is about to open `/events?attach=1`. */
  attach: z.boolean().optional(),
  /** The caller's environment, filtered by the allow-list. If absent, the stored one is used. */
  env: z.record(z.string(), z.string()).optional(),
})
export type ResumeSession = z.infer<typeof ResumeSession>

/** POST /sessions/:ref/answers */
export const AnswerAsk = z.strictObject({
  ask_id: z.string(),
  /** For a permission. */
  verdict: z.enum(['allow', 'deny']).optional(),
  /** For a question: maps the text of each question to label(s) or free text. */
  answers: z.record(z.string(), z.union([z.string(), z.array(z.string())])).optional(),
  /** The reason for a refusal. The agent gets it. */
  reason: z.string().max(10_000).optional(),
  /** Who answers. The daemon fills it in: what a client says here does not count. */
  by: Answerer,
  /** Needed if the session is parked and must be started again. */
  env: z.record(z.string(), z.string()).optional(),
})
export type AnswerAsk = z.infer<typeof AnswerAsk>

/** GET /escalations: somebody who tried to speak for the person and was refused. */
export interface RefusedSpeaker {
  at: number
  /** The session that it came from; null if it came from no session that is known. */
  session_id: string | null
  /** The route. */
  what: string
  command: string
  pid: number
  /** How often, since it was listed before. */
  count: number
}

/** POST /daemon/stop. `go_on`: the sessions are only interrupted, and resume with the next daemon. */
export const StopDaemon = z.strictObject({ go_on: z.boolean().default(false) })

/** POST /secrets/unlock. */
export const UnlockSecrets = z.strictObject({ passphrase: z.string().min(1).max(10_000) })

/** POST /secrets/check: whether the daemon can read these secrets. */
export const CheckSecrets = z.strictObject({ names: z.array(z.string().min(1).max(100)).max(1000) })

/** What the daemon says of one secret; never its value. */
export interface CheckedSecret {
  name: string
  in: 'file' | 'keyring' | 'command' | null
  problem: string | null
}

/** GET /health with the token. Without it only `status`. */
export interface Health {
  status: 'ok' | 'stopping'
  version: string
  pid: number
  started_at: number
  home: string
  data: string
  sessions: { live: number; total: number }
  /** What this daemon found at its start of an earlier one that had not ended cleanly. */
  recovered?: EventBody<'daemon.recovered'> | undefined
  schema: number
  /** Who restarts the daemon when it dies. */
  kept_by?: 'parent' | 'systemd' | 'launchd' | 'nobody'
  watchdog_seconds?: number
  /** Why nothing new starts, while the disk is full or not writable. */
  disk?: string
}

/** The state of a session in its row. `ended` comes with an `EndedAs`. */
export type SessionState = 'queued' | 'starting' | 'running' | 'asking' | 'ended'

/** The columns of a session's row from which its status follows. */
export interface StatusFacts {
  id: string
  state: SessionState
  ended_as: EndedAs | null
  status_reason: string | null
  /** The boot id of the daemon that runs the session. */
  owner: string | null
}

/** The status that a person sees. A live row of another boot is an error: its daemon died without ending the session. */
export function statusOf(row: StatusFacts, currentOwner: string): { status: SessionStatus; reason: string | null } {
  if (row.state === 'ended') return { status: row.ended_as ?? 'error', reason: row.status_reason }
  if (row.owner !== currentOwner) return { status: 'error', reason: describeInterruption(row) }
  return { status: LIVE_STATUS[row.state], reason: row.status_reason }
}

/** The status that a session shows while it has not ended. */
export const LIVE_STATUS = {
  queued: 'idle',
  starting: 'idle',
  running: 'processing',
  asking: 'waiting_input',
} as const satisfies Record<Exclude<SessionState, 'ended'>, SessionStatus>

function describeInterruption(row: StatusFacts): string {
  return `interrupted; go on with: pcc resume ${row.id}`
}

/** POST /daemon/api */
export const SwitchApi = z.strictObject({
  on: z.boolean(),
  /** The environment of agents that other programs start; if absent, the daemon's own. Never stored in a row, never logged. */
  env: z.record(z.string(), z.string()).optional(),
})

/** GET /daemon/api: whether the API listens for other programs. */
export interface ApiStatus {
  on: boolean
  address: string | null
  connections: number
  /** Open event streams. */
  streams: number
  /** Why it does not listen although it should, or what will be wrong soon. */
  problem: string | null
}
