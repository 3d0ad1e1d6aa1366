import { posix } from 'node:path'
import type { CodeImport } from '../../base/syntax/parsed-file.ts'

/** The files of a project, found by the ends of their paths. */
export class PathIndex {
  readonly #paths: Set<string>
  readonly #byStem = new Map<string, string[]>()
  readonly #byFolder = new Map<string, string[]>()

  constructor(paths: Iterable<string>) {
    this.#paths = new Set(paths)
    for (const path of this.#paths) {
      push(this.#byStem, stemOf(path), path)
      push(this.#byFolder, posix.dirname(path), path)
    }
  }

  has(path: string): boolean {
    return this.#paths.has(path)
  }

  /** Files of a folder with one of some endings. */
  inFolder(folder: string, endings: readonly string[]): string[] {
    return (this.#byFolder.get(folder) ?? []).filter(path => endings.includes(endingOf(path)))
  }

  /** The files whose path without its ending is this, or ends with it; the nearest to `from` come first, and if several have the same name, only the nearest are returned. */
  endingWith(tail: string, endings: readonly string[], from: string): string[] {
    const found = (this.#byStem.get(stemOf(tail)) ?? []).filter(
      path => endings.includes(endingOf(path)) && isTail(withoutEnding(path), tail),
    )
    const best = Math.max(...found.map(path => sharedFolders(path, from)))
    return found.filter(path => sharedFolders(path, from) === best)
  }

  /** The folders that a name of a package ends with, the longest one. */
  folderAtEndOf(name: string): string | undefined {
    for (let tail = name; tail !== ''; tail = tail.slice(tail.indexOf('/') + 1)) {
      if (this.#byFolder.has(tail)) return tail
      if (!tail.includes('/')) break
    }
    return undefined
  }
}

const SCRIPT = ['ts', 'tsx', 'mts', 'cts', 'js', 'jsx', 'mjs', 'cjs', 'vue', 'svelte', 'json']
const C_FILES = ['h', 'hpp', 'hh', 'hxx', 'c', 'cc', 'cpp', 'cuh']
/** Files that stand for their folder. */
const FOLDER_FILES = ['index', '__init__', 'mod', 'lib', 'main']

/** The files of the project that an import means; none if it means a package from elsewhere. A guess by names: no build settings are read. */
export function resolveImport(
  { from, names }: CodeImport,
  at: { path: string; language: string },
  files: PathIndex,
): string[] {
  const folder = posix.dirname(at.path)
  switch (at.language) {
    case 'TypeScript':
    case 'Tsx':
    case 'JavaScript':
      return resolveScript(from, folder, at.path, files)
    case 'python': {
      const dots = /^\.*/.exec(from)?.[0].length ?? 0
      const base = from.slice(dots).replaceAll('.', '/')
      const start = dots > 0 ? posix.join(folder, '../'.repeat(dots - 1), base) : base
      const tails = [...names.map(name => posix.join(start, name)), start]
      return firstFound(tails, tail => moduleFiles(tail, dots > 0, at.path, files, ['py', 'pyi']))
    }
    case 'go': {
      const found = files.folderAtEndOf(from)
      return found === undefined ? [] : files.inFolder(found, ['go'])
    }
    case 'rust': {
      const words = [...from.split('::'), ...names].filter(word => !['crate', 'self', 'super', '*'].includes(word))
      const tails = words.map((_, at_) => words.slice(0, words.length - at_).join('/'))
      return /^(?:crate|self|super)\b/.test(from) || words.length > 1
        ? firstFound(tails, tail => moduleFiles(tail, false, at.path, files, ['rs']))
        : []
    }
    case 'java':
    case 'kotlin':
    case 'php': {
      const package_ = from.replaceAll(/[.\\]/g, '/')
      const endings = ['java', 'kt', 'kts', 'php']
      const named = names.flatMap(name => files.endingWith(`${package_}/${name}`, endings, at.path))
      // The last word may be a member of the class before it; a package of PHP begins with a name that is no folder.
      return named.length > 0
        ? named
        : firstFound([package_, package_.slice(package_.indexOf('/') + 1)], tail => [
            ...names.flatMap(name => files.endingWith(`${tail}/${name}`, endings, at.path)),
            ...files.endingWith(tail, endings, at.path),
          ])
    }
    case 'c':
    case 'cpp': {
      const near = posix.join(folder, from)
      return files.has(near)
        ? [near]
        : files.endingWith(withoutEnding(from), C_FILES, at.path).filter(path => path.endsWith(from))
    }
    case 'ruby':
    case 'bash': {
      const near = posix.join(folder, from)
      const endings = ['rb', 'sh', 'bash']
      for (const path of [near, ...endings.map(ending => `${near}.${ending}`)]) if (files.has(path)) return [path]
      return files.endingWith(withoutEnding(from.replace(/^.*[$}][^/]*\//, '')), endings, at.path)
    }
    default:
      return []
  }
}

/** Words by which an import is found again from the file that it means. */
export function importKeys({ from, names }: CodeImport): string[] {
  const last = from
    .split(/[/.:\\]+/)
    .filter(word => word !== '' && !SCRIPT.includes(word) && !C_FILES.includes(word))
    .at(-1)
  return [last ?? '', ...names].map(word => stemOf(word)).filter(word => word !== '')
}

/** The words that an import of a file may have as its key. */
export function keysOfPath(path: string): string[] {
  const stem = stemOf(path)
  const folder = posix.basename(posix.dirname(path))
  return FOLDER_FILES.includes(stem) || /\.(?:go|java|kt|cs|php)$/.test(path) ? [stem, folder] : [stem]
}

function resolveScript(from: string, folder: string, path: string, files: PathIndex): string[] {
  const isNear = from.startsWith('.')
  const rooted = /^(?:[@~#]\/|src\/|\/)(?<rest>.+)/.exec(from)?.groups?.rest
  if (!isNear && rooted === undefined) return []
  const bare = (rooted ?? from).replace(/\.(?:[cm]?[jt]sx?)$/, '')
  if (!isNear) return firstFound([bare, `${bare}/index`], tail => files.endingWith(tail, SCRIPT, path))
  const near = posix.join(folder, from)
  const tail = posix.join(folder, bare)
  const candidates = [
    near,
    ...SCRIPT.map(ending => `${tail}.${ending}`),
    ...SCRIPT.map(ending => `${tail}/index.${ending}`),
  ]
  return firstFound(candidates, each => (files.has(each) ? [each] : []))
}

function moduleFiles(tail: string, isExact: boolean, from: string, files: PathIndex, endings: string[]): string[] {
  const tails = [tail, `${tail}/__init__`, `${tail}/mod`]
  return firstFound(tails, each =>
    files.endingWith(each, endings, from).filter(path => !isExact || withoutEnding(path) === each),
  )
}

function firstFound(tails: readonly string[], find: (tail: string) => string[]): string[] {
  for (const tail of tails) {
    const found = tail === '' ? [] : find(tail)
    if (found.length > 0) return found
  }
  return []
}

function push(map: Map<string, string[]>, key: string, value: string): void {
  const known = map.get(key)
  if (known) known.push(value)
  else map.set(key, [value])
}

function stemOf(path: string): string {
  return withoutEnding(posix.basename(path)).toLowerCase()
}

function withoutEnding(path: string): string {
  return path.replace(/(?<=[^/])(?:\.d)?\.\w+$/, '')
}

function endingOf(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1)
}

function isTail(path: string, tail: string): boolean {
  return path === tail || path.endsWith(`/${tail}`)
}

function sharedFolders(a: string, b: string): number {
  const [left, right] = [a.split('/'), b.split('/')]
  let shared = 0
  while (shared < left.length && left[shared] === right[shared]) shared += 1
  return shared
}
