import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AppPaths } from '../../base/app-paths.ts'
import { DAY_MS } from '../../base/clock.ts'
import { readRegularFileNow } from '../../base/files.ts'
import { checksum } from '../../base/ids.ts'
import { redact, redactText } from '../../base/redact.ts'
import type { Captured, CapturedOrigin, CapturedRow } from '../../domain/hook-capture.ts'
import { type HookEvent, type HookEventOf, TASK_ID } from '../../domain/hooks.ts'
import { readToolUse } from '../../policy/classify/tool-use.ts'
import type { Decision } from '../../policy/verdict/decide.ts'
import { KeptTexts } from './kept-texts.ts'
import type { VendorProcess } from './vendor-process.ts'

/** More of a text than this is not stored: the vendor's own transcript has the rest. */
const MOST_CHARS = 4_000
/** A larger file is not hashed. */
const MOST_HASHED_BYTES = 4_000_000
/** Calls that have begun and not ended; an agent has a few at once. */
const MOST_CALLS = 200
/** No call takes longer: the clock was set. */
const LONGEST_MS = DAY_MS

/** An event and what is known besides. */
export interface CaptureInput {
  /** Given by the hook that reported it. */
  id: string
  at: number
  event: HookEvent
  project: string
  role?: string | undefined
  decision?: Decision | undefined
  process?: VendorProcess | undefined
}

/** Capture without the fields that all share. */
type Part = Captured extends infer Each ? (Each extends Captured ? Omit<Each, keyof CapturedOrigin> : never) : never

export interface Capture {
  /** What an event is stored as. Nothing is stored here. */
  describe(input: CaptureInput): CapturedRow[]
}

/** The id of an observed session: the same for the same conversation, whoever saw it first. */
export function observedId({ vendor, session }: Pick<HookEvent, 'vendor' | 'session'>): string {
  return `o-${checksum(`${vendor}\0${session}`)}`
}

/** Turns events into what is stored: texts are capped, and secrets are removed. */
export function openCapture(paths: Pick<AppPaths, 'run'>): Capture {
  const before = new KeptTexts(paths, 'hook-calls')
  const tasks = new KeptTexts(paths, 'hook-tasks')
  return {
    describe({ id, at, event: reported, project, role, decision, process }) {
      const event = reported.kind === 'tool_after' ? withDuration(reported, at, before) : reported
      const { vendor, session, agent_id } = event
      const call = 'call_id' in event && event.call_id !== undefined ? { call_id: event.call_id } : {}
      const subject = observedId(event)
      const task = findTask(event, tasks)
      const shared = {
        ...{ vendor, session, project, ...(agent_id !== undefined && { subagent: agent_id }), ...call },
        ...(role !== undefined && { role }),
        ...(task !== undefined && { named_task: task }),
      }
      const model = event.kind === 'session_start' || event.kind === 'usage' ? (event.model ?? null) : null
      const about = { pid: process?.pid ?? null, start_time: process?.startTime ?? null, model }
      if (event.kind === 'tool_before' && decision?.verdict !== 'deny') {
        before.limit(MOST_CALLS)
        before.keep(timeKey(event), String(at))
        keepHashes(event, before)
      }
      const parts = [...describeEvent(event, before), ...(decision ? [describeDecision(event, decision)] : [])]
      return parts.map((part, index) => {
        const own = { schema_version: 1, id: parts.length === 1 ? id : `${id}.${index}` }
        const body = { ...shared, ...capTexts(part), ...own } as Captured
        return { at, subject, body, about }
      })
    },
  }
}

/** The task that the person named last in a conversation. */
function findTask(event: HookEvent, tasks: KeptTexts): string | undefined {
  const conversation = `${event.vendor}\0${event.session}`
  const [named] = (event.kind === 'prompt' && TASK_ID.exec(event.text)) || []
  if (named === undefined) return TASK_ID.exec(tasks.read(conversation) ?? '')?.[0]
  tasks.keep(conversation, named)
  return named
}

/** Most vendors do not say how long a call took, so the time since it was judged counts, the person's own answer included. */
function withDuration(event: HookEventOf<'tool_after'>, at: number, before: KeptTexts): HookEventOf<'tool_after'> {
  const began = before.take(timeKey(event))
  const took = at - Number(began ?? Number.NaN)
  return event.duration_ms === undefined && took >= 0 && took < LONGEST_MS ? { ...event, duration_ms: took } : event
}

function describeEvent(event: HookEvent, before: KeptTexts): Part[] {
  switch (event.kind) {
    case 'session_start':
      return [{ type: 'session_start', agent_id: event.session, working_directory: event.cwd }]
    case 'session_end':
      return [{ type: 'session_complete', agent_id: event.session, result: event.reason }]
    case 'failure':
      return describeFailure(event)
    case 'usage': {
      const { input_tokens, output_tokens, model, cost_usd, total_cost_usd } = event
      const costs = {
        ...(cost_usd !== undefined && { cost_usd }),
        ...(total_cost_usd !== undefined && { total_cost_usd }),
      }
      return [{ type: 'usage', input_tokens, output_tokens, ...(model !== undefined && { model }), ...costs }]
    }
    case 'tool_before':
      return describeStart(event)
    case 'tool_after':
      return describeResult(event, before)
    case 'permission':
    case 'prompt':
    case 'stop':
    case 'compaction':
    case 'notification':
    case 'unknown':
      return [{ type: 'other', event: event.native }]
  }
}

/** How vendors name a refusal because of a limit. */
const LIMIT = /rate.?limit|usage.?limit|quota|\b429\b|resource.?exhausted/i

function describeFailure({ session, error_type, message }: HookEventOf<'failure'>): Part[] {
  const error = { error_type, error_message: message }
  const limit: Part[] = LIMIT.test(`${error_type} ${message}`) ? [{ type: 'limit', ...error }] : []
  return [{ type: 'session_error', agent_id: session, ...error }, ...limit]
}

function describeStart({ tool, input, parts, cwd }: HookEventOf<'tool_before'>): Part[] {
  const use = readToolUse(tool, input)
  const parameters = JSON.stringify(redact(parts ?? input))
  const start: Part = { type: 'tool_use_start', tool_name: tool, parameters }
  return use.does === 'command' ? [start, { type: 'bash_command', command: use.command, working_dir: cwd }] : [start]
}

function describeResult(event: HookEventOf<'tool_after'>, before: KeptTexts): Part[] {
  const { tool, input, ok, output, exit_code = null, duration_ms = null } = event
  const ended: Part = ok
    ? { type: 'tool_use_complete', tool_name: tool, result: output, duration_ms }
    : { type: 'tool_error', tool_name: tool, error_message: output }
  const use = readToolUse(tool, input)
  if (use.does === 'command') {
    // Most vendors join the two streams.
    const streams = event.streams ?? (ok ? { stdout: output, stderr: '' } : { stdout: '', stderr: output })
    return [ended, { type: 'bash_output', command: use.command, exit_code, ...streams, duration_ms }]
  }
  return ok ? [ended, ...callsOf(event).flatMap(call => describeFile(event, call, before))] : [ended]
}

type CallEvent = HookEventOf<'tool_before' | 'tool_after'>
type Call = Pick<CallEvent, 'tool' | 'input'>

/** A patch stands for one call for each of its files. */
function callsOf(event: CallEvent): readonly Call[] {
  return event.parts?.length ? event.parts : [event]
}

function describeFile(event: CallEvent, { tool, input }: Call, before: KeptTexts): Part[] {
  const use = readToolUse(tool, input)
  if (use.does === 'read') return [{ type: 'file_read', file_path: use.path }]
  if (use.does !== 'write') return []
  const { content, old_string, new_string } = input
  if (typeof content === 'string')
    return [{ type: 'file_write', file_path: use.path, content_size: Buffer.byteLength(content) }]
  const kept = before.take(keyOf(event, use.path))
  const old_hash = kept !== undefined && /^[0-9a-f]{64}$/.test(kept) ? kept : null
  const new_hash = hashFile(resolve(event.cwd, use.path))
  const lines_changed = Math.max(countLines(old_string), countLines(new_string))
  return [{ type: 'file_edit', file_path: use.path, old_hash, new_hash, lines_changed }]
}

function describeDecision(event: HookEvent, { verdict, risk, reason, by }: Decision): Part {
  const tool_name = 'tool' in event ? event.tool : ''
  return { type: 'call_decided', tool_name, verdict, risk, reason, by }
}

function keepHashes(event: HookEventOf<'tool_before'>, before: KeptTexts): void {
  for (const { tool, input } of callsOf(event)) {
    const use = readToolUse(tool, input)
    const hash =
      use.does === 'write' && typeof input['content'] !== 'string' ? hashFile(resolve(event.cwd, use.path)) : null
    if (use.does === 'write' && hash !== null) before.keep(keyOf(event, use.path), hash)
  }
}

/** A vendor that does not say which call it is about repeats its input. */
function timeKey(event: CallEvent): string {
  return keyOf(event, `began ${event.tool} ${event.call_id === undefined ? JSON.stringify(event.input) : ''}`)
}

function keyOf({ vendor, session, call_id }: CallEvent, path: string): string {
  return `${vendor}\0${session}\0${call_id ?? ''}\0${path}`
}

/** Null for what is no ordinary file of a moderate size. */
function hashFile(path: string): string | null {
  const content = readRegularFileNow(path, MOST_HASHED_BYTES)
  return content === undefined ? null : hashText(content)
}

function hashText(text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex')
}

function countLines(text: unknown): number {
  return typeof text === 'string' && text !== '' ? text.split('\n').length : 0
}

/** Whatever the vendor sent, no text is stored whole. */
function capTexts(part: Part): Part {
  const entries = Object.entries(part).map(([key, value]) => [key, typeof value === 'string' ? cap(value) : value])
  return Object.fromEntries(entries) as Part
}

/** Removes secrets before the cut: half a secret is no longer known as one. */
function cap(text: string): string {
  const clean = redactText(text.slice(0, MOST_CHARS * 4))
  return clean.length > MOST_CHARS ? `${clean.slice(0, MOST_CHARS).toWellFormed()}…` : clean
}

/** As many rows as one commit holds. */
const BATCH = 50

/** A commit takes some milliseconds. */
const STORED_WITHIN_MS = 1_000

interface WaitingRows {
  rows: CapturedRow[]
  resolve(): void
}

interface CaptureQueueOptions {
  /** Keeps rows that the store has not taken in time; they may then be stored twice, by their ids once. */
  instead(rows: CapturedRow[]): void
  withinMs?: number
}

/**
 * Stores what hooks report, and answers each hook after the commit. A hook that comes alone does not wait for others. The busier the
 * daemon is, the more hooks it reads at once, and those share one commit. No agent waits for a store that is slow, locked or full.
 */
export function openCaptureQueue(
  store: (rows: CapturedRow[]) => Promise<unknown>,
  { instead, withinMs = STORED_WITHIN_MS }: CaptureQueueOptions,
): (rows: CapturedRow[]) => Promise<void> {
  let waiting: WaitingRows[] = []
  const flush = () => {
    const group = waiting
    waiting = []
    if (group.length === 0) return
    const rows = group.flatMap(each => each.rows)
    const late = sleep(withinMs, false, { ref: false })
    const stored = store(rows).then(() => true)
    void Promise.race([stored, late])
      .catch(() => false)
      .then(isStored => {
        if (!isStored) instead(rows)
      })
      .finally(() => {
        for (const { resolve } of group) resolve()
      })
  }
  return rows =>
    new Promise(resolve => {
      if (waiting.push({ rows, resolve }) === 1) setImmediate(flush)
      if (waiting.reduce((sum, each) => sum + each.rows.length, 0) >= BATCH) flush()
    })
}
