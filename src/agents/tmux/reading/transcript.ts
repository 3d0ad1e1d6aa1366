import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** A line holds a whole message, and a message can hold a picture. What is longer is passed over. */
const MAX_LINE_BYTES = 64 * 1024 * 1024
const CHUNK_BYTES = 256 * 1024
const NEWLINE = 10

/** Reads what was added to Claude Code's own record of a conversation, each line once; half a line waits for its end. */
export class TranscriptReader {
  #path: string | undefined
  #offset = 0

  constructor(at: { path?: string | undefined; offset: number }) {
    this.#path = at.path
    this.#offset = at.offset
  }

  get position(): { transcript?: string; offset: number } {
    return { ...(this.#path !== undefined && { transcript: this.#path }), offset: this.#offset }
  }

  /** The record may become another one: `/clear` begins a new conversation. `skip`: what is in it already was told before. */
  follow(path: string, { skip = false } = {}): void {
    if (path === this.#path) return
    this.#path = path
    this.#offset = skip ? sizeOf(path) : 0
  }

  read(): unknown[] {
    if (this.#path === undefined) return []
    const lines = linesFrom(this.#path, this.#offset)
    this.#offset += lines.reduce((sum, line) => sum + line.length + 1, 0)
    return lines.flatMap(parsed)
  }
}

/** The whole lines behind an offset. */
function linesFrom(path: string, offset: number): Buffer[] {
  const file = opened(path)
  if (file === undefined) return []
  try {
    const lines: Buffer[] = []
    let rest = Buffer.alloc(0)
    for (let at = offset; ; ) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
      const count = readSync(file, chunk, 0, CHUNK_BYTES, at)
      if (count === 0) return lines
      at += count
      rest = Buffer.concat([rest, chunk.subarray(0, count)])
      for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
        lines.push(rest.subarray(0, end))
        rest = rest.subarray(end + 1)
      }
      if (rest.length > MAX_LINE_BYTES) return lines
    }
  } finally {
    closeSync(file)
  }
}

function opened(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch {
    return undefined // it is written with the first message
  }
}

function sizeOf(path: string): number {
  const file = opened(path)
  if (file === undefined) return 0
  try {
    return fstatSync(file).size
  } finally {
    closeSync(file)
  }
}

function parsed(line: Buffer): unknown[] {
  try {
    return [JSON.parse(line.toString('utf8'))]
  } catch {
    return [] // not for us
  }
}
