import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { AppError, messageOf } from '../base/errors.ts'
import { replaceEntry } from '../base/files.ts'
import type { MemoryRecord } from '../domain/memory.ts'

/** A longer line is refused. */
export const MOST_LINE_BYTES = 65_536
/** A segment that is larger gets no more lines. Forgetting writes a whole segment anew, so that it should not be much larger. */
const ROTATE_BYTES = 1_000_000
/** Read at once. */
const CHUNK_BYTES = 1_048_576
/** Most lines are shorter. */
const LINE_CHUNK_BYTES = 4_096
const TOO_LONG = '…'
/** What a forgotten line consists of: no record begins with a space. */
const BLANK = 32

/** A segment: its name is `<key>.<number>.jsonl`, and the key says whose records it holds. */
export interface Segment {
  name: string
  key: string
  number: number
  size: number
}

/** A line with the place where it begins and that of the next one. */
export interface LogLine {
  text: string
  at: number
  next: number
}

/**
 * The append-only log: segments of JSON lines, one family of them for each scope. Whoever writes holds the lock of the broker, so that there is
 * one writer; anybody may read at any time.
 *
 * A line is whole when a line break follows it. A writer that was killed may leave a part of a line at the end: the next one ends it with a line
 * break, so that it stays a line of its own, which nobody can parse. Nothing is synced to the disk: a killed process loses nothing that
 * it has written, and what a power failure takes is the last seconds.
 */
export class Segments {
  readonly #dir: string
  readonly #rotateBytes: number

  constructor(dir: string, rotateBytes = ROTATE_BYTES) {
    this.#dir = dir
    this.#rotateBytes = rotateBytes
  }

  /** All segments, in the order in which they were written within each key. */
  list(): Segment[] {
    const found = listNames(this.#dir).flatMap(name => this.#look(name) ?? [])
    return found.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.number - b.number))
  }

  /** The segments of one key from a number on. Costs one look at the disk for each, and one more. */
  from(key: string, first: number): Segment[] {
    const found: Segment[] = []
    for (let number = Math.max(1, first); ; number += 1) {
      const segment = this.#look(nameOf(key, number))
      if (!segment) return found
      found.push(segment)
    }
  }

  /** Adds lines to the last segment of a key, or to a new one. All of them, or an error and none. Returns where they begin and end. */
  append(
    key: string,
    last: Segment | undefined,
    lines: readonly string[],
  ): { name: string; number: number; from: number; to: number } {
    const isFull = last !== undefined && last.size >= this.#rotateBytes
    const number = (last?.number ?? 1) + (isFull ? 1 : 0)
    const name = nameOf(key, number)
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
    const file = openSync(
      join(this.#dir, name),
      constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW,
      0o600,
    )
    try {
      const { size } = fstatSync(file)
      const broken = size > 0 && lastByte(file, size) !== 10
      const bytes = Buffer.from(`${broken ? '\n' : ''}${lines.join('\n')}\n`)
      writeWhole(file, bytes, size)
      return { name, number, from: size + (broken ? 1 : 0), to: size + bytes.length }
    } finally {
      closeSync(file)
    }
  }

  /** The whole lines from an offset on; a line that was forgotten is empty. Of one that is too long, a text is given that nobody can parse. */
  *read(name: string, from = 0, chunkBytes = CHUNK_BYTES): Generator<LogLine> {
    const file = openSync(join(this.#dir, name), constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      let at = from
      let rest = Buffer.alloc(0)
      for (;;) {
        const chunk = Buffer.allocUnsafe(chunkBytes)
        const count = readSync(file, chunk, 0, chunkBytes, at + rest.length)
        if (count === 0) return
        const bytes = rest.length === 0 ? chunk.subarray(0, count) : Buffer.concat([rest, chunk.subarray(0, count)])
        let begin = 0
        for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, begin)) {
          const isBlank = end === begin || bytes[begin] === BLANK
          const text = isBlank ? '' : end - begin > MOST_LINE_BYTES ? TOO_LONG : bytes.toString('utf8', begin, end)
          yield { text, at: at + begin, next: at + end + 1 }
          begin = end + 1
        }
        rest = bytes.subarray(begin)
        at += begin
      }
    } finally {
      closeSync(file)
    }
  }

  /** Writes a segment anew with its lines changed, if `isWanted` says so after it has seen them all. */
  replace(name: string, change: (line: string) => string, isWanted: () => boolean): void {
    const lines = [...this.read(name)].map(({ text }) => change(text))
    if (isWanted()) replaceEntry(join(this.#dir, name), `${lines.join('\n')}\n`)
  }

  has(name: string): boolean {
    return this.#look(name) !== undefined
  }

  /** One line; undefined if there is none at that place. */
  lineAt(name: string, at: number): string | undefined {
    try {
      for (const { text } of this.read(name, at, LINE_CHUNK_BYTES)) return text
    } catch {
      // The segment was removed, or cannot be read.
    }
    return undefined
  }

  /**
   * Writes spaces over the line of a record: the other lines stay where they are. Its id goes last, so that a process that is killed in the middle
   * leaves a line that is known by its id. True if there is no such line at that place any longer.
   */
  blank(name: string, at: number, id: string): boolean {
    const head = Buffer.from(`{"id":"${id}"`)
    const file = openIfAny(join(this.#dir, name))
    if (file === undefined) return true
    try {
      const found = Buffer.alloc(MOST_LINE_BYTES + 1)
      const bytes = found.subarray(0, readSync(file, found, 0, found.length, at))
      if (bytes[0] === BLANK) return true
      if (!bytes.subarray(0, head.length).equals(head)) return false
      const end = bytes.includes(10) ? bytes.indexOf(10) : bytes.length
      writeSync(file, Buffer.alloc(end - head.length, BLANK), 0, end - head.length, at + head.length)
      writeSync(file, Buffer.alloc(head.length, BLANK), 0, head.length, at)
      fsyncSync(file)
      return true
    } finally {
      closeSync(file)
    }
  }

  /** Where the line begins that a killed writer left without its end; undefined if the last line is whole. */
  tornAt({ name, size }: Segment): number | undefined {
    const from = Math.max(0, size - MOST_LINE_BYTES - 1)
    let end = from
    for (const { next } of this.read(name, from)) end = next
    return end < size ? end : undefined
  }

  /** Writes a segment anew with some of its lines only; one without any is removed. A reader sees the old or the new one. */
  rewrite(name: string, keep: (line: string) => boolean): { kept: number; removed: number } {
    const lines = [...this.read(name)].flatMap(({ text }) => text || [])
    const kept = lines.filter(keep)
    if (kept.length === 0) rmSync(join(this.#dir, name), { force: true })
    else if (kept.length < lines.length) replaceEntry(join(this.#dir, name), `${kept.join('\n')}\n`)
    return { kept: kept.length, removed: lines.length - kept.length }
  }

  #look(name: string): Segment | undefined {
    const match = /^([\w.-]+)\.(\d{6})\.jsonl$/.exec(name)
    const stats = match && statSync(join(this.#dir, name), { throwIfNoEntry: false })
    return stats?.isFile() ? { name, key: match?.[1] ?? '', number: Number(match?.[2]), size: stats.size } : undefined
  }
}

/** The key of the segments that hold a record: its scope, and whose it is. The same record always has the same key. */
export function segmentKey({ scope, of }: Pick<MemoryRecord, 'scope' | 'of'>): string {
  if (scope === 'global') return 'global'
  const isPlain = /^[a-z0-9-]{1,80}$/.test(of)
  return `${scope}_${isPlain ? of : createHash('sha256').update(of).digest('hex').slice(0, 24)}`
}

function nameOf(key: string, number: number): string {
  return `${key}.${String(number).padStart(6, '0')}.jsonl`
}

/** A disk that is full takes a part of the bytes: then the file gets its old length again. */
function writeWhole(file: number, bytes: Buffer, size: number): void {
  try {
    for (let done = 0; done < bytes.length; ) {
      const count = writeSync(file, bytes, done)
      if (count === 0) throw new Error('the disk takes no more')
      done += count
    }
  } catch (thrown) {
    ftruncateSync(file, size)
    throw new AppError('memory_unwritable', { folder: 'the log', problem: messageOf(thrown) }, thrown)
  }
}

function openIfAny(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDWR | constants.O_NOFOLLOW)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function lastByte(file: number, size: number): number | undefined {
  const byte = Buffer.alloc(1)
  readSync(file, byte, 0, 1, size - 1)
  return byte[0]
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // nothing was written yet
  }
}
