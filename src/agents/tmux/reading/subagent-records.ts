import { type Dirent, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { sizeOf, TranscriptReader } from '../../wire/transcript.ts'

/** Where the conversation's own record is, and how far those of its subagents were read. */
export interface SubagentPosition {
  transcript?: string | undefined
  offset: number
  /** By the file's path in the folder of all of them. */
  subagents?: Record<string, number> | undefined
}

/**
 * Reads what was added to the records of subagents. Claude Code writes each into a file of its own, in a folder beside the record of
 * the conversation that began it: a call that a subagent made stands there and nowhere else.
 */
export class SubagentRecords {
  #transcript: string | undefined
  /** How much of the conversation's own record was there before anybody here read it. */
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

  /** The conversation has another record. `skip`: what is there already was told before. */
  follow(transcript: string, { skip = false } = {}): void {
    if (transcript === this.#transcript) return
    this.#transcript = transcript
    this.#past = skip ? sizeOf(transcript) : 0
    this.#pastResults = undefined
    this.#readers = new Map()
    if (skip) for (const name of this.#names()) this.#open(name, sizeOf(join(this.#folder, name)))
  }

  /** What subagents were told and said since, and what came of their calls. */
  read(): Record<string, unknown>[] {
    if (this.#transcript === undefined) return []
    for (const name of this.#names()) if (!this.#readers.has(name)) this.#open(name, 0)
    return [...this.#readers.values()].flatMap(reader => reader.read()).filter(isOfSubagent)
  }

  /**
   * Calls that had their results before this record was followed. A subagent that begins with the whole conversation so far has copies of
   * them in its own.
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

  #names(): string[] {
    try {
      return readdirSync(this.#folder, { recursive: true, withFileTypes: true }).flatMap(entry => this.#nameOf(entry))
    } catch {
      return [] // it is made with the first subagent
    }
  }

  #nameOf(entry: Dirent): string[] {
    if (!entry.name.endsWith('.jsonl')) return []
    return [join(entry.parentPath, entry.name).slice(this.#folder.length + 1)]
  }
}

/**
 * Whether a line of a record is something that a subagent said, or that came of its call. What Claude Code puts in by itself is not: about a
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
