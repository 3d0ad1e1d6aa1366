import { constants, copyFileSync, existsSync, mkdirSync, readdirSync, statSync, utimesSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** The database and what belongs to it: without its log a file lacks the newest rows. */
export const PARTS = ['', '-wal', '-shm'] as const

/**
 * Copies a database that is damaged to `damaged/<time>/` beside it, where nothing of ours writes. The same file is copied
 * once, however often it is met. Gives the path of the copy.
 */
export function copyAside(file: string, now: number): string {
  const folder = join(dirname(file), 'damaged')
  const known = copyOf(file, folder)
  if (known) return known
  const target = join(folder, new Date(now).toISOString().replaceAll(':', '-'), basename(file))
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
  // The file itself comes last: a copy that has it is complete.
  for (const part of PARTS.toReversed()) {
    if (!existsSync(`${file}${part}`)) continue
    copyFileSync(`${file}${part}`, `${target}${part}`, constants.COPYFILE_FICLONE)
    const { atime, mtime } = statSync(`${file}${part}`)
    utimesSync(`${target}${part}`, atime, mtime)
  }
  return target
}

function copyOf(file: string, folder: string): string | undefined {
  if (!existsSync(folder)) return undefined
  const copies = readdirSync(folder).map(name => join(folder, name, basename(file)))
  return copies.find(copy => isSame(file, copy) && isSame(`${file}-wal`, `${copy}-wal`))
}

/** Times are copied in milliseconds, rounded. */
const ROUNDING_MS = 2

function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map(path => statSync(path, { throwIfNoEntry: false }))
  // An empty log is made and removed by whoever looks at the file.
  if (!a || !b) return (a ?? b)?.size === 0 || a === b
  return a.size === b.size && Math.abs(a.mtimeMs - b.mtimeMs) < ROUNDING_MS
}
