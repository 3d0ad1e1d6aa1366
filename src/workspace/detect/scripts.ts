import type { CommandKind } from '../../domain/project/project-facts.ts'
import type { FoundCommand } from './found.ts'

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
export function commandsIn(scripts: Scripts, { run, from, kinds = ALL_BUT_SETUP }: From): FoundCommand[] {
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
