import * as z from 'zod'
import { HOOK_VENDORS, type HookVendor } from './hooks.ts'
import { Risk } from './session.ts'

/** What every captured event says of its origin. `id` is given where the event happened: the same id is stored once. */
const Base = z.object({
  id: z.string(),
  vendor: z.enum(HOOK_VENDORS),
  /** The vendor's id of the conversation. */
  session: z.string(),
  project: z.string(),
  /** Set if a subagent caused it. */
  subagent: z.string().optional(),
  call_id: z.string().optional(),
})

const Ms = z.number().nullable()

/** What an agent did that pcc did not start, by the names and fields of its hooks. Texts are capped and without secrets. */
export const Captured = z.discriminatedUnion('type', [
  Base.extend({ type: z.literal('tool_use_start'), tool_name: z.string(), parameters: z.string() }),
  Base.extend({ type: z.literal('tool_use_complete'), tool_name: z.string(), result: z.string(), duration_ms: Ms }),
  Base.extend({ type: z.literal('tool_error'), tool_name: z.string(), error_message: z.string() }),
  Base.extend({ type: z.literal('file_read'), file_path: z.string() }),
  /** Hashes of the whole file; null if it could not be read then. */
  Base.extend({
    type: z.literal('file_edit'),
    file_path: z.string(),
    old_hash: z.string().nullable(),
    new_hash: z.string().nullable(),
    lines_changed: z.number(),
  }),
  Base.extend({ type: z.literal('file_write'), file_path: z.string(), content_size: z.number() }),
  Base.extend({ type: z.literal('session_start'), agent_id: z.string(), working_directory: z.string() }),
  Base.extend({ type: z.literal('session_complete'), agent_id: z.string(), result: z.string() }),
  Base.extend({
    type: z.literal('session_error'),
    agent_id: z.string(),
    error_type: z.string(),
    error_message: z.string(),
  }),
  Base.extend({ type: z.literal('bash_command'), command: z.string(), working_dir: z.string() }),
  Base.extend({
    type: z.literal('bash_output'),
    command: z.string(),
    exit_code: z.number().nullable(),
    stdout: z.string(),
    stderr: z.string(),
    duration_ms: Ms,
  }),
  Base.extend({ type: z.literal('limit'), error_type: z.string(), error_message: z.string() }),
  Base.extend({
    type: z.literal('usage'),
    model: z.string().optional(),
    input_tokens: z.number(),
    output_tokens: z.number(),
  }),
  /** Our own verdict on a call. */
  Base.extend({
    type: z.literal('call_decided'),
    tool_name: z.string(),
    verdict: z.enum(['allow', 'deny', 'ask']),
    risk: Risk,
    reason: z.string(),
    by: z.string(),
  }),
  /** Any other event of the vendor: a prompt, a stop, a notification, or one that this version does not know. */
  Base.extend({ type: z.literal('other'), event: z.string() }),
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
}

/** One thing that a hook reported, and where its session is. */
export const CapturedRow = z.object({
  at: z.number(),
  /** The observed session's id. */
  subject: z.string(),
  body: Captured,
  /** What is known of the session apart from the event. */
  about: z.object({ pid: z.number().nullable(), start_time: z.string().nullable(), model: z.string().nullable() }),
})
export type CapturedRow = z.infer<typeof CapturedRow>
