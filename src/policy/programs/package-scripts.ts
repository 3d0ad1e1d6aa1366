import { dirname, join } from 'node:path'
import { isInside } from '../../base/is-inside.ts'
import type { ProgramCall } from '../classify/call.ts'
import { locatePath } from '../paths/fence.ts'
import { type Arg, isFlag } from '../shell/args.ts'

export interface PackageCall {
  /** The words before `--` that are neither flags nor their values. */
  operands: readonly Arg[]
  before: readonly Arg[]
  /** The words after `--`. */
  after: readonly Arg[]
}

/** Judges the scripts of `package.json` that a call of a package manager runs, as if their lines had been typed. */
export function judgePackageScripts(call: ProgramCall, words: PackageCall): undefined {
  const values = words.operands.map(({ value }) => value)
  const run = findScript(call.name, values)
  if (run === undefined || words.before.some(arg => arg.value === '--ignore-scripts')) return
  const found = findPackage(call, words.before)
  if (found === undefined) return
  const at = words.operands[run.at] ?? call.head
  if ('scripts' in run) for (const script of run.scripts) judgeScript(call, { ...found, script, at, more: '' })
  else judgeScriptsNamed(call, found, { name: run.name, at, more: quoteWords(findScriptWords(call, words, at)) })
}

/**
 * Whether the project has a script of this name. `undefined` if that is not known: nothing can be read, or the script is one of another package.
 */
export function hasScript(call: ProgramCall, before: readonly Arg[], name: string): boolean | undefined {
  const isElsewhere = before.some(arg => isFlag(arg) && OTHER_PACKAGES.test(arg.value))
  if (call.fence.look === undefined || call.scope.cwd === undefined || isElsewhere) return undefined
  return Object.hasOwn(findPackage(call, [])?.scripts ?? {}, name)
}

const OTHER_PACKAGES = /^(--(prefix|dir|cwd|workspaces?|filter|recursive|workspace-root)|-[CwFr])(=|$)/

/** Judges the scripts of `package.json` that `run-s`, `npm-run-all` and `concurrently` run by their names. */
export function judgeNamedScripts(call: ProgramCall, names: readonly Arg[]): undefined {
  const found = findPackage(call, [])
  if (found === undefined) return
  for (const at of names)
    for (const name of matchScripts(at.value, Object.keys(found.scripts)))
      judgeScriptsNamed(call, found, { name, at, more: '' })
}

/** `build:*` and `build:**` are all scripts that begin like this. */
function matchScripts(wanted: string, names: readonly string[]): string[] {
  const name = wanted.split(' ')[0] ?? ''
  return name.includes('*') ? names.filter(one => one.startsWith(name.slice(0, name.indexOf('*')))) : [name]
}

interface FoundPackage {
  path: string
  scripts: Record<string, unknown>
}

interface NamedScript {
  name: string
  at: Arg
  /** Further words, which the package manager adds to the script. */
  more: string
}

/** With a script, the package managers run the one before it and the one after it. */
function judgeScriptsNamed(call: ProgramCall, found: FoundPackage, { name, at, more }: NamedScript): undefined {
  judgeScript(call, { ...found, script: `pre${name}`, at, more: '' })
  judgeScript(call, { ...found, script: name, at, more })
  judgeScript(call, { ...found, script: `post${name}`, at, more: '' })
}

interface JudgedScript extends FoundPackage {
  script: string
  at: Arg
  more: string
}

function judgeScript(call: ProgramCall, { path, scripts, script, at, more }: JudgedScript): undefined {
  const text = Object.hasOwn(scripts, script) ? scripts[script] : undefined
  if (typeof text !== 'string') return
  call.lines(
    {
      id: `${path} ${script}`,
      name: `the script ${script} of package.json`,
      cwd: dirname(path),
      lines: [{ text: `${text}${more}` }],
      is: 'task',
    },
    at,
  )
}

/** What a call runs: one script by its name, or those that run by themselves. `at` is the place of the word among the operands. */
type ScriptRun = { name: string; at: number } | { scripts: readonly string[]; at: number }

function findScript(manager: string, [verb, second]: readonly string[]): ScriptRun | undefined {
  if (verb === undefined || /^(install|i|in|ins|inst|isntall|ci|clean-install)$/.test(verb))
    return second === undefined ? { scripts: ON_INSTALL, at: 0 } : undefined
  if (verb === 'pack') return { scripts: ['prepack', 'prepare', 'postpack'], at: 0 }
  if (verb === 'version') return { scripts: ['preversion', 'version', 'postversion'], at: 0 }
  if (/^(run|run-script|rum|urn)$/.test(verb)) return second === undefined ? undefined : { name: second, at: 1 }
  if (/^(test|t|tst|it|cit|install-test)$/.test(verb)) return manager === 'bun' ? undefined : { name: 'test', at: 0 }
  if (/^(start|stop|restart)$/.test(verb)) return { name: verb, at: 0 }
  const isBuiltIn = BUILT_IN.test(verb) && !(verb === 'x' && manager.startsWith('yarn'))
  return manager === 'npm' || isBuiltIn ? undefined : { name: verb, at: 0 }
}

const ON_INSTALL = 'preinstall install postinstall prepublish preprepare prepare postprepare'.split(' ')

/** Verbs of the package managers that are no names of scripts. */
const BUILT_IN =
  /^(add|remove|rm|exec|dlx|x|create|init|update|up|upgrade|why|list|ls|audit|workspace|workspaces|global)$/

/** The words that the script gets: for npm those after its name that are no flags of npm, for the others all of them. */
function findScriptWords(call: ProgramCall, { operands, after }: PackageCall, script: Arg): Arg[] {
  if (call.name === 'npm') return [...operands.slice(operands.indexOf(script) + 1), ...after]
  return call.args.slice(call.args.indexOf(script) + 1).filter(arg => arg.value !== '--')
}

function quoteWords(words: readonly Arg[]): string {
  return words.map(({ known, value }) => (known ? ` '${value.replaceAll("'", "'\\''")}'` : ' "$WORD"')).join('')
}

const ELSEWHERE = /^(--prefix|--dir|--cwd|-C|-w|--workspace|--filter|-F)$/

/** The `package.json` of the call's folder, or of the nearest one above it in the project. */
function findPackage(call: ProgramCall, before: readonly Arg[]): FoundPackage | undefined {
  const { fence } = call
  const { cwd } = call.scope
  if (cwd === undefined || fence.look === undefined) return undefined
  const flag = before.findIndex(arg => isFlag(arg) && ELSEWHERE.test(arg.value.split('=')[0] ?? ''))
  const named = before[flag]?.value.includes('=') ? before[flag]?.value.replace(/^[^=]*=/, '') : before[flag + 1]?.value
  if (flag >= 0 && named !== undefined) {
    const place = locatePath(named, cwd, fence)
    const other = place.where === 'inside' ? readPackage(join(place.path, 'package.json'), call) : undefined
    if (other) return other
  }
  for (let folder = cwd; isInside(folder, fence.boundary); folder = dirname(folder)) {
    const found = readPackage(join(folder, 'package.json'), call)
    if (found || folder === dirname(folder)) return found
  }
  return undefined
}

const FOREIGN = 'its package.json is a link out of the project'

function readPackage(path: string, call: ProgramCall): FoundPackage | undefined {
  const { fence } = call
  const real = fence.realPath(path)
  // In the sandbox there may be another file at the end of such a link, which the agent has written.
  if (real === undefined || !isInside(real, fence.boundary))
    return call.say('script.foreign', 'HIGH', FOREIGN, call.head)
  const found = fence.look?.(real)
  if (found?.is !== 'file') return undefined
  try {
    const { scripts } = JSON.parse(found.bytes.toString('utf8')) as { scripts?: unknown }
    return { path, scripts: typeof scripts === 'object' && scripts !== null ? { ...scripts } : {} }
  } catch {
    return undefined // no JSON: the package manager itself refuses it
  }
}
