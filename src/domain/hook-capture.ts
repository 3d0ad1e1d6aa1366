import * as z from 'zod'
import { HOOK_VENDORS, type HookVendor } from './hooks.ts'
import { Risk } from './session.ts'

// What a hook reported without the daemon is read from a file that an agent may have written: no count is absurd, and no text is long.
const Text = z.string().max(20_000)
const Count = z.int().min(0).max(1_000_000_000)
const Ms = z.number().nullable()
const Dollars = z.number().min(0).max(100_000)

/** What every captured event says of its origin. `id` is given where the event happened: the same id is stored once. */
const Base = z.object({
  /** Events of earlier versions have none. */
  schema_version: z.literal(1).optional(),
  id: Text,
  vendor: z.enum(HOOK_VENDORS),
  /** The vendor's id of the conversation. */
  session: Text,
  project: Text,
  /** Set if a subagent caused it. */
  subagent: Text.optional(),
  call_id: Text.optional(),
  /** Of the agent, where it has one. */
  role: z.string().max(50).optional(),
  /** The task that the person named last in the conversation, where that is known. */
  named_task: Text.optional(),
})

export type CapturedOrigin = z.infer<typeof Base>

/** What an agent did that pcc did not start, by the names and fields of its hooks. Texts are capped and without secrets. */
export const Captured = z.discriminatedUnion('type', [
  Base.extend({ type: z.literal('tool_use_start'), tool_name: Text, parameters: Text }),
  Base.extend({ type: z.literal('tool_use_complete'), tool_name: Text, result: Text, duration_ms: Ms }),
  Base.extend({ type: z.literal('tool_error'), tool_name: Text, error_message: Text }),
  Base.extend({ type: z.literal('file_read'), file_path: Text }),
  /** Hashes of the whole file; null if it could not be read then. */
  Base.extend({
    type: z.literal('file_edit'),
    file_path: Text,
    old_hash: Text.nullable(),
    new_hash: Text.nullable(),
    lines_changed: Count,
  }),
  Base.extend({ type: z.literal('file_write'), file_path: Text, content_size: Count }),
  Base.extend({ type: z.literal('session_start'), agent_id: Text, working_directory: Text }),
  Base.extend({ type: z.literal('session_complete'), agent_id: Text, result: Text }),
  Base.extend({
    type: z.literal('session_error'),
    agent_id: Text,
    error_type: Text,
    error_message: Text,
  }),
  Base.extend({ type: z.literal('bash_command'), command: Text, working_dir: Text }),
  Base.extend({
    type: z.literal('bash_output'),
    command: Text,
    exit_code: z.number().nullable(),
    stdout: Text,
    stderr: Text,
    duration_ms: Ms,
  }),
  Base.extend({ type: z.literal('limit'), error_type: Text, error_message: Text }),
  Base.extend({
    type: z.literal('usage'),
    model: Text.optional(),
    input_tokens: Count,
    output_tokens: Count,
    /** By the vendor's list price; absent if it is not known. */
    cost_usd: Dollars.optional(),
    /** Of the whole conversation so far, as the vendor itself counted it. */
    total_cost_usd: Dollars.optional(),
  }),
  /** Our own verdict on a call. */
  Base.extend({
    type: z.literal('call_decided'),
    tool_name: Text,
    verdict: z.enum(['allow', 'deny', 'ask']),
    risk: Risk,
    reason: Text,
    by: Text,
  }),
  /** Any other event of the vendor: a prompt, a stop, a notification, or one that this version does not know. */
  Base.extend({ type: z.literal('other'), event: Text }),
])
export type Captured = z.infer<typeof Captured>

/** Events from agents that pcc did not start. The subject is the observed session. */
export const hookEvents = {
  /** A hook reported something. */
  'hook.captured': Captured,
  /** An agent told its person something. */
  'agent.notified': z.object({ vendor: z.string(), project: z.string(), text: z.string(), type: z.string().nullish() }),
}

/** A session of an agent that pcc did not start, as far as its hooks tell. */
export interface ObservedSession {
  id: string
  vendor: HookVendor
  /** The vendor's id of the conversation. */
  vendor_session: string
  project: string
  model: string | null
  started_at: number
  last_at: number
  ended_at: number | null
  /** The vendor's word for how it ended; `gone` if its process is. */
  ended_as: string | null
  /** The vendor's process, where the system tells. */
  pid: number | null
  start_time: string | null
  calls: number
  denied: number
  input_tokens: number
  output_tokens: number
  /** Null if it is not known: the price of a model is missing. */
  cost_usd: number | null
  /** 1 if list prices are in it, 0 if the vendor itself counted all of it. */
  cost_estimated: 0 | 1
}

/** An observed session that is open. */
export interface ObservedView extends Omit<ObservedSession, 'cost_estimated'> {
  cost_estimated: boolean
  /** How much of an hour's tokens all such sessions of its vendor used in the last hour, as an estimate. */
  quota: number
}

/** One thing that a hook reported, and where its session is. */
export const CapturedRow = z.object({
  at: z.int().min(0),
  /** The observed session's id. */
  subject: Text,
  body: Captured,
  /** What is known of the session apart from the event. */
  about: z.object({ pid: z.int().min(0).nullable(), start_time: Text.nullable(), model: Text.nullable() }),
})
export type CapturedRow = z.infer<typeof CapturedRow>
