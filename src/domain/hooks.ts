import * as z from 'zod'

/**
 * Hooks of agents that pcc did not start. A vendor's program runs `pcc hook <vendor> <event>` and waits for the answer. A translator in
 * `src/agents/hooks` turns what the vendor sends into a `HookEvent` and a `HookAnswer` into what the vendor understands; everything
 * between the two knows no vendor.
 */
export const HOOK_SCHEMA_VERSION = 1

export const HOOK_VENDORS = ['claude', 'codex', 'gemini', 'copilot'] as const
export const HookVendor = z.enum(HOOK_VENDORS)
export type HookVendor = z.infer<typeof HookVendor>

/** The session of a call that `pcc hooks doctor` makes up. It is answered like any other, and not recorded. */
export const DOCTOR_SESSION = 'pcc-hooks-doctor'

const Base = z.object({
  schema_version: z.literal(HOOK_SCHEMA_VERSION),
  vendor: HookVendor,
  /** The vendor's own name of the event. */
  native: z.string(),
  /** The vendor's id of the conversation. */
  session: z.string(),
  cwd: z.string(),
  /** Set if a subagent caused the event. */
  agent_id: z.string().optional(),
  agent_type: z.string().optional(),
  /** The vendor's own file of the conversation. */
  transcript: z.string().optional(),
  /** The vendor's mode, for example `bypassPermissions` or `yolo`; absent where it does not say. */
  permission_mode: z.string().optional(),
  /** Of the vendor's program, where it says so. */
  version: z.string().optional(),
})

const Call = {
  /** Absent where the vendor does not say which call it is about. */
  call_id: z.string().optional(),
  /** The tool and its input in our terms, as `policy` classifies them; a tool that we do not know is `unknown:execute:` and the vendor's name. */
  tool: z.string(),
  input: z.record(z.string(), z.unknown()),
  /**
   * Set if the call stands for several, for example a patch of two files: each of them must be allowed. `tool` is then a name that no
   * policy knows, so whoever ignores the parts judges the call as the worst it could be.
   */
  parts: z.array(z.object({ tool: z.string(), input: z.record(z.string(), z.unknown()) })).optional(),
}

/** What happened in the agent. Each kind has its own features (`src/supervisor/hooks`). */
export const HookEvent = z.discriminatedUnion('kind', [
  Base.extend({ kind: z.literal('session_start'), source: z.string(), model: z.string().optional() }),
  Base.extend({ kind: z.literal('session_end'), reason: z.string() }),
  Base.extend({ kind: z.literal('prompt'), text: z.string() }),
  /** A call is about to run. */
  Base.extend({ kind: z.literal('tool_before'), ...Call }),
  /** The vendor is about to ask a person about a call. */
  Base.extend({ kind: z.literal('permission'), ...Call }),
  Base.extend({
    kind: z.literal('tool_after'),
    ...Call,
    ok: z.boolean(),
    /** What the tool returned, as text; capped by the translator. */
    output: z.string(),
    exit_code: z.number().optional(),
    duration_ms: z.number().optional(),
  }),
  /** The agent, or its subagent (`agent_id`), wants to end its turn. */
  Base.extend({
    kind: z.literal('stop'),
    /** The last words of the agent; empty where the vendor does not send them. */
    text: z.string(),
    /** The agent goes on because an earlier stop was refused. */
    again: z.boolean(),
    /** Work that still runs in the background. */
    background: z.number(),
    /** The context is so full that going on makes no sense; absent where the vendor does not say. */
    full_context: z.boolean().optional(),
  }),
  Base.extend({ kind: z.literal('compaction') }),
  Base.extend({ kind: z.literal('notification'), text: z.string(), type: z.string().optional() }),
  /** A turn or the whole session failed. */
  Base.extend({ kind: z.literal('failure'), error_type: z.string(), message: z.string() }),
  Base.extend({
    kind: z.literal('usage'),
    model: z.string().optional(),
    input_tokens: z.number(),
    output_tokens: z.number(),
  }),
  /** An event that this version does not know. It is recorded and never decided. */
  Base.extend({ kind: z.literal('unknown') }),
])
export type HookEvent = z.infer<typeof HookEvent>
export type HookEventKind = HookEvent['kind']
export type HookEventOf<Kind extends HookEventKind> = Extract<HookEvent, { kind: Kind }>

/**
 * What pcc says to it.
 * - `none`: no opinion; the vendor goes on as if there were no hook.
 * - `allow`, `deny`, `ask` (a person, in the vendor's own dialog): for `tool_before` and `permission`. `input` replaces the call's input
 *   and is used only to answer a question.
 * - `continue`: for `stop`: the agent is told why it is not done, and goes on.
 */
export const HookAnswer = z.object({
  schema_version: z.literal(HOOK_SCHEMA_VERSION),
  decision: z.enum(['none', 'allow', 'deny', 'ask', 'continue']),
  /** For the agent, except with `ask`, where the person reads it. */
  reason: z.string().optional(),
  input: z.record(z.string(), z.unknown()).optional(),
  /** Added to the agent's context: for `session_start`, `prompt` and `tool_after`. */
  context: z.string().optional(),
  /** Shown to the person in the vendor's terminal, not to the agent. */
  notice: z.string().optional(),
})
export type HookAnswer = z.infer<typeof HookAnswer>

export const NO_OPINION: HookAnswer = { schema_version: HOOK_SCHEMA_VERSION, decision: 'none' }

/** What `pcc hook` prints and returns: the answer in the vendor's words. */
export const HookOutput = z.object({ stdout: z.string(), stderr: z.string(), exit: z.number() })
export type HookOutput = z.infer<typeof HookOutput>

/** What happens to an answer that a vendor has no words for. `silence` leaves the call to the vendor's own policy. */
export type Degraded = 'kept' | 'silence' | 'deny'

/** What one vendor's hooks can do, for a range of its versions. Everything that differs between vendors is said here, as data. */
export interface HookManifest {
  vendor: HookVendor
  name: string
  /** The versions with which each line was seen: `run` with the real program, `docs` only read. */
  verified: { by: 'run' | 'docs'; versions: string[] }
  /** The oldest and, if known, the newest version whose input this translator reads. */
  range: { from: string; to?: string }
  /** The vendor's events by our kinds. An event that is missing here does not reach a hook. */
  events: Partial<Record<Exclude<HookEventKind, 'unknown'>, string[]>>
  /** How each decision is said before a call (`tool_before`) and when the vendor would ask (`permission`). */
  decisions: Record<'tool_before' | 'permission', Record<'allow' | 'deny' | 'ask', Degraded>>
  /** `ask` becomes `deny` in these modes of the vendor, where silence would let the call run; `unknown` stands for a mode that it does not say. */
  runsUnasked: string[]
  /** Whether a stop can be refused, context added, and a notice shown to the person. */
  stops: boolean
  context: HookEventKind[]
  notices: boolean
  /** How a question of the agent is answered: by its input, or by refusing it with the answers as the reason. */
  questions: 'input' | 'refusal' | false
  /** Whether `cwd` in an event before a call is the session's folder, or the one that the model chose for the call. */
  cwd: 'session' | 'call'
  /** What becomes of a call when the hook ends with an error, outlives its timeout, or prints nonsense, as installed by us. */
  failures: Record<'crash' | 'hang' | 'nonsense', 'blocks' | 'runs'>
  /** `runs` if any of the failures lets a call run. */
  onFailure: 'blocks' | 'runs'
  /** The vendor's own policy that must stand behind ours where `onFailure` is `runs`, for a person. */
  behind?: string
  /** Seconds that the vendor gives a hook as installed by us, by event kind; others have `other`. */
  timeouts: Partial<Record<HookEventKind, number>> & { other: number }
  /** Whether it reads a settings file with comments; if not, it ignores the whole file, and with it our hooks. */
  comments: boolean
  /** What a person must know or do before the hooks work, for example the vendor's own trust of hooks. */
  needs?: string
}
