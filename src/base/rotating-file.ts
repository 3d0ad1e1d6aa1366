import { closeSync, fstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'

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
