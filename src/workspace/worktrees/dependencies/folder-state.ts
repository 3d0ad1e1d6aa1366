import { createHash } from 'node:crypto'
import { lstat, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'

/** Something in a dependency folder that a command could run or load: a file or a link. */
export interface Entry {
  /** From the folder. */
  path: string
  changed: number
  kind: 'file' | 'link'
}

export interface FolderState {
  /** The latest change time of any entry. */
  latest: number
  /** One name for all paths. */
  names: string
  entries: Entry[]
  /** What Python has compiled of them: it would be taken for its source, and is made again where it is gone. */
  compiled: Entry[]
}

/** How many are asked for at once: more only fill the queue of the file system. */
const AT_ONCE = 64

/** Looks at a dependency folder: every file's change time, which nobody can set back. Undefined where it is no directory. */
export async function folderState(folder: string): Promise<FolderState | undefined> {
  if (!(await lstat(folder).catch(() => undefined))?.isDirectory()) return undefined
  const [entries, compiled]: [Entry[], Entry[]] = [[], []]
  const open = ['']
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const here = (await readdir(join(folder, at), { withFileTypes: true })).filter(
      ({ name }) => at !== '' || isWatched(folder, name),
    )
    for (const entry of here) if (entry.isDirectory()) open.push(join(at, entry.name))
    const files = here.filter(entry => entry.isFile() || entry.isSymbolicLink())
    for (let first = 0; first < files.length; first += AT_ONCE) {
      const some = files.slice(first, first + AT_ONCE)
      const found = await Promise.all(
        some.map(async (entry): Promise<Entry> => {
          const path = join(at, entry.name)
          const { ctimeMs } = await lstat(join(folder, path))
          return { path, changed: ctimeMs, kind: entry.isFile() ? 'file' : 'link' }
        }),
      )
      ;(basename(at) === '__pycache__' ? compiled : entries).push(...found)
    }
  }
  const latest = entries.reduce((most, { changed }) => Math.max(most, changed), 0)
  const names = createHash('sha256')
  for (const path of entries.map(entry => entry.path).sort()) names.update(`${path}\0`)
  return { latest, names: names.digest('hex'), entries, compiled }
}

/** Installers keep packages and commands in these; what else begins with a dot there is what tools keep for themselves. */
const INSTALLED = new Set(['.bin', '.pnpm', '.store'])

function isWatched(folder: string, name: string): boolean {
  return basename(folder) !== 'node_modules' || !name.startsWith('.') || INSTALLED.has(name)
}
