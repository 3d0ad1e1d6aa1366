import { block, type DiffFinding, note } from '../../rules/rule.ts'
import { narrowingFlags, STRICT_FLAGS, silencerIn, toolsIn } from './commands.ts'

interface Compared {
  /** `npm test`, `make lint`: what a person calls it. */
  name: string
  file: string
  line?: number | undefined
  before: string
  after: string
  /** What other names stand for, so that `npm run unit` is known to run something. */
  others: ReadonlyMap<string, string>
}

/** What was done to a command that checks the work. */
export function compareCommand({ name, file, line, before, after, others }: Compared): DiffFinding[] {
  if (before === after) return []
  const at = { file, ...(line === undefined ? {} : { line }) }
  const whole = withOthers(after, others)
  const silencer = silencerIn(after)
  if (silencer !== undefined && silencerIn(before) === undefined)
    return [block('script.silenced', `${name} cannot fail any more (${silencer}): take that out.`, at)]
  if (isNothing(after)) return [block('script.replaced', `${name} checks nothing any more: ${shown(after)}`, at)]
  const lost = [...new Set(toolsIn(withOthers(before, others)))].filter(tool => !whole.includes(tool))
  const tools = toolsIn(whole)
  if (lost.length > 0) {
    // One runner for another is a migration; nothing for one is not.
    const isReplaced = tools.some(tool => !before.includes(tool))
    return isReplaced
      ? [note('script.replaced', `${name} runs something else: ${shown(after)}`, at)]
      : [block('script.replaced', `${name} does not run ${lost.join(', ')} any more: ${shown(after)}`, at)]
  }
  const narrowed = narrowingFlags(after).filter(flag => !narrowingFlags(before).includes(flag))
  if (narrowed.length > 0)
    return [block('config.excluded', `${name} leaves something out (${narrowed.join(' ')}): ${shown(after)}`, at)]
  const strict = [...before.matchAll(STRICT_FLAGS)].map(([flag]) => flag)
  const gone = strict.filter(flag => !whole.includes(flag) && !after.includes(flag.replace(/[= ].*$/, '')))
  if (gone.length > 0) return [block('config.loosened', `${name} is less strict: ${gone.join(' ')} is gone.`, at)]
  const files = operandFiles(after).filter(each => !operandFiles(before).includes(each))
  if (files.length > 0 && operandFiles(before).length === 0 && toolsIn(before).length > 0)
    return [block('config.excluded', `${name} looks at ${files.join(', ')} only.`, at)]
  return []
}

function withOthers(command: string, others: ReadonlyMap<string, string>): string {
  const called = [
    ...command.matchAll(/(?:npm run|yarn|pnpm|bun run|npm-run-all|run-s|run-p|make|just)\s+([\w:.\- ]+)/g),
  ].flatMap(([, names = '']) => names.split(/\s+/).map(each => others.get(each) ?? ''))
  return [command, ...called].join(' ; ')
}

function isNothing(command: string): boolean {
  return /^\s*(@?(echo|printf)\b[^&|;]*|true|:|exit 0|node -e ["'].*["']|node --version|python3? -c ["'].*["']|sleep \d+|)\s*$/.test(
    command,
  )
}

/** Single files behind a runner: `vitest run test/easy.test.ts`. */
function operandFiles(command: string): string[] {
  return command.match(/(?<=\s)[\w./-]+(\.test|\.spec|_test|\/test_\w+)\.[cm]?[a-z]{2,3}x?(::\w+)?(?=\s|$)/g) ?? []
}

function shown(command: string): string {
  return command.length > 100 ? `${command.slice(0, 97)}…` : command
}
