import { basename } from 'node:path'
import { readTree, type SourceFile } from './source-tree.ts'

/** The levels of the source; a folder may import itself and any lower level. */
const LEVELS = [
  ['base'],
  ['domain'],
  ['store', 'simulator'],
  ['tasks', 'workspace', 'agents', 'brain', 'policy', 'knowledge', 'memory', 'human'],
  ['supervisor'],
  ['daemon'],
  ['cli'],
]

/**
 * The only files that start processes. Programs that end soon go through run-short.ts, what must not outlive us through
 * guardian.ts, our own modules through own-process.ts, what a person works in through run-in-terminal.ts; the last one starts the daemon.
 */
const STARTS_PROCESSES = [
  'src/base/process/run-short.ts',
  'src/base/process/guardian.ts',
  'src/base/process/own-process.ts',
  'src/cli/run-in-terminal.ts',
  'src/cli/connection/start-daemon.ts',
]

/** The simulator is separate: it knows the domain, and only the command line may import it. */
const MAY_NOT: Record<string, string[]> = {
  tasks: ['simulator'],
  workspace: ['simulator'],
  agents: ['simulator'],
  brain: ['simulator'],
  policy: ['simulator'],
  knowledge: ['simulator'],
  memory: ['simulator'],
  human: ['simulator'],
  supervisor: ['simulator'],
  daemon: ['simulator'],
}

/** Layered folders within one part: each may import only the folders before it. */
const STAIRS: Record<string, string[]> = { workspace: ['git', 'command', 'worktrees', 'verify', 'merge'] }

/** Texts that decide something and stand in one file: whoever needs them imports what that file makes of them. */
const SPELLED_ONCE: Record<string, string> = {
  NotebookEdit: 'src/domain/file-tools.ts',
  'paused by a person': 'src/domain/session-end.ts',
}

const MAX_LINES = 400
/** The loop file of an orchestrator tends to grow without limit. */
const MAX_LOOP_LINES = 200
const LOOP_FILES = /^src\/supervisor\/session\/run-task\.ts$/
const FORBIDDEN_NAME = /^(index|utils?|helpers?|.*-?(utils?|helpers?|manager|service)|.*-?v\d+)\.(ts|js|tsx)$/i
/** kebab-case, with dots for `.test`, `.property` and similar parts. */
const GOOD_NAME = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9-]+)*\.(ts|js|tsx)$/

/** Every violation of the house rules in a tree, one sentence each. */
export function brokenRules(root: string): string[] {
  const src = readTree(root, ['src'])
  const all = [...src, ...readTree(root, ['test', 'bench', 'scripts', 'bin'])]
  return [...src.flatMap(wrongImports), ...src.flatMap(spelledAgain), ...cycles(src), ...all.flatMap(wrongShape)]
}

/** Imports what the bundler has put beside a script of its own. */
const BUNDLED = 'src/cli/compiled-script.ts'

function wrongImports(file: SourceFile): string[] {
  const from = folderOf(file.path)
  const level = levelOf(from)
  if (level === undefined) return [`${file.path} is in no known folder of src: add its level to test/house/rules.ts`]
  return file.imports.flatMap(({ specifier, target, line }) => {
    const where = `${file.path}:${line}`
    if (specifier === '<computed>')
      return file.path === BUNDLED ? [] : [`${where} imports a computed path, which no rule can follow`]
    if (/^(node:)?child_process$/.test(specifier) && !STARTS_PROCESSES.includes(file.path))
      return [`${where} imports ${specifier}: short programs are started by src/base/process/run-short.ts`]
    if (target === undefined) return []
    if (!target.startsWith('src/')) return target === 'package.json' ? [] : [`${where} imports ${target}, outside src`]
    const to = folderOf(target)
    if (to === from) return climbs(file.path, target, from) ? [`${where} imports ${target}, which stands above it`] : []
    const below = levelOf(to)
    if (below === undefined) return [`${where} imports ${target}, which is in no known folder of src`]
    if (below === level) return [`${where} imports ${target}: ${from} and ${to} are strangers`]
    if (below > level) return [`${where} imports ${target}: ${to} stands above ${from}`]
    if (MAY_NOT[from]?.includes(to)) return [`${where} imports ${target}: ${from} does not know ${to}`]
    return []
  })
}

function climbs(path: string, target: string, part: string): boolean {
  const [from = -1, to = -1] = [path, target].map(each => STAIRS[part]?.indexOf(each.split('/')[2] ?? ''))
  return from >= 0 && to > from
}

/** Cycles between files, including type imports; each is reported once, from its first file. */
function cycles(files: SourceFile[]): string[] {
  const edges = new Map(files.map(file => [file.path, file.imports.flatMap(({ target }) => (target ? [target] : []))]))
  const done = new Set<string>()
  const found: string[] = []
  const walk = (path: string, trail: string[]): void => {
    const seenAt = trail.indexOf(path)
    if (seenAt >= 0) {
      found.push(`import cycle: ${[...trail.slice(seenAt), path].join(' → ')}`)
      return
    }
    if (done.has(path)) return
    for (const next of edges.get(path) ?? []) walk(next, [...trail, path])
    done.add(path)
  }
  for (const path of edges.keys()) walk(path, [])
  return found
}

function spelledAgain({ path, text }: SourceFile): string[] {
  return Object.entries(SPELLED_ONCE).flatMap(([words, home]) =>
    path !== home && text.includes(words) ? [`${path} spells "${words}" itself: import what ${home} exports`] : [],
  )
}

function wrongShape(file: SourceFile): string[] {
  const name = basename(file.path)
  const problems: string[] = []
  if (file.lines > MAX_LINES) problems.push(`${file.path} has ${file.lines} lines (at most ${MAX_LINES})`)
  if (LOOP_FILES.test(file.path) && file.lines >= MAX_LOOP_LINES) {
    problems.push(`${file.path} has ${file.lines} lines (the loop stays under ${MAX_LOOP_LINES})`)
  }
  if (FORBIDDEN_NAME.test(name)) problems.push(`${file.path} has a name that says nothing: name it for what it exports`)
  if (!GOOD_NAME.test(name)) problems.push(`${file.path} is not kebab-case`)
  return problems
}

function folderOf(path: string): string {
  return path.split('/')[1] ?? ''
}

function levelOf(folder: string): number | undefined {
  const level = LEVELS.findIndex(names => names.includes(folder))
  return level < 0 ? undefined : level
}
