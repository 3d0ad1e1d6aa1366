import { closeSync, fstatSync, readSync } from 'node:fs'
import { openRegularFile } from '../base/files.ts'
import { isObject, parseJson } from '../base/json.ts'

/** Far above the size of any sensible message: a file of that size is never sent whole. */
const MAX_LINE = 32_000_000

/** One line: a JSON object, or text that is not one. */
export type JsonLine = { message: Record<string, unknown> } | { garbage: string }

/** Cuts a stream of bytes into lines and parses each as JSON. A line that grows too long is dropped, not kept in memory. */
export async function* readJsonLines(input: AsyncIterable<Buffer>): AsyncGenerator<JsonLine> {
  let parts: Buffer[] = []
  let size = 0
  let isSkipping = false
  for await (const chunk of input) {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const line = isSkipping ? undefined : Buffer.concat([...parts, chunk.subarray(start, end)])
      start = end + 1
      parts = []
      size = 0
      isSkipping = false
      if (line && line.length > 0) yield parseLine(line.toString('utf8'))
    }
    if (isSkipping || start === chunk.length) continue
    parts.push(chunk.subarray(start))
    size += chunk.length - start
    if (size <= MAX_LINE) continue
    yield { garbage: `a line of more than ${MAX_LINE} bytes` }
    parts = []
    size = 0
    isSkipping = true
  }
  if (!isSkipping && parts.length > 0) yield parseLine(Buffer.concat(parts).toString('utf8'))
}

function parseLine(text: string): JsonLine {
  const value = parseJson(text)
  return isObject(value) ? { message: value } : { garbage: text.slice(0, 200) }
}

/** A line holds a whole message, and a message can hold a picture. A longer line is skipped, each byte read once. */
const MAX_LINE_BYTES = 64 * 1024 * 1024
const CHUNK_BYTES = 256 * 1024
const NEWLINE = 10

/** Reads the lines added to an agent's own record of a conversation, each once; half a line waits for its end. */
export class TranscriptReader {
  #path: string | undefined
  #offset = 0
  readonly #end: number
  readonly #mostBytes: number
  /** The offset is inside a line that is skipped. */
  #isSkipping = false

  /** `end`: where reading stops, even if the file is longer. */
  constructor(at: { path?: string | undefined; offset: number; end?: number }, mostBytes = MAX_LINE_BYTES) {
    this.#path = at.path
    this.#offset = at.offset
    this.#end = at.end ?? Number.POSITIVE_INFINITY
    this.#mostBytes = mostBytes
  }

  get position(): { transcript?: string; offset: number } {
    return { ...(this.#path !== undefined && { transcript: this.#path }), offset: this.#offset }
  }

  /** Switches to another record: `/clear` begins a new conversation. `skip`: its present content was reported before. */
  follow(path: string, { skip = false } = {}): void {
    if (path === this.#path) return
    this.#path = path
    this.#offset = skip ? fileSize(path) : 0
    this.#isSkipping = false
  }

  read(): unknown[] {
    if (this.#path === undefined) return []
    // The agent writes it with the first message.
    const file = openRegularFile(this.#path)
    if (file === undefined) return []
    try {
      return [...this.#lines(file)].flatMap(parseRecord)
    } finally {
      closeSync(file)
    }
  }

  /** The complete lines after the offset, which moves along with them. */
  *#lines(file: number): Generator<Buffer> {
    let pieces: Buffer[] = []
    let pending = 0
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
      const room = Math.min(CHUNK_BYTES, this.#end - this.#offset - pending)
      const count = room > 0 ? readSync(file, chunk, 0, room, this.#offset + pending) : 0
      if (count === 0) return
      let from = 0
      for (let end = chunk.indexOf(NEWLINE); end >= 0 && end < count; end = chunk.indexOf(NEWLINE, from)) {
        const line = Buffer.concat([...pieces, chunk.subarray(from, end)])
        this.#offset += line.length + 1
        if (!this.#isSkipping) yield line
        this.#isSkipping = false
        pieces = []
        pending = 0
        from = end + 1
      }
      pieces.push(chunk.subarray(from, count))
      pending += count - from
      if (pending <= this.#mostBytes && !this.#isSkipping) continue
      this.#offset += pending
      this.#isSkipping = true
      pieces = []
      pending = 0
    }
  }
}

/** The size of a file; 0 when it does not exist. */
export function fileSize(path: string): number {
  const file = openRegularFile(path)
  if (file === undefined) return 0
  try {
    return fstatSync(file).size
  } finally {
    closeSync(file)
  }
}

function parseRecord(line: Buffer): unknown[] {
  const value = parseJson(line.toString('utf8'))
  return value === undefined ? [] : [value]
}
