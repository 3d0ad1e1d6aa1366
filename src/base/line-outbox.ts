import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { openRegularFile, readRegularFileNow } from './files.ts'

/** More is not kept: about a week of one agent without a daemon. */
const MOST_BYTES = 64_000_000
/** Read at once, which is some hundred events; no line is as long. */
const SLICE_BYTES = 262_144
/** A hook writes within milliseconds: a file that was put aside for longer gets no more lines. */
const SETTLED_MS = 5_000

/** The next lines of an outbox. `done` notes that they are stored; without it they come again. */
export interface OutboxSlice {
  lines: string[]
  done(): void
}

/**
 * What hooks reported while nobody was there who takes it, as lines of JSON. Many hooks write at once, and any of them may be killed at any
 * point; whoever replays puts the file aside first.
 *
 * - A line is written with one call and begins with a line break, so that half a line of a killed hook does not spoil the next.
 * - A hook that finds its file put aside after it wrote may have written too late to be read, and writes again.
 * - A file is removed once it is read to its end and too old to get more lines.
 *
 * Lines may so be read twice. Each has an id, by which whoever reads it keeps it once.
 *
 * An agent without a sandbox can write here too. So nothing but ordinary files is opened, lines are bounded, and a line says nothing about
 * whose event it is and when it will have been.
 *
 * A line is not synced to the disk: that would take milliseconds of every call, and what a power failure can take is the record of the
 * last seconds, never a decision. What a killed hook has written stays.
 */
export class LineOutbox {
  readonly #dir: string
  readonly #current: string
  readonly #full: string

  constructor(folder: string) {
    this.#dir = folder
    this.#current = join(this.#dir, 'current.jsonl')
    this.#full = join(this.#dir, 'full')
  }

  /** Adds lines; false if there is no room for them. */
  add(rows: readonly unknown[]): boolean {
    if (rows.length === 0) return true
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
    const bytes = Buffer.from(rows.map(row => `\n${JSON.stringify(row)}\n`).join(''))
    for (;;) {
      const file = openSync(this.#current, APPEND, 0o600)
      try {
        if (!fstatSync(file).isFile()) return false
        if (fstatSync(file).size + bytes.length > MOST_BYTES) return this.#noteFull()
        if (writeSync(file, bytes) < bytes.length) return this.#noteFull()
        if (inodeOf(this.#current) === fstatSync(file).ino) return true
      } finally {
        closeSync(file)
      }
    }
  }

  /** Since when events are lost because the outbox is full; undefined if none are. */
  fullSince(): number | undefined {
    const text = readText(this.#full)
    return text === undefined ? undefined : Number(text) || 0
  }

  /** Whether there is something to replay. Costs two looks at the disk. */
  hasRows(): boolean {
    return listNames(this.#dir).some(name => name.endsWith('.jsonl'))
  }

  /** The next slice; undefined if nothing is left for now. A file that was read to its end is removed by the next call. */
  next(): OutboxSlice | undefined {
    this.#putAside()
    for (const name of this.#aside()) {
      const file = join(this.#dir, name)
      const { lines, from, next, isEnd } = readSlice(file, Number(readText(`${file}.at`) ?? 0))
      if (next > from) return { lines, done: () => writeFileSync(`${file}.at`, String(next), { mode: 0o600 }) }
      if (isEnd && isSettled(file)) this.#remove(file)
    }
    return undefined
  }

  /** The last lines that nobody has put aside, as far as a slice goes. */
  latest(): string[] {
    const size = statSync(this.#current, { throwIfNoEntry: false })?.size ?? 0
    return readSlice(this.#current, Math.max(0, size - SLICE_BYTES)).lines
  }

  /** Removes what was read to its end, also if a line of a hook that was killed in the middle may still come. */
  removeRead(): void {
    for (const file of this.#aside().map(name => join(this.#dir, name))) {
      const { next, from, isEnd } = readSlice(file, Number(readText(`${file}.at`) ?? 0))
      if (isEnd && next === from) this.#remove(file)
    }
  }

  #aside(): string[] {
    return listNames(this.#dir)
      .filter(name => /^aside-[\w-]+\.jsonl$/.test(name))
      .sort()
  }

  #remove(file: string): void {
    for (const done of [file, `${file}.at`]) rmSync(done, { force: true, recursive: true })
    rmSync(this.#full, { force: true })
  }

  #putAside(): void {
    try {
      const stats = lstatSync(this.#current)
      if (stats.isFile() && stats.size === 0) return
      renameSync(this.#current, join(this.#dir, `aside-${Date.now().toString(36)}-${process.pid}.jsonl`))
    } catch {
      // There is none, or another one was faster.
    }
  }

  #noteFull(): false {
    try {
      writeFileSync(this.#full, String(Date.now()), { mode: 0o600, flag: 'wx' })
    } catch {
      // It is noted already.
    }
    return false
  }
}

/** To open a pipe would stop the hook for ever, and a link leads elsewhere. */
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK | constants.O_NOFOLLOW

/** The whole lines from an offset on, as far as a slice goes. What is no ordinary file has none. */
function readSlice(path: string, noted: number): { lines: string[]; from: number; next: number; isEnd: boolean } {
  const file = openRegularFile(path)
  if (file === undefined) return { lines: [], from: 0, next: 0, isEnd: true }
  try {
    const size = fstatSync(file).size
    const from = Number.isSafeInteger(noted) && noted >= 0 && noted <= size ? noted : 0
    const chunk = Buffer.alloc(Math.min(SLICE_BYTES, size - from))
    readSync(file, chunk, 0, chunk.length, from)
    const end = chunk.lastIndexOf('\n')
    const lines = end < 0 ? [] : chunk.subarray(0, end).toString('utf8').split('\n')
    // A whole slice without a line break is no event of ours.
    const next = from + (end < 0 && chunk.length === SLICE_BYTES ? chunk.length : end + 1)
    return { lines, from, next, isEnd: next >= size || next === from }
  } finally {
    closeSync(file)
  }
}

function isSettled(path: string): boolean {
  const { mtimeMs, ctimeMs } = statSync(path)
  return Math.abs(Date.now() - Math.max(mtimeMs, ctimeMs)) > SETTLED_MS
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // no hook has written yet
  }
}

function readText(file: string): string | undefined {
  return readRegularFileNow(file, 100)?.toString()
}
