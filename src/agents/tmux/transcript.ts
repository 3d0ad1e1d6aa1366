import { type Dirent, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { isObject } from '../../base/json.ts'
import { SYNTHETIC, toMilliseconds } from '../claude/messages.ts'
import { fileSize, TranscriptReader } from '../json-lines.ts'

/**
 * A line of Claude Code's record as the message that its library would have sent: the same parts under nearly the same names.
 * Undefined for lines that are no messages of the conversation itself (notes, snapshots, messages of subagents).
 */
export function toMessage(line: unknown): Record<string, unknown> | undefined {
  if (!isObject(line) || line['isSidechain'] === true || line['isMeta'] === true) return undefined
  if (line['type'] === 'assistant') return { ...line, api_error_params: line['apiErrorParams'] }
  if (line['type'] !== 'user') return undefined
  return { ...line, tool_use_result: line['toolUseResult'] }
}

/** The failed request that Claude Code itself recorded in the model's place; undefined when the line reports none. */
export function readApiError(line: Record<string, unknown>): TranscriptApiError | undefined {
  const { message, isApiErrorMessage, apiErrorStatus, apiError, errorDetails } = line
  if (isApiErrorMessage !== true || !isObject(message) || message['model'] !== SYNTHETIC) return undefined
  const [first] = Array.isArray(message['content']) ? message['content'] : []
  return {
    text: isObject(first) ? String(first['text'] ?? '') : '',
    status: typeof apiErrorStatus === 'number' ? apiErrorStatus : undefined,
    code: typeof apiError === 'string' ? apiError : undefined,
    isTooLong: apiErrorStatus === 400 && /prompt is too long/i.test(String(errorDetails ?? '')),
  }
}

export interface TranscriptApiError {
  text: string
  status: number | undefined
  /** The vendor's own error code. */
  code: string | undefined
  /** The conversation is longer than the model can take. */
  isTooLong: boolean
}

/** Whether the line says that the turn was cut short from the keyboard. */
export function isInterruption(line: Record<string, unknown>): boolean {
  if (line['type'] !== 'user' || !isObject(line['message'])) return false
  const { content } = line['message'] as { content?: unknown }
  const texts = Array.isArray(content) ? content.map(part => (isObject(part) ? part['text'] : undefined)) : [content]
  return texts.some(text => typeof text === 'string' && text.startsWith('[Request interrupted by user'))
}

/** How a turn in a terminal ended. */
export interface TmuxTurnEnd {
  /**
   * A hook reports `completed` and `failed`. In the other cases the agent became idle without a hook: because it was told to, or,
   * `by-person`, because somebody pressed Escape.
   */
  how: 'completed' | 'failed' | 'interrupted' | 'paused' | 'parked' | 'capped' | 'by-person'
  text: string
}

/** The result message that the vendor's library would have sent. `error` is the error in the agent's record. */
export function buildResult(
  { how, text }: TmuxTurnEnd,
  error: TranscriptApiError | undefined,
): Record<string, unknown> {
  const isFailed = how === 'failed'
  return {
    ...{ type: 'result', subtype: 'success', is_error: isFailed, result: isFailed ? (error?.text ?? '') : text },
    terminal_reason: isFailed && error?.isTooLong ? 'prompt_too_long' : REASONS[how],
    ...(isFailed && { api_error_status: error?.status, api_error: error?.code }),
  }
}

const REASONS: Record<TmuxTurnEnd['how'], string> = {
  completed: 'completed',
  failed: 'api_error',
  interrupted: 'aborted_tools',
  'by-person': 'aborted_tools',
  paused: 'hook_stopped',
  parked: 'hook_stopped',
  capped: 'max_turns',
}

const Window = z.object({ used_percentage: z.number(), resets_at: z.number().optional() })

/** The input of the status line command that is read here. */
const StatusLine = z.object({
  cost: z.object({ total_cost_usd: z.number() }).optional().catch(undefined),
  context_window: z.object({ context_window_size: z.number() }).optional().catch(undefined),
  rate_limits: z.record(z.string(), Window.nullable()).nullish().catch(undefined),
})

export interface AgentStatus {
  /** The cost of the whole conversation, including the time before this process. */
  costUsd: number | undefined
  /** The size of the model's context window. */
  contextWindow: number | undefined
  /** How full the account's windows are. */
  windows: Record<string, { utilization: number; resetsAt?: number }> | undefined
}

/** Reads the input of the status line; fields that are not understood are undefined. */
export function readStatus(line: unknown): AgentStatus {
  const { cost, context_window, rate_limits } = StatusLine.safeParse(line).data ?? {}
  const windows = Object.entries(rate_limits ?? {}).flatMap(([name, window]) =>
    window ? [[name, readUsage(window)]] : [],
  )
  return {
    costUsd: cost?.total_cost_usd,
    contextWindow: context_window?.context_window_size,
    windows: windows.length === 0 ? undefined : Object.fromEntries(windows),
  }
}

function readUsage({ used_percentage, resets_at }: z.infer<typeof Window>) {
  return { utilization: used_percentage / 100, ...(resets_at !== undefined && { resetsAt: toMilliseconds(resets_at) }) }
}

/** The conversation's own record, and how far the records of its subagents were read. */
export interface SubagentPosition {
  transcript?: string | undefined
  offset: number
  /** Offsets by the file's path in the subagents' folder. */
  subagents?: Record<string, number> | undefined
}

/**
 * Reads what was added to the records of subagents. Claude Code writes each into a file of its own, in a folder beside the record of
 * the conversation that started it: the calls of a subagent are there and nowhere else.
 */
export class SubagentRecords {
  #transcript: string | undefined
  /** The size of the conversation's own record when it was first followed. */
  #past = 0
  #pastResults: string[] | undefined
  #readers = new Map<string, TranscriptReader>()

  constructor({ transcript, offset, subagents = {} }: SubagentPosition = { offset: 0 }) {
    this.#transcript = transcript
    this.#past = offset
    for (const [name, from] of Object.entries(subagents)) this.#open(name, from)
  }

  get position(): Record<string, number> {
    return Object.fromEntries([...this.#readers].map(([name, reader]) => [name, reader.position.offset]))
  }

  /** Switches to another record of the conversation. `skip`: its present content was reported before. */
  follow(transcript: string, { skip = false } = {}): void {
    if (transcript === this.#transcript) return
    this.#transcript = transcript
    this.#past = skip ? fileSize(transcript) : 0
    this.#pastResults = undefined
    this.#readers = new Map()
    if (skip) for (const name of this.#names()) this.#open(name, fileSize(join(this.#folder, name)))
  }

  /** New messages of subagents, including the results of their calls. */
  read(): Record<string, unknown>[] {
    if (this.#transcript === undefined) return []
    for (const name of this.#names()) if (!this.#readers.has(name)) this.#open(name, 0)
    return [...this.#readers.values()].flatMap(reader => reader.read()).filter(isOfSubagent)
  }

  /**
   * Calls whose results were there before this record was followed. A subagent that begins with the whole conversation so far has copies
   * of them in its own record.
   */
  pastCalls(): string[] {
    this.#pastResults ??= this.#readPast()
    return this.#pastResults
  }

  #readPast(): string[] {
    const reader = new TranscriptReader({ path: this.#transcript, offset: 0, end: this.#past })
    return reader.read().filter(isMessage).flatMap(callsAnswered)
  }

  get #folder(): string {
    return join((this.#transcript ?? '').replace(/\.jsonl$/, ''), 'subagents')
  }

  #open(name: string, offset: number): void {
    this.#readers.set(name, new TranscriptReader({ path: join(this.#folder, name), offset }))
  }

  /** The agent can write in this folder: no link is followed, and of a great many entries only the first are looked at. */
  #names(): string[] {
    const names: string[] = []
    const waiting = isLink(this.#folder) ? [] : ['']
    let left = MOST_ENTRIES
    for (let at = waiting.shift(); at !== undefined && left > 0; at = waiting.shift()) {
      for (const entry of listEntries(join(this.#folder, at)).slice(0, left)) {
        left -= 1
        const name = join(at, entry.name)
        if (entry.isDirectory()) waiting.push(name)
        else if (entry.isFile() && name.endsWith('.jsonl')) names.push(name)
      }
    }
    return names
  }
}

/** More than the subagents of the longest conversation. */
const MOST_ENTRIES = 5_000

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
}

/** The entries of a folder; none where it is missing: it is created with the first subagent. */
function listEntries(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

/**
 * Whether a line of a record is a message of a subagent or a result of its call. Lines that Claude Code adds by itself do not count: for a
 * call that was cut off by its own death it writes a result when the conversation goes on.
 */
export function isOfSubagent(line: unknown): line is Record<string, unknown> {
  return isMessage(line) && line['isSidechain'] === true && line['isMeta'] !== true
}

function isMessage(line: unknown): line is Record<string, unknown> {
  if (typeof line !== 'object' || line === null || !('type' in line)) return false
  return line.type === 'user' || line.type === 'assistant'
}

function callsAnswered({ message }: Record<string, unknown>): string[] {
  const { content } = (message ?? {}) as { content?: unknown }
  if (!Array.isArray(content)) return []
  return content.flatMap(block => (block?.type === 'tool_result' ? [String(block.tool_use_id)] : []))
}
