import { createHash } from 'node:crypto'
import { isAbsolute, join } from 'node:path'
import { readRegularFileNow } from '../../base/files.ts'
import { checksum } from '../../base/ids.ts'
import { redact, redactText } from '../../base/redact.ts'
import type { Captured, CapturedRow } from '../../domain/hook-capture.ts'
import type { HookEvent, HookEventOf } from '../../domain/hooks.ts'
import { readToolUse } from '../../policy/classify/tool-use.ts'
import type { Decision } from '../../policy/verdict/decide.ts'
import type { VendorProcess } from './vendor-process.ts'

/** More of a text than this is not stored: the vendor's own transcript has the rest. */
const MOST_CHARS = 4_000
/** A larger file is not hashed. */
const MOST_HASHED_BYTES = 4_000_000
/** Edits that have begun and not ended; an agent has a few at once. */
const MOST_EDITS = 200

/** An event and what is known besides. */
export interface CaptureInput {
  /** Given by the hook that reported it. */
  id: string
  at: number
  event: HookEvent
  project: string
  decision?: Decision | undefined
  process?: VendorProcess | undefined
}

/** Capture without the fields that all share. */
type Part = Captured extends infer Each ? (Each extends Captured ? Omit<Each, SharedField> : never) : never
type SharedField = 'id' | 'vendor' | 'session' | 'project' | 'subagent' | 'call_id'

export interface Capture {
  /** What an event is stored as. Nothing is stored here. */
  describe(input: CaptureInput): CapturedRow[]
}

/** The id of an observed session: the same for the same conversation, whoever saw it first. */
export function observedId({ vendor, session }: Pick<HookEvent, 'vendor' | 'session'>): string {
  return `o-${checksum(`${vendor}\0${session}`)}`
}

/** Turns events into what is stored: texts are capped, and secrets are removed. */
export function openCapture(): Capture {
  /** Hashes of files before they are edited. */
  const before = new Map<string, string | null>()
  return {
    describe({ id, at, event, project, decision, process }) {
      const { vendor, session, agent_id } = event
      const call = 'call_id' in event && event.call_id !== undefined ? { call_id: event.call_id } : {}
      const shared = { vendor, session, project, ...(agent_id !== undefined && { subagent: agent_id }), ...call }
      const model = event.kind === 'session_start' || event.kind === 'usage' ? (event.model ?? null) : null
      const about = { pid: process?.pid ?? null, start_time: process?.startTime ?? null, model }
      const parts = [...describeEvent(event, before), ...(decision ? [describeDecision(event, decision)] : [])]
      return parts.map((part, index) => {
        const body = { ...shared, ...part, id: parts.length === 1 ? id : `${id}.${index}` } as Captured
        return { at, subject: observedId(event), body, about }
      })
    },
  }
}

function describeEvent(event: HookEvent, before: Map<string, string | null>): Part[] {
  switch (event.kind) {
    case 'session_start':
      return [{ type: 'session_start', agent_id: event.session, working_directory: event.cwd }]
    case 'session_end':
      return [{ type: 'session_complete', agent_id: event.session, result: cap(event.reason) }]
    case 'failure':
      return describeFailure(event)
    case 'usage': {
      const { input_tokens, output_tokens, model } = event
      return [{ type: 'usage', input_tokens, output_tokens, ...(model !== undefined && { model }) }]
    }
    case 'tool_before':
      return describeStart(event, before)
    case 'tool_after':
      return describeResult(event, before)
    case 'permission':
    case 'prompt':
    case 'stop':
    case 'compaction':
    case 'notification':
    case 'unknown':
      return [{ type: 'other', event: cap(event.native) }]
  }
}

/** How vendors name a refusal because of a limit. */
const LIMIT = /rate.?limit|usage.?limit|quota|\b429\b|resource.?exhausted/i

function describeFailure({ session, error_type, message }: HookEventOf<'failure'>): Part[] {
  const error = { error_type: cap(error_type), error_message: cap(message) }
  const limit: Part[] = LIMIT.test(`${error_type} ${message}`) ? [{ type: 'limit', ...error }] : []
  return [{ type: 'session_error', agent_id: session, ...error }, ...limit]
}

function describeStart(event: HookEventOf<'tool_before'>, before: Map<string, string | null>): Part[] {
  const { tool, input, cwd } = event
  const use = readToolUse(tool, input)
  if (use.does === 'write') keepHash(before, keyOf(event, use.path), hashFile(resolveIn(cwd, use.path)))
  const start: Part = { type: 'tool_use_start', tool_name: tool, parameters: cap(JSON.stringify(redact(input))) }
  if (use.does !== 'command') return [start]
  return [start, { type: 'bash_command', command: cap(use.command), working_dir: cwd }]
}

function describeResult(event: HookEventOf<'tool_after'>, before: Map<string, string | null>): Part[] {
  const { tool, input, cwd, ok, output, exit_code = null, duration_ms = null } = event
  const use = readToolUse(tool, input)
  const text = cap(output)
  const ended: Part = ok
    ? { type: 'tool_use_complete', tool_name: tool, result: text, duration_ms }
    : { type: 'tool_error', tool_name: tool, error_message: text }
  if (use.does === 'command') {
    const [stdout, stderr] = ok ? [text, ''] : ['', text]
    return [ended, { type: 'bash_output', command: cap(use.command), exit_code, stdout, stderr, duration_ms }]
  }
  if (!ok) return [ended]
  if (use.does === 'read') return [ended, { type: 'file_read', file_path: use.path }]
  if (use.does !== 'write') return [ended]
  const { content, old_string, new_string } = input
  if (typeof content === 'string')
    return [ended, { type: 'file_write', file_path: use.path, content_size: Buffer.byteLength(content) }]
  const key = keyOf(event, use.path)
  const old_hash = before.get(key) ?? null
  before.delete(key)
  const new_hash = hashFile(resolveIn(cwd, use.path))
  const lines_changed = Math.max(countLines(old_string), countLines(new_string))
  return [ended, { type: 'file_edit', file_path: use.path, old_hash, new_hash, lines_changed }]
}

function describeDecision(event: HookEvent, { verdict, risk, reason, by }: Decision): Part {
  const tool_name = 'tool' in event ? event.tool : ''
  return { type: 'call_decided', tool_name, verdict, risk, reason: cap(reason), by }
}

function keyOf({ session, call_id }: HookEventOf<'tool_before' | 'tool_after'>, path: string): string {
  return `${session}\0${call_id ?? ''}\0${path}`
}

function keepHash(before: Map<string, string | null>, key: string, hash: string | null): void {
  before.set(key, hash)
  for (const oldest of [...before.keys()].slice(0, -MOST_EDITS)) before.delete(oldest)
}

function resolveIn(cwd: string, path: string): string {
  return isAbsolute(path) ? path : join(cwd, path)
}

/** Null for what is no ordinary file of a moderate size. */
function hashFile(path: string): string | null {
  const content = readRegularFileNow(path, MOST_HASHED_BYTES)
  return content === undefined ? null : createHash('sha256').update(content).digest('hex')
}

function countLines(text: unknown): number {
  return typeof text === 'string' && text !== '' ? text.split('\n').length : 0
}

/** Removes secrets before the cut: half a secret is no longer known as one. */
function cap(text: string): string {
  const clean = redactText(text.slice(0, MOST_CHARS * 4))
  return clean.length > MOST_CHARS ? `${clean.slice(0, MOST_CHARS).toWellFormed()}…` : clean
}

/** As many rows as one commit holds, and how long the first of them waits for others. */
const BATCH = 50
const WAIT_MS = 3

interface WaitingRows {
  rows: CapturedRow[]
  resolve(): void
  reject(error: unknown): void
}

/** Stores what hooks report in batches: hooks that come at once share one commit, and each is told after it. */
export function openCaptureQueue(store: (rows: CapturedRow[]) => Promise<unknown>): {
  add(rows: CapturedRow[]): Promise<void>
  drain(): Promise<void>
} {
  let waiting: WaitingRows[] = []
  let timer: NodeJS.Timeout | undefined
  let latest: Promise<unknown> = Promise.resolve()
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    const group = waiting
    waiting = []
    if (group.length === 0) return
    latest = store(group.flatMap(({ rows }) => rows)).then(
      () => {
        for (const { resolve } of group) resolve()
      },
      error => {
        for (const { reject } of group) reject(error)
      },
    )
  }
  return {
    add: rows =>
      new Promise((resolve, reject) => {
        waiting.push({ rows, resolve, reject })
        if (waiting.reduce((sum, each) => sum + each.rows.length, 0) >= BATCH) flush()
        else timer ??= setTimeout(flush, WAIT_MS)
      }),
    async drain() {
      flush()
      await latest
    },
  }
}
