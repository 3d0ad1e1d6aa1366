import { lstatSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { readRegularFileNow } from '../../base/files.ts'
import { admitFile } from './admission.ts'
import { listFolder } from './source-tree.ts'

/** A look at more files takes longer than asking git. */
const MOST_FILES = 20_000
/** What was changed so shortly before a look may change again without a new time. */
const TICK_MS = 20

/** So many folders without files of the index are looked at: somebody may put the first one there. */
const MOST_EMPTY = 500

/**
 * Tells in a few milliseconds, without starting git, whether anything in a project may have changed since the last complete look: times and
 * sizes of all its files, times of its folders (a file was added or removed), and git's own HEAD and list of files. When in doubt, it has.
 */
export class FreshnessCheck {
  readonly #root: string
  #look: { began: number; files: readonly string[] } | undefined
  #seen: Map<string, number> | undefined

  constructor(root: string) {
    this.#root = root
  }

  isUnchanged(): boolean {
    this.#takeMarks()
    if (!this.#seen) return false
    for (const [path, mark] of this.#seen) if (markOf(path) !== mark) return false
    return true
  }

  /**
   * Begins a look. Nothing that changes from now on is missed: marks are taken after, and compared with, the moment of the beginning.
   * Nobody waits for them, because that may be later.
   */
  begin(): { complete(files: readonly string[]): void } {
    const began = Date.now()
    this.#seen = undefined
    this.#look = undefined
    return {
      complete: files => {
        this.#look = { began, files }
        setImmediate(() => this.#takeMarks())
      },
    }
  }

  #takeMarks(): void {
    if (!this.#look) return
    const { began, files } = this.#look
    this.#look = undefined
    if (files.length > MOST_FILES) return
    const seen = new Map<string, number>()
    for (const path of this.#pathsToWatch(files)) {
      const stats = lstatSync(path, { throwIfNoEntry: false })
      if (stats && Math.max(stats.mtimeMs, stats.ctimeMs) > began - TICK_MS) return
      seen.set(path, stats ? markOfStats(stats) : 0)
    }
    this.#seen = seen
  }

  #pathsToWatch(files: readonly string[]): Set<string> {
    const folders = new Set([this.#root])
    const paths = new Set(gitFiles(this.#root))
    for (const file of files) {
      const path = join(this.#root, file)
      paths.add(path)
      for (let folder = dirname(path); !folders.has(folder); folder = dirname(folder)) folders.add(folder)
    }
    for (const folder of foldersWithoutFiles(folders)) folders.add(folder)
    return paths.union(folders)
  }
}

/** Folders beside and below those that have files of the index, the nearest first. */
function foldersWithoutFiles(known: ReadonlySet<string>): Set<string> {
  const found = new Set<string>()
  const queue = [...known]
  for (let folder = queue.shift(); folder !== undefined && found.size < MOST_EMPTY; folder = queue.shift()) {
    const inside = listFolder(folder)
    if (!known.has(folder) && inside.some(({ name }) => name === '.git')) continue // another project, or a worktree
    for (const each of inside) {
      const path = join(folder, each.name)
      if (!each.isDirectory() || known.has(path) || found.has(path)) continue
      if (admitFile({ path: `${each.name}/`, size: 0 }).holds === 'none') continue
      found.add(path)
      queue.push(path)
    }
  }
  return found
}

function markOf(path: string): number {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats ? markOfStats(stats) : 0
}

/** One number for time and size: a change of one that the other undoes exactly does not happen. */
function markOfStats({ mtimeMs, ctimeMs, size }: { mtimeMs: number; ctimeMs: number; size: number }): number {
  return mtimeMs + ctimeMs + size
}

/** The files by which git says what is checked out and what it tracks. Their absence is a mark, too. */
function gitFiles(root: string): string[] {
  for (let folder = root; ; folder = dirname(folder)) {
    const own = gitFolder(join(folder, '.git'))
    if (own !== undefined) {
      const common = resolve(own, readText(join(own, 'commondir')) ?? '.')
      const ref = readText(join(own, 'HEAD'))?.match(/^ref: (.+)$/)?.[1]
      const own_ = ['HEAD', 'index'].map(name => join(own, name))
      const shared = ['packed-refs', 'info/exclude', ...(ref ? [ref] : [])].map(name => join(common, name))
      return [...own_, ...shared]
    }
    if (folder === dirname(folder)) return []
  }
}

/** A worktree has a file `.git` that names its folder. */
function gitFolder(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats?.isDirectory()) return path
  const named = stats?.isFile() ? readText(path)?.match(/^gitdir: (.+)$/)?.[1] : undefined
  return named === undefined ? undefined : resolve(dirname(path), named)
}

function readText(path: string): string | undefined {
  return readRegularFileNow(path)?.toString('utf8').trim()
}
