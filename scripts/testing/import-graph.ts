import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

/** Which files of a checkout refer to which others, by importing, starting or reading them. */
export interface ImportGraph {
  /** Every file that refers to one of these, directly or indirectly, but not through a file that `stopsAt` matches. */
  leadingTo(paths: Iterable<string>, stopsAt?: (path: string) => boolean): Set<string>
}

const CODE = '{bench,bin,scripts,src,test}/**/*.{ts,tsx,js}'
/** A string that may be a path: one word with a dot or a slash. */
const QUOTED = /'([^'\s]*[./][^'\s]*)'|"([^"\s]*[./][^"\s]*)"|`([^`\s]*[./][^`\s]*)`/g
/** The file that defines constants for started programs. */
const PROGRAMS = 'test/support/program.ts'
const PROGRAM = /^export const (\w+) = .*'([^']+)'\)$/gm

/**
 * Reads the graph of a checkout. Every string that is a path counts, however it is used: `import`, `new URL`, `join(ROOT, …)`.
 * A placeholder in a template matches anything. So a test that reads a file is found as well as one that imports it; a path
 * that is assembled from pieces is not.
 */
export function readImportGraph(root: string): ImportGraph {
  const exclude = ['**/node_modules/**']
  const code = globSync(CODE, { cwd: root, exclude })
  const files = new Set(globSync('{bench,bin,docs,examples,scripts,src,test}/**/*.*', { cwd: root, exclude }))
  const programs = programsOf(root, files)
  const namedBy = new Map<string, Set<string>>()
  for (const path of code) {
    for (const named of path === PROGRAMS ? [] : namedIn(path, readFileSync(join(root, path), 'utf8'))) {
      const namers = namedBy.get(named) ?? new Set()
      namedBy.set(named, namers.add(path))
    }
  }
  return { leadingTo: (paths, stopsAt) => leadingTo(namedBy, [...paths], stopsAt) }

  function namedIn(path: string, text: string): string[] {
    const found: string[] = []
    for (const [, single, double, template] of text.matchAll(QUOTED)) {
      if (template?.includes('${')) found.push(...matching(path, template))
      else found.push(...resolveNamed(path, single ?? double ?? template ?? ''))
    }
    if (found.includes(PROGRAMS)) {
      for (const [name, file] of programs) if (new RegExp(`\\b${name}\\b`).test(text)) found.push(file)
    }
    return found
  }

  /** A relative path counts even if the file is missing, because a deletion may have broken the file that names it. */
  function resolveNamed(path: string, text: string): string[] {
    const beside = posix.join(posix.dirname(path), text)
    if (text.startsWith('.') || files.has(beside)) return [beside]
    return text.includes('/') && files.has(text) ? [text] : []
  }

  /** A part of the name must be fixed, or every file would match. */
  function matching(path: string, template: string): string[] {
    const beside = posix.join(posix.dirname(path), template.replaceAll(/\$\{[^}]*\}/g, '*'))
    if (!/\w\.\*$|\.\w+$/.test(beside)) return []
    const pattern = new RegExp(`^${beside.split('*').map(RegExp.escape).join('[^/]*')}$`)
    return [...files].filter(file => pattern.test(file))
  }
}

function programsOf(root: string, files: Set<string>): [name: string, file: string][] {
  if (!files.has(PROGRAMS)) return []
  const text = readFileSync(join(root, PROGRAMS), 'utf8')
  return [...text.matchAll(PROGRAM)].map(([, name = '', file = '']) => [name, file])
}

function leadingTo(
  namedBy: Map<string, Set<string>>,
  paths: string[],
  stopsAt: (path: string) => boolean = () => false,
): Set<string> {
  const reached = new Set(paths)
  for (const path of reached) {
    if (!stopsAt(path)) for (const namer of namedBy.get(path) ?? []) reached.add(namer)
  }
  return reached
}
