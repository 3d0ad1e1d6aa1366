import { closeSync, fstatSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { pino } from 'pino'
import { redact, redactText } from './redact.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

type Write = (fields: Record<string, unknown>, message: string) => void

/** Structured log lines. `fields` are data; `message` is a constant phrase, so that lines can be searched by it. */
export interface Log {
  debug: Write
  info: Write
  warn: Write
  error: Write
  /** The same log with these fields on every line. */
  child(fields: Record<string, unknown>): Log
  /** Removes these values from every line; the returned function stops that again. */
  hide(values: Iterable<string>): () => void
  close(): void
}

export interface LogOptions {
  /** The file is made with the first line. */
  isLazy?: boolean
  file: string
  level: LogLevel
  maxBytes: number
  keep: number
  /** A file older than this is rotated. */
  maxAgeMs?: number
  /** Thousands of lines a second: they are written together after a moment, and secrets are searched for in the finished lines alone. */
  isBusy?: boolean
  /** Other logs that hide what this one hides. */
  alike?: readonly Log[]
  /** What else gets each line: the terminal of a daemon in the foreground, the system's log. */
  copies?: readonly (((line: string) => void) | undefined)[]
}

/** JSON lines in a file that rotates by size and age, with secrets removed. */
export function openLog(options: LogOptions): Log {
  mkdirSync(dirname(options.file), { recursive: true, mode: 0o700 })
  let file = options.isLazy ? undefined : openRotatingFile(options)
  let isClosed = false
  const hidden = new Map<string, number>()
  const put = (text: string) => {
    if (isClosed || text === '') return
    try {
      file ??= openRotatingFile(options)
      file.write(text)
    } catch {
      // A full disk must not end the work that is being logged. The line is lost, and the store reports the cause.
    }
  }
  let waiting = ''
  const copies = (options.copies ?? []).filter(copy => copy !== undefined)
  const write = (text: string) => {
    // The second safety net: the fields went through `redact`, and the finished line is searched once more.
    const clean = redactText(text, hidden.keys())
    if (isClosed) return
    put(clean)
    if (copies.length > 0) for (const line of clean.split(/(?<=\n)/)) for (const copy of copies) copy(line)
  }
  const flush = () => {
    const lines = waiting
    waiting = ''
    if (lines !== '') write(lines)
  }
  const writeLater = (line: string) => {
    if (waiting === '') setTimeout(flush, BUSY_MS).unref()
    waiting += line
    if (waiting.length > BUSY_CHARACTERS) flush()
  }
  const logger = pino(
    {
      level: options.level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
    },
    { write },
  )
  const close = () => {
    flush()
    isClosed = true
    file?.close()
  }
  return wrap({
    logger,
    hidden,
    writeLater: options.isBusy ? writeLater : undefined,
    alike: options.alike ?? [],
    close,
  })
}

/** How long a line of a busy log waits for others, and how many characters wait at most. Writing each by itself is a system call each. */
const [BUSY_MS, BUSY_CHARACTERS] = [50, 64 * 1024]

/** A log that discards everything, for parts that are used without a daemon. */
export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLog,
  hide: () => () => {},
  close: () => {},
}

interface Wrapped {
  logger: pino.Logger
  hidden: Map<string, number>
  /** Writes the lines of a busy log, which are made without pino: that takes a third of its time. */
  writeLater: ((line: string) => void) | undefined
  alike: readonly Log[]
  close: () => void
}

function wrap(wrapped: Wrapped): Log {
  const { logger, hidden, writeLater, alike, close } = wrapped
  const at =
    (level: LogLevel): Write =>
    (fields, message) => {
      if (!logger.isLevelEnabled(level)) return
      if (!writeLater) return logger[level](redact(fields, hidden.keys()), message)
      const rest = JSON.stringify(fields).slice(1, -1)
      const [first, last] = [{ level, time: new Date().toISOString(), pid: process.pid }, { msg: message }]
      writeLater(`${JSON.stringify(first).slice(0, -1)},${rest && `${rest},`}${JSON.stringify(last).slice(1)}\n`)
    }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: fields =>
      wrap({ ...wrapped, writeLater: undefined, logger: logger.child(redact(fields) as Record<string, unknown>) }),
    hide: values => {
      const all = [...values]
      const shown = [hideValues(hidden, all), ...alike.map(other => other.hide(all))]
      return () => {
        for (const show of shown) show()
      }
    },
    close,
  }
}

/** Hidden values are counted, because two sessions may have the same key. */
function hideValues(hidden: Map<string, number>, values: string[]): () => void {
  for (const value of values) hidden.set(value, (hidden.get(value) ?? 0) + 1)
  let isHidden = true
  return () => {
    if (!isHidden) return
    isHidden = false
    for (const value of values) {
      const left = (hidden.get(value) ?? 1) - 1
      if (left > 0) hidden.set(value, left)
      else hidden.delete(value)
    }
  }
}

export interface RotatingFile {
  write(line: string): void
  close(): void
}

interface RotatingOptions {
  file: string
  maxBytes: number
  keep: number
  maxAgeMs?: number | undefined
}

/**
 * A file that is renamed to `.1`, `.2` … when it exceeds `maxBytes` or `maxAgeMs`; the last `keep` of them stay. Writes are
 * synchronous: the lines before a crash are the ones that matter, and a daemon writes few.
 */
export function openRotatingFile(options: RotatingOptions): RotatingFile {
  const { file, maxBytes, keep, maxAgeMs = Number.POSITIVE_INFINITY } = options
  let fd = openSync(file, 'a', 0o600)
  let { size, birthtimeMs: createdAt } = fstatSync(fd)

  return {
    write(line) {
      const bytes = Buffer.byteLength(line)
      if (fd < 0) return
      if (size > 0 && (size + bytes > maxBytes || Date.now() - createdAt > maxAgeMs)) tryToRotate()
      writeSync(fd, line)
      size += bytes
    },
    close() {
      const open = fd
      fd = -1
      if (open >= 0) closeSync(open)
    },
  }

  /** On a full or read-only disk, a file that is too long is better than a lost line. */
  function tryToRotate(): void {
    try {
      rotate()
    } catch {
      // The next line tries again.
    }
  }

  /** The old descriptor is closed last, when nothing writes to it: a closed number is reused, for example by the database. */
  function rotate(): void {
    rmSync(`${file}.${keep}`, { force: true })
    for (let n = keep - 1; n >= 1; n -= 1) renameIfPresent(`${file}.${n}`, `${file}.${n + 1}`)
    if (keep > 0) renameIfPresent(file, `${file}.1`)
    else rmSync(file, { force: true })
    const next = openSync(file, 'a', 0o600)
    const old = fd
    fd = next
    size = 0
    createdAt = Date.now()
    closeSync(old)
  }
}

function renameIfPresent(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
