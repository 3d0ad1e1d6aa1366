import { cp, lstat, mkdir, readFile, readlink, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Entry, FolderState } from './folder-state.ts'

export interface Mirrored {
  /** The folder of the worktree, and the project's. */
  mine: string
  theirs: string
  /** What lies there now. */
  now: FolderState
  project: FolderState
  /** What is later than this was changed since it was set up. */
  since: number
  /** Only packages that both have in the same version: the work changed what is to be installed. */
  onlySame: boolean
}

/** Makes what was changed in a dependency folder since it was set up as it is in the project's. Gives what it put right. */
export async function mirror({ mine, theirs, now, project, since, onlySame }: Mirrored): Promise<string[]> {
  const wanted = new Map(project.entries.map(entry => [entry.path, entry]))
  const versions = new Map<string, Promise<boolean>>()
  const isSame = (path: string): Promise<boolean> => {
    const name = packageOf(path)
    const known = versions.get(name) ?? sameVersion(mine, theirs, name)
    versions.set(name, known)
    return known
  }
  const mended: string[] = []
  for (const entry of now.entries.filter(({ changed }) => changed > since)) {
    const original = wanted.get(entry.path)
    if (original && (await isEqual(entry, original, [mine, theirs]))) continue
    if (onlySame && !(original && (await isSame(entry.path)))) continue
    await rm(join(mine, entry.path), { recursive: true, force: true })
    mended.push(entry.path)
  }
  const there = new Set(now.entries.map(({ path }) => path))
  const missing = onlySame ? [] : [...wanted.keys()].filter(path => !there.has(path))
  for (const path of [...mended, ...missing].filter(each => wanted.has(each))) {
    await mkdir(dirname(join(mine, path)), { recursive: true })
    await cp(join(theirs, path), join(mine, path), { verbatimSymlinks: true, preserveTimestamps: true })
  }
  return [...mended, ...missing]
}

async function isEqual(one: Entry, other: Entry, [mine, theirs]: [string, string]): Promise<boolean> {
  if (one.kind !== other.kind) return false
  const [left, right] = [join(mine, one.path), join(theirs, other.path)]
  if (one.kind === 'link') return (await readlink(left)) === (await readlink(right))
  const [mode, size] = [await lstat(left), await lstat(right)]
  if (mode.size !== size.size || (mode.mode & 0o111) !== (size.mode & 0o111)) return false
  return (await readFile(left)).equals(await readFile(right))
}

/** `a/b.js` belongs to `a`, `@s/a/b.js` to `@s/a`, `a/node_modules/c/d.js` to `a/node_modules/c`. Commands belong to none. */
function packageOf(path: string): string {
  const parts = path.split('/')
  const first = parts.lastIndexOf('node_modules', parts.length - 2) + 1
  const isScoped = parts[first]?.startsWith('@') ?? false
  return parts.slice(0, first + (isScoped ? 2 : 1)).join('/')
}

/** Whether both have a package in one version. What a command stands for is named by its package. */
async function sameVersion(mine: string, theirs: string, name: string): Promise<boolean> {
  if (name === '.bin') return true
  const [one, other] = await Promise.all([versionIn(join(mine, name)), versionIn(join(theirs, name))])
  return one !== undefined && one === other
}

async function versionIn(folder: string): Promise<string | undefined> {
  try {
    const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version?: unknown }
    return typeof version === 'string' ? version : undefined
  } catch {
    return undefined // no package of this kind, or one that names none
  }
}
