import type { PackageManagerName } from '../../domain/package-managers.ts'
import { COMMAND_KINDS, type CommandKind } from '../../domain/project-facts.ts'
import { type Folder, tableIn } from './project-files.ts'

/** A command without its directory. */
export interface FoundCommand {
  kind: CommandKind
  run: string
  from: string
  declared: boolean
  caution?: string
}

/** What one ecosystem finds in a folder. */
export interface FoundEcosystem {
  ecosystem: string
  manager: PackageManagerName | TaskRunner
  manager_from: string
  /** At most one of each kind. */
  commands: FoundCommand[]
  /** Patterns of folders that belong to its workspace, from its own files. */
  members?: string[]
}

/** Examines a folder; undefined if it is not of this ecosystem. `above` is the result for the nearest folder above. */
export type Ecosystem = (folder: Folder, above?: FoundEcosystem) => Promise<FoundEcosystem | undefined>

/** A command that the project declares itself. */
export function declaredCommand(kind: CommandKind, run: string, from: string): FoundCommand {
  return { kind, run, from, declared: true }
}

/** A command that such a project usually has. */
export function usualCommand(kind: CommandKind, run: string, from: string): FoundCommand {
  return { kind, run, from, declared: false }
}

/** The first command of each kind; empty entries are skipped. */
export function firstOfEach(commands: readonly (FoundCommand | undefined | false)[]): FoundCommand[] {
  const kinds = new Map<CommandKind, FoundCommand>()
  for (const command of commands) if (command && !kinds.has(command.kind)) kinds.set(command.kind, command)
  return [...kinds.values()]
}

/** Scripts, targets, recipes or tasks of a project, with their bodies as far as they can be read. */
export type Scripts = ReadonlyMap<string, string>

/** Usual names for a command of a kind, the clearest first. Scripts with other names are never run: they could do anything. */
const NAMES: Record<CommandKind, readonly string[]> = {
  // Not `install`: in a Makefile it installs the program into the system.
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
  /** The command that runs a script. */
  run(name: string): string
  /** Where the script is declared: `package.json: scripts.test`. */
  from(name: string): string
  kinds?: readonly CommandKind[]
}

/** The command of each kind among scripts. One that neither watches nor changes files is preferred. */
export function commandsFromScripts(scripts: Scripts, { run, from, kinds = ALL_BUT_SETUP }: From): FoundCommand[] {
  return kinds.flatMap((kind): FoundCommand[] => {
    const names = NAMES[kind].filter(name => scripts.has(name) && !isPlaceholder(scripts.get(name) ?? ''))
    const name = names.find(candidate => findCaution(kind, scripts.get(candidate) ?? '') === undefined) ?? names[0]
    if (name === undefined) return []
    const caution = findCaution(kind, scripts.get(name) ?? '')
    return [{ kind, run: run(name), from: from(name), declared: true, ...(caution !== undefined && { caution }) }]
  })
}

const ALL_BUT_SETUP = COMMAND_KINDS.filter(kind => kind !== 'setup')

/** Whether a script is npm's default for a new package, or does nothing at all. */
function isPlaceholder(body: string): boolean {
  return /no test specified/i.test(body) || /^\s*(exit \d+|true|:)\s*$/.test(body)
}

function findCaution(kind: CommandKind, body: string): string | undefined {
  if (/(^|\s)(--watch(All)?(?!\S*=false)(\s|=|$)|-w(\s|$))|\bnodemon\b|\bwatchexec\b/.test(body) && kind !== 'lint')
    return 'it watches for changes and does not end by itself'
  if (kind === 'test' && /(^|[\s/])ng test\b(?!.*--(no-)?watch)/.test(body))
    return 'it watches for changes and does not end by itself'
  if ((kind === 'lint' || kind === 'format') && /(^|\s)(--fix|--write|--apply|-i|--in-place)(\s|=|$)/.test(body))
    return 'it changes files'
  return undefined
}

/** Makefiles, justfiles and Taskfiles: they have no language, but often one command for everything. */
export const taskRunners: Ecosystem = async folder => {
  for (const { manager, names, scripts } of RUNNERS) {
    const file = folder.first(names)
    if (file === undefined) continue
    const found = await scripts(folder, file)
    const commands = commandsFromScripts(found, {
      run: name => `${manager} ${name}`,
      from: name => `${file}: ${name}`,
      kinds: COMMAND_KINDS,
    })
    const check = found.get('check')
    // In projects that use autotools, `make check` runs the tests.
    if (check !== undefined && !commands.some(({ kind }) => kind === 'test')) {
      commands.push({ kind: 'test', run: `${manager} check`, from: `${file}: check`, declared: true })
    }
    if (commands.length > 0) return { ecosystem: manager, manager, manager_from: file, commands }
  }
  return undefined
}

type ReadScripts = (folder: Parameters<Ecosystem>[0], file: string) => Promise<Map<string, string>>

type TaskRunner = 'just' | 'task' | 'make'

const RUNNERS: { manager: TaskRunner; names: string[]; scripts: ReadScripts }[] = [
  {
    manager: 'just',
    names: ['justfile', 'Justfile', '.justfile'],
    // A recipe with required arguments cannot be run as it is; one with defaults can.
    scripts: async (folder, file) =>
      parseRules(await folder.text(file), /^@?([A-Za-z_][\w-]*)((?:\s+\*?[A-Za-z_]\w*=\S+)*)\s*:(?!=)/),
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
      parseRules(await folder.text(file), /^([A-Za-z0-9][\w.-]*(?:[ \t]+[\w.-]+)*)[ \t]*::?(?![:=])/),
  },
]

/** Parses targets by name, each with the indented lines under it. */
function parseRules(text: string | undefined, head: RegExp): Map<string, string> {
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
