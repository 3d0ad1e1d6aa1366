import { closeSync, fstatSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { pino } from 'pino'
import { redact, redactText } from './redact.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

type Write = (fields: Record<string, unknown>, message: string) => void

/** Structured log lines. `fields` are data, `message` is a constant phrase: a line can be searched by it. */
export interface Log {
  debug: Write
  info: Write
  warn: Write
  error: Write
  /** The same log with fields on every line. */
  child(fields: Record<string, unknown>): Log
  /** Never lets these values through, wherever they appear; the returned function forgets them again. */
  hide(values: Iterable<string>): () => void
  close(): void
}

export interface LogOptions {
  file: string
  level: LogLevel
  maxBytes: number
  keep: number
  /** A file that was begun longer ago is put aside. */
  maxAgeMs?: number
  /** A copy of each line, for a daemon in the foreground. */
  copyTo?: ((line: string) => void) | undefined
}

/** JSON lines in a file that rotates by size and age, with secrets taken out on the way. */
export function openLog(options: LogOptions): Log {
  mkdirSync(dirname(options.file), { recursive: true, mode: 0o700 })
  const file = openRotatingFile(options)
  const hidden = new Map<string, number>()
  const write = (line: string) => {
    // The second net: the fields went through `redact`, the finished line is searched once more.
    const clean = redactText(line, hidden.keys())
    try {
      file.write(clean)
    } catch {
      // A full disk must not end the work that is being logged; the line is lost, and the store will say why.
    }
    options.copyTo?.(clean)
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
  return wrap({ logger, hidden, close: () => file.close() })
}

/** A log that keeps nothing, for parts that are used without a daemon. */
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
  close: () => void
}

function wrap(wrapped: Wrapped): Log {
  const { logger, hidden, close } = wrapped
  const at =
    (level: LogLevel): Write =>
    (fields, message) => {
      if (logger.isLevelEnabled(level)) logger[level](redact(fields, hidden.keys()), message)
    }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: fields => wrap({ ...wrapped, logger: logger.child(redact(fields) as Record<string, unknown>) }),
    hide: values => hideValues(hidden, [...values]),
    close,
  }
}

/** Counted, because two sessions may bring the same key. */
function hideValues(hidden: Map<string, number>, values: string[]): () => void {
  for (const value of values) hidden.set(value, (hidden.get(value) ?? 0) + 1)
  let held = true
  return () => {
    if (!held) return
    held = false
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
 * A file that is put aside as `.1`, `.2` … when it passes `maxBytes`, or when it was begun longer ago than `maxAgeMs`; the last
 * `keep` of them stay. Writes are synchronous:
 * the lines before a crash are the ones that matter, and a daemon writes few.
 */
export function openRotatingFile(options: RotatingOptions): RotatingFile {
  const { file, maxBytes, keep, maxAgeMs = Number.POSITIVE_INFINITY } = options
  let fd = openSync(file, 'a', 0o600)
  let { size, birthtimeMs: begun } = fstatSync(fd)

  return {
    write(line) {
      const bytes = Buffer.byteLength(line)
      if (fd < 0) return
      if (size > 0 && (size + bytes > maxBytes || Date.now() - begun > maxAgeMs)) tryToRotate()
      writeSync(fd, line)
      size += bytes
    },
    close() {
      const open = fd
      fd = -1
      if (open >= 0) closeSync(open)
    },
  }

  /** A disk that is full or read-only: better a file that is too long than a line that is lost. */
  function tryToRotate(): void {
    try {
      rotate()
    } catch {
      // It is tried again with the next line.
    }
  }

  /** The old one is closed last, when nobody writes to it: a number that was closed is somebody else's, the database's for example. */
  function rotate(): void {
    rmSync(`${file}.${keep}`, { force: true })
    for (let n = keep - 1; n >= 1; n -= 1) moveIfThere(`${file}.${n}`, `${file}.${n + 1}`)
    if (keep > 0) moveIfThere(file, `${file}.1`)
    else rmSync(file, { force: true })
    const next = openSync(file, 'a', 0o600)
    const old = fd
    fd = next
    size = 0
    begun = Date.now()
    closeSync(old)
  }
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
