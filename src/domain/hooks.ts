import { isObject } from '../base/json.ts'

/**
 * Hooks of agents that pcc did not start. A vendor's program runs `pcc hook <vendor> <event>` and waits for the answer. A translator in
 * `src/agents/hooks` turns what the vendor sends into a `HookEvent` and a `HookAnswer` into what the vendor understands; everything
 * between the two knows no vendor.
 */
export const HOOK_SCHEMA_VERSION = 1

export const HOOK_VENDORS = ['claude', 'codex', 'gemini', 'copilot'] as const
export type HookVendor = (typeof HOOK_VENDORS)[number]

/** The session of a call that `pcc hooks doctor` makes up. It is answered like any other, and not recorded. */
export const DOCTOR_SESSION = 'pcc-hooks-doctor'

/** A task of pcc that a person names in a prompt. */
export const TASK_ID = /\bt-[0-9a-f]{6}\b/

/** The name of a role (`AGENT_ROLE`, the type of a subagent): `conductor`, `section-leader`; undefined if it is no name. */
export function roleName(text: string | undefined): string | undefined {
  const word = text
    ?.trim()
    .toLowerCase()
    .replace(/[\s_]+/g, '-')
  return word !== undefined && /^[a-z][a-z0-9-]{0,49}$/.test(word) ? word : undefined
}

/** The role of the agent that an event is about. None of it can allow anything: a project's settings may set the environment. */
export function roleOf(
  { agent_id, agent_type }: Pick<HookEvent, 'agent_id' | 'agent_type'>,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  return roleName(agent_id === undefined ? env['AGENT_ROLE'] : agent_type)
}

// Events are checked by hand and not with zod: a hook that decides without the daemon must not load a library (docs/adr/0005).
type Check<Value> = (value: unknown) => value is Value
const text = (value: unknown): value is string => typeof value === 'string'
/** An id or a name. None of any vendor is nearly as long. */
const word = (value: unknown): value is string => text(value) && value.length <= 500
const folder = (value: unknown): value is string => text(value) && value.length <= 5_000
const number = (value: unknown): value is number => Number.isFinite(value)
const flag = (value: unknown): value is boolean => typeof value === 'boolean'
const parts = (value: unknown): value is { tool: string; input: Record<string, unknown> }[] =>
  Array.isArray(value) && value.every(part => isObject(part) && text(part['tool']) && isObject(part['input']))
const streams = (value: unknown): value is { stdout: string; stderr: string } =>
  isObject(value) && text(value['stdout']) && text(value['stderr'])
const vendor = (value: unknown): value is HookVendor => HOOK_VENDORS.some(name => name === value)

function maybe<Value>(check: Check<Value>): Check<Value | undefined> {
  return (value): value is Value | undefined => value === undefined || check(value)
}

const Base = {
  vendor,
  /** The vendor's own name of the event. */
  native: word,
  /** The vendor's id of the conversation. */
  session: word,
  cwd: folder,
  /** Set if a subagent caused the event. */
  agent_id: maybe(word),
  agent_type: maybe(word),
  /** The vendor's own file of the conversation. */
  transcript: maybe(folder),
  /** The vendor's mode, for example `bypassPermissions` or `yolo`; absent where it does not say. */
  permission_mode: maybe(word),
  /** Of the vendor's program, where it says so. */
  version: maybe(word),
}

const Call = {
  ...Base,
  /** Absent where the vendor does not say which call it is about. */
  call_id: maybe(word),
  /** The tool and its input in our terms, as `policy` classifies them; a tool that we do not know is `unknown:execute:` and the vendor's name. */
  tool: text,
  input: isObject,
  /**
   * Set if the call stands for several, for example a patch of two files: each of them must be allowed. `tool` is then a name that no
   * policy knows, so whoever ignores the parts judges the call as the worst it could be.
   */
  parts: maybe(parts),
}

/** What happened in the agent. Each kind has its own features (`src/supervisor/hooks`). */
const Kinds = {
  session_start: { ...Base, source: text, model: maybe(word) },
  session_end: { ...Base, reason: text },
  prompt: { ...Base, text },
  /** A call is about to run. */
  tool_before: Call,
  /** The vendor is about to ask a person about a call. */
  permission: Call,
  tool_after: {
    ...Call,
    ok: flag,
    /** What the tool returned, as text; capped by the translator. */
    output: text,
    /** The two streams of a command, where the vendor keeps them apart. */
    streams: maybe(streams),
    exit_code: maybe(number),
    duration_ms: maybe(number),
  },
  /** The agent, or its subagent (`agent_id`), wants to end its turn. */
  stop: {
    ...Base,
    /** The last words of the agent; empty where the vendor does not send them. */
    text,
    /** The agent goes on because an earlier stop was refused. */
    again: flag,
    /** Work that still runs in the background. */
    background: number,
    model: maybe(word),
  },
  compaction: Base,
  notification: { ...Base, text, type: maybe(text) },
  /** A turn or the whole session failed. */
  failure: { ...Base, error_type: text, message: text },
  usage: {
    ...{ ...Base, model: maybe(word), input_tokens: number, output_tokens: number },
    /** What it cost: by list prices, and the whole conversation by the vendor's own count, where either is known. */
    ...{ cost_usd: maybe(number), total_cost_usd: maybe(number) },
  },
  /** An event that this version does not know. It is recorded and never decided. */
  unknown: Base,
}

type ValueOf<C> = C extends Check<infer Value> ? Value : never
type Checked<F> = { [K in keyof F as undefined extends ValueOf<F[K]> ? never : K]: ValueOf<F[K]> } & {
  [K in keyof F as undefined extends ValueOf<F[K]> ? K : never]?: ValueOf<F[K]>
}

export type HookEventKind = keyof typeof Kinds
export type HookEvent = {
  [Kind in HookEventKind]: { schema_version: typeof HOOK_SCHEMA_VERSION; kind: Kind } & Checked<(typeof Kinds)[Kind]>
}[HookEventKind]
export type HookEventOf<Kind extends HookEventKind> = Extract<HookEvent, { kind: Kind }>

/** The event with these fields; undefined if one is missing or wrong. Fields that we do not know are dropped. */
export function checkHookEvent(kind: HookEventKind, given: Record<string, unknown>): HookEvent | undefined {
  const kept: Record<string, unknown> = { schema_version: HOOK_SCHEMA_VERSION, kind }
  for (const [name, check] of Object.entries(Kinds[kind])) {
    const value = Object.hasOwn(given, name) ? (given[name] ?? undefined) : undefined
    if (!check(value)) return undefined
    if (value !== undefined) kept[name] = value
  }
  return kept as HookEvent
}

/**
 * What pcc says to it.
 * - `none`: no opinion; the vendor goes on as if there were no hook.
 * - `allow`, `deny`, `ask` (a person, in the vendor's own dialog): for `tool_before` and `permission`. `input` replaces the call's input
 *   and is used only to answer a question.
 * - `continue`: for `stop`: the agent is told why it is not done, and goes on.
 */
export interface HookAnswer {
  schema_version: typeof HOOK_SCHEMA_VERSION
  decision: 'none' | 'allow' | 'deny' | 'ask' | 'continue'
  /** For the agent, except with `ask`, where the person reads it. */
  reason?: string | undefined
  input?: Record<string, unknown> | undefined
  /** Added to the agent's context: for `session_start`, `prompt` and `tool_after`. */
  context?: string | undefined
  /** Shown to the person in the vendor's terminal, not to the agent. */
  notice?: string | undefined
}

export const NO_OPINION: HookAnswer = { schema_version: HOOK_SCHEMA_VERSION, decision: 'none' }

/** What `pcc hook` prints and returns: the answer in the vendor's words. */
export interface HookOutput {
  stdout: string
  stderr: string
  exit: number
}

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
  /** The versions of `HookEvent` and `HookAnswer` that this translator speaks. An answer of any other version refuses the call. */
  schemas: { from: number; to: number }
  /** The vendor's events by our kinds. An event that is missing here does not reach a hook. */
  events: Partial<Record<Exclude<HookEventKind, 'unknown'>, string[]>>
  /** How each decision is said before a call (`tool_before`) and when the vendor would ask (`permission`). */
  decisions: Record<'tool_before' | 'permission', Record<'allow' | 'deny' | 'ask', Degraded>>
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
  /** The vendor's own policy that must stand behind ours where a failure lets a call run, for a person. */
  behind?: string
  /** Seconds that the vendor gives a hook as installed by us, by event kind; others have `other`. */
  timeouts: Partial<Record<HookEventKind, number>> & { other: number }
  /** Whether it reads a settings file with comments; if not, it ignores the whole file, and with it our hooks. */
  comments: boolean
  /** What a person must know or do before the hooks work, for example the vendor's own trust of hooks. */
  needs?: string
}
