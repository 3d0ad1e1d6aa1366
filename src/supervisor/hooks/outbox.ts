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
import type { AppPaths } from '../../base/app-paths.ts'
import { openRegularFile, readRegularFileNow } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import type { CapturedRow } from '../../domain/hook-capture.ts'
import { observedId } from './capture.ts'

/** More is not kept: about a week of one agent without a daemon. */
const MOST_BYTES = 64_000_000
/** Read at once, which is some hundred events; no line is as long. */
const SLICE_BYTES = 262_144
/** A hook writes within milliseconds: a file that was put aside for longer gets no more lines. */
const SETTLED_MS = 5_000

/**
 * What hooks reported while no daemon was there, as lines of JSON. Many hooks write at once, and any of them may be killed at any
 * point; whoever replays puts the file aside first.
 *
 * - A line is written with one call and begins with a line break, so that half a line of a killed hook does not spoil the next.
 * - A hook that finds its file put aside after it wrote may have written too late to be read, and writes again.
 * - A file is removed once it is read to its end and too old to get more lines.
 *
 * Lines may so be read twice. Each has an id, by which the store keeps it once.
 *
 * An agent without a sandbox can write here too. So nothing but ordinary files is opened, lines are bounded, and a line says nothing about
 * whose event it is and when it will have been.
 *
 * A line is not synced to the disk: that would take milliseconds of every call, and what a power failure can take is the record of the
 * last seconds, never a decision. What a killed hook has written stays.
 */
export class HookOutbox {
  readonly #dir: string
  readonly #current: string
  readonly #full: string

  constructor({ data }: Pick<AppPaths, 'data'>) {
    this.#dir = join(data, 'hook-outbox')
    this.#current = join(this.#dir, 'current.jsonl')
    this.#full = join(this.#dir, 'full')
  }

  /** Adds events; false if there is no room for them. */
  add(rows: readonly CapturedRow[]): boolean {
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

  /** Stores the next slice. Returns false if nothing is left for now. */
  async replay(store: (rows: CapturedRow[]) => Promise<unknown>): Promise<boolean> {
    this.#putAside()
    const aside = listNames(this.#dir)
      .filter(name => /^aside-[\w-]+\.jsonl$/.test(name))
      .sort()
    for (const name of aside) {
      const file = join(this.#dir, name)
      const { lines, from, next, isEnd } = readSlice(file, Number(readText(`${file}.at`) ?? 0))
      const rows = await parseRows(lines)
      for (let at = 0; at < rows.length; at += BATCH) await store(rows.slice(at, at + BATCH))
      if (isEnd && isSettled(file)) {
        for (const done of [file, `${file}.at`]) rmSync(done, { force: true, recursive: true })
        rmSync(this.#full, { force: true })
      } else if (next > from) writeFileSync(`${file}.at`, String(next), { mode: 0o600 })
      if (next > from) return true
    }
    return false
  }

  /** The latest of one conversation that nobody has stored yet, as far as a slice goes. */
  async latestOf(subject: string): Promise<CapturedRow[]> {
    const size = statSync(this.#current, { throwIfNoEntry: false })?.size ?? 0
    const rows = await parseRows(readSlice(this.#current, Math.max(0, size - SLICE_BYTES)).lines)
    return rows.filter(row => row.subject === subject)
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

const BATCH = 50
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

/** A line that cannot be read is left out. What checks them is loaded here: a hook only writes. */
async function parseRows(lines: readonly string[]): Promise<CapturedRow[]> {
  const { CapturedRow: Row } = await import('../../domain/hook-capture.ts')
  return lines.flatMap(line => {
    const row = line === '' ? undefined : Row.safeParse(parseJson(line)).data
    return row ? { ...row, at: Math.min(row.at, Date.now()), subject: observedId(row.body) } : []
  })
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
