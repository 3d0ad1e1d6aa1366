import type { CommandKind } from '../../domain/project-facts.ts'
import { type Folder, tableIn } from './project-files.ts'

/** A command before it is known where it stands. */
export interface FoundCommand {
  kind: CommandKind
  run: string
  from: string
  declared: boolean
  caution?: string
}

/** What one ecosystem makes of a folder. */
export interface FoundEcosystem {
  ecosystem: string
  manager: string
  manager_from: string
  /** At most one of each kind. */
  commands: FoundCommand[]
  /** Patterns of folders that belong to its workspace, as its own files say them. */
  members?: string[]
}

/** Looks at a folder; undefined where it is none of its own. `above` is what it made of the nearest folder above. */
export type Ecosystem = (folder: Folder, above?: FoundEcosystem) => Promise<FoundEcosystem | undefined>

/** A command that the project names itself. */
export function declaredCommand(kind: CommandKind, run: string, from: string): FoundCommand {
  return { kind, run, from, declared: true }
}

/** A command that such a project usually has. */
export function usualCommand(kind: CommandKind, run: string, from: string): FoundCommand {
  return { kind, run, from, declared: false }
}

/** One command of each kind, the first; what is undefined is left out. */
export function firstOfEach(commands: readonly (FoundCommand | undefined | false)[]): FoundCommand[] {
  const kinds = new Map<CommandKind, FoundCommand>()
  for (const command of commands) if (command && !kinds.has(command.kind)) kinds.set(command.kind, command)
  return [...kinds.values()]
}

/** Scripts, targets, recipes or tasks that a project names, with what each does as far as that can be read. */
export type Scripts = ReadonlyMap<string, string>

/** Names by which people call a command of a kind, the most telling first. Others are never run: a name can be anything. */
const NAMES: Record<CommandKind, readonly string[]> = {
  // Not `install`: of a Makefile it puts the program into the system.
  setup: ['setup', 'bootstrap', 'deps'],
  build: ['build', 'compile', 'build:all', 'build-all'],
  typecheck: [
    'typecheck',
    'type-check',
    'types',
    'check:types',
    'check-types',
    'types:check',
    'tsc',
    'phpstan',
    'mypy',
  ],
  lint: ['lint', 'lint:check', 'lint:ci', 'lint-check', 'check:lint', 'lint:all', 'eslint', 'cs'],
  format: ['format:check', 'fmt:check', 'format-check', 'fmt-check', 'check:format', 'check-format', 'prettier:check'],
  test: ['test', 'tests', 'test:ci', 'test:run', 'test-ci', 'test:all', 'test:unit', 'unit'],
}

interface From {
  /** How a script is called. */
  run(name: string): string
  /** Where it stands: `package.json: scripts.test`. */
  from(name: string): string
  kinds?: readonly CommandKind[]
}

/** The command of each kind that scripts hold. One that neither watches nor changes files is preferred to one that does. */
export function commandsFromScripts(scripts: Scripts, { run, from, kinds = ALL_BUT_SETUP }: From): FoundCommand[] {
  return kinds.flatMap((kind): FoundCommand[] => {
    const names = NAMES[kind].filter(name => scripts.has(name) && !isPlaceholder(scripts.get(name) ?? ''))
    const name = names.find(each => cautionOf(kind, scripts.get(each) ?? '') === undefined) ?? names[0]
    if (name === undefined) return []
    const caution = cautionOf(kind, scripts.get(name) ?? '')
    return [{ kind, run: run(name), from: from(name), declared: true, ...(caution !== undefined && { caution }) }]
  })
}

const ALL_BUT_SETUP: readonly CommandKind[] = ['build', 'typecheck', 'lint', 'format', 'test']

/** What npm writes into a new package, and what does nothing at all. */
function isPlaceholder(body: string): boolean {
  return /no test specified/i.test(body) || /^\s*(exit \d+|true|:)\s*$/.test(body)
}

function cautionOf(kind: CommandKind, body: string): string | undefined {
  if (/(^|\s)(--watch(All)?(?!\S*=false)(\s|=|$)|-w(\s|$))|\bnodemon\b|\bwatchexec\b/.test(body) && kind !== 'lint')
    return 'it watches for changes and does not end by itself'
  if (kind === 'test' && /(^|[\s/])ng test\b(?!.*--(no-)?watch)/.test(body))
    return 'it watches for changes and does not end by itself'
  if ((kind === 'lint' || kind === 'format') && /(^|\s)(--fix|--write|--apply|-i|--in-place)(\s|=|$)/.test(body))
    return 'it changes files'
  return undefined
}

const KINDS = ['setup', 'build', 'typecheck', 'lint', 'format', 'test'] as const

/** Makefiles, justfiles and Taskfiles: they know no language, but often the one command that does it all. */
export const taskRunners: Ecosystem = async folder => {
  for (const { manager, names, scripts } of RUNNERS) {
    const file = folder.first(names)
    if (file === undefined) continue
    const found = await scripts(folder, file)
    const commands = commandsFromScripts(found, {
      run: name => `${manager} ${name}`,
      from: name => `${file}: ${name}`,
      kinds: KINDS,
    })
    const check = found.get('check')
    // `make check` is the tests of everything that autotools ever built.
    if (check !== undefined && !commands.some(({ kind }) => kind === 'test')) {
      commands.push({ kind: 'test', run: `${manager} check`, from: `${file}: check`, declared: true })
    }
    if (commands.length > 0) return { ecosystem: manager, manager, manager_from: file, commands }
  }
  return undefined
}

type ReadScripts = (folder: Parameters<Ecosystem>[0], file: string) => Promise<Map<string, string>>

const RUNNERS: { manager: string; names: string[]; scripts: ReadScripts }[] = [
  {
    manager: 'just',
    names: ['justfile', 'Justfile', '.justfile'],
    // A recipe that wants arguments cannot be run as it is; one with defaults can.
    scripts: async (folder, file) =>
      rulesIn(await folder.text(file), /^@?([A-Za-z_][\w-]*)((?:\s+\*?[A-Za-z_]\w*=\S+)*)\s*:(?!=)/),
  },
  {
    manager: 'task',
    names: ['Taskfile.yml', 'Taskfile.yaml', 'taskfile.yml'],
    scripts: async (folder, file) =>
      new Map(
        Object.entries(tableIn(await folder.yaml(file), 'tasks')).map(([name, body]) => [
          name,
          JSON.stringify(body) ?? '',
        ]),
      ),
  },
  {
    manager: 'make',
    names: ['GNUmakefile', 'makefile', 'Makefile'],
    scripts: async (folder, file) =>
      rulesIn(await folder.text(file), /^([A-Za-z0-9][\w.-]*(?:[ \t]+[\w.-]+)*)[ \t]*::?(?![:=])/),
  },
]

/** Targets by name, each with the indented lines under it. */
function rulesIn(text: string | undefined, head: RegExp): Map<string, string> {
  const rules = new Map<string, string>()
  let open: string[] = []
  for (const line of (text ?? '').split(/\r?\n/)) {
    const names = head.exec(line)?.[1]?.split(/\s+/)
    if (names) {
      open = names
      for (const name of names) rules.set(name, rules.get(name) ?? '')
    } else if (/^\s+\S/.test(line)) {
      for (const name of open) rules.set(name, `${rules.get(name) ?? ''}${line.trim()}\n`)
    } else if (line.trim() !== '' && !line.startsWith('#')) open = []
  }
  return rules
}
