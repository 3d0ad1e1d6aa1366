import type { ProgramCall, ProgramRule } from '../classify/call.ts'
import { locatePath } from '../paths/fence.ts'
import { type Arg, atDoubleDash, deriveArg, findOperands, HOLE, isFlag } from '../shell/args.ts'
import { isInstalled, judgeUnlisted, judgeUnlistedManifest, judgeUnlistedProgram, judgeUpdate } from './lock-files.ts'
import { hasScript, judgePackageScripts } from './package-scripts.ts'
import { judgeScriptFile, judgeToolWords } from './run-code.ts'
import { judgeDestructiveWords, judgeStepWords } from './step-names.ts'

export interface Manager {
  /** LOW verbs: they build, test, list, or fetch what the project names. */
  low: RegExp
  /** LOW verbs whose operands are names of packages. */
  installs?: RegExp
  /** Verbs that run the following command. */
  runs?: RegExp
  /** Like `runs`, but they fetch the program first. */
  fetches?: RegExp
  /** Those of them that run what is installed if it is there. */
  execs?: RegExp
  isLocal?: (tool: string) => boolean
  high: [RegExp, string][]
  /** Flags that a LOW verb may have; any other makes it MEDIUM. */
  flags: RegExp
  /** Flags that name another place: MEDIUM, or HIGH with a reason of their own. */
  highFlags?: RegExp
  valued: string[]
  /** Whether an unknown verb is the name of a script (`yarn lint`). */
  scripts?: boolean
  /** LOW verbs that run the script of that name, so that flags after them belong to the script (`yarn test --ci`). */
  scriptVerbs?: RegExp
  /** Verbs that are neither scripts nor everyday. */
  other?: RegExp
}

export function manager(row: Manager): ProgramRule {
  return call => {
    const { before, after } = atDoubleDash(call.args)
    const operands = findOperands(before, row.valued)
    const line = operands.map(arg => arg.value.replaceAll('\0', '…')).join(' ')
    const high = row.high.find(([shape]) => shape.test(line))
    if (high) call.say('pkg.publish', 'HIGH', `${call.name} ${high[1]}`, operands[0])
    judgeFlags(call, findOwnFlags(before, operands[0], line, row), row)
    for (const arg of after) judgeToolWords(call, [arg])
    judgePackageScripts(call, { operands, before, after })
    const [verb, second] = operands
    if (verb === undefined) {
      if (call.name.startsWith('yarn')) judgeUnlistedManifest(call, undefined)
      return row.installs || before.length > 0 ? undefined : call.say('pkg.other', 'MEDIUM', call.name)
    }
    if (!verb.known) return call.say('script.unknown', 'MEDIUM', 'which script it is, is known only when it runs', verb)
    if (high) return
    judgeAdded(call, operands, after)
    judgeRemoved(call, operands)
    if (isPackageEdit(call, operands)) return call.say('file.edit', 'MEDIUM', `${call.name} changes package.json`, verb)
    const plain = findPlain(call, operands)
    if (plain) return call.say(plain.code, 'MEDIUM', `${call.name} ${plain.text}`, verb)
    if (row.runs?.test(line)) return judgeScript(call, operands, after)
    if (row.fetches?.test(line)) return judgeFetched(call, { verb, words: operands.slice(1), after, row })
    if (row.installs?.test(line)) return judgeInstalled(call, operands.slice(1), after)
    if (
      /^(config|c|get) /.test(line) &&
      /auth|token|password|_key|( |^)(ls|list) .*(-l|--long|--json)/i.test(
        `${line} ${before.map(arg => arg.value).join(' ')}`,
      )
    )
      return call.say('secret.config', 'HIGH', `${call.name} shows a token or a password`, second)
    if (row.low.test(line)) {
      if (/^version$/.test(verb.value) && second)
        return call.say('pkg.version', 'MEDIUM', 'it changes the version and commits', second)
      return judgeToolWords(call, operands.slice(1))
    }
    if (row.scripts && !row.other?.test(line) && /^[\w@:./-]+$/.test(verb.value))
      return judgeScript(call, [verb, ...operands], after)
    call.say('pkg.other', 'MEDIUM', `${call.name} ${verb.text} is not an everyday command`, verb)
  }
}

/** Verbs that only make or change files of the project, with the flags that make sure of it. */
function findPlain({ name, args }: ProgramCall, operands: readonly Arg[]): { code: string; text: string } | undefined {
  const line = args.map(({ known, value }) => (known ? value : HOLE)).join(' ')
  if (name !== 'npm') return undefined
  if (/^init (-y|--yes)$/.test(line)) return { code: 'file.make', text: 'makes a package.json' }
  if (/^(rebuild|rb)( [\w@./-]+)*$/.test(line) && operands.length === args.length)
    return { code: 'script.run', text: 'builds installed packages again' }
  return /^version (--no-git-tag-version (patch|minor|major)|(patch|minor|major) --no-git-tag-version)$|^--no-git-tag-version version (patch|minor|major)$/.test(
    line,
  )
    ? { code: 'file.edit', text: 'changes the version' }
    : undefined
}

/** Adds a reason if what is removed checks the project or guards what it serves. Everything else is back with one command. */
export function judgeRemoved(call: ProgramCall, operands: readonly Arg[]): undefined {
  const at = operands.findIndex(({ value }) => /^(uninstall|un|unlink|remove|rm|r)$/.test(value))
  const guard = at < 0 ? undefined : operands.slice(at + 1).find(({ value }) => GUARDS.test(value))
  if (guard) call.say('pkg.unguard', 'MEDIUM', `${guard.text} checks the project, or guards what it serves`, guard)
}

const GUARDS =
  /^(@?[\w-]+\/)?(husky|lint-staged|lefthook|simple-git-hooks|pre-commit|commitlint|cli|eslint|biome|oxlint|stylelint|jest|vitest|mocha|ava|playwright|test|cypress|nyc|c8|typescript|tsc|helmet|csurf|csrf-csrf|express-rate-limit|cors|dompurify|sanitize-html|secretlint|snyk|phpunit|phpstan|psalm|php-cs-fixer|rspec|rspec-rails|rubocop|brakeman|bundler-audit|minitest)(@.*)?$/

/** `npm pkg set scripts.lint=eslint`: what package.json becomes is judged like an edit. */
function isPackageEdit(call: ProgramCall, [verb, how, ...words]: readonly Arg[]): boolean {
  const { args, scope, head } = call
  if (!/^(npm|pnpm)$/.test(call.name) || verb?.value !== 'pkg' || !/^(set|delete)$/.test(how?.value ?? '')) return false
  const isPlain =
    call.fence.look !== undefined && words.length > 0 && args.length === words.length + 2 && scope.cwd !== undefined
  const steps = words.map(({ known, value }) => {
    const [, key = '', text] = /^((?:[A-Za-z][\w-]*)(?:\.[\w:@/-]+)*)(?:=(.*))?$/s.exec(known ? value : '') ?? []
    return key !== '' && (text !== undefined) === (how?.value === 'set') ? { keys: key.split('.'), text } : undefined
  })
  if (!isPlain || !steps.every(step => step !== undefined)) return false
  call.change(deriveArg('package.json', head), before => ({ after: setKeys(before, steps), whole: true }))
  return true
}

function setKeys(
  json: string | undefined,
  steps: readonly { keys: string[]; text: string | undefined }[],
): string | undefined {
  // `__proto__` and `constructor` lead out of the file, to what every object has.
  if (steps.some(({ keys }) => keys.some(key => key in {}))) return undefined
  try {
    const root: Record<string, unknown> = JSON.parse(json ?? '')
    for (const { keys, text } of steps) {
      let table = root
      for (const key of keys.slice(0, -1)) {
        table[key] ??= {}
        table = table[key] as Record<string, unknown>
      }
      const last = keys.at(-1) ?? ''
      if (text === undefined) delete table[last]
      else table[last] = text
    }
    return `${JSON.stringify(root, null, 2)}\n`
  } catch {
    return undefined // no package.json that can be read
  }
}

/** Verbs that install the packages that are named, or what the manifest names. */
const ADDS =
  /^(install|i|in|ins|inst|insta|instal|isnt|isnta|isntal|isntall|add|a|it|install-test|upgrade|up|update|udpate|link|ln)$/

function judgeAdded(call: ProgramCall, operands: readonly Arg[], after: readonly Arg[]): undefined {
  // `yarn workspace web add x`, `yarn workspaces foreach add x`
  const isAcross = call.name.startsWith('yarn') && /^workspaces?$/.test(operands[0]?.value ?? '')
  const at = operands.findIndex(({ value }, index) => (isAcross ? index > 1 : index === 0) && ADDS.test(value))
  if (at < 0) return
  const packages = [...operands.slice(at + 1), ...after]
  const isAll = /^(upgrade|up|update|udpate)$/.test(operands[at]?.value ?? '')
  if (isAll || packages.some(({ value }) => /.@(latest|next|\*|>|\^|~)/.test(value))) judgeUpdate(call, operands[at])
  if (packages.length === 0) return judgeUnlistedManifest(call, operands[at])
  judgeUnlisted(call, packages, 'npm')
}

/** Names of scripts that seem to reach beyond the project. */
const FAR_SCRIPT =
  /(^|[:._-])(deploy|publish|release|ship|destroy|drop|wipe|nuke|purge|prod|production|provision|rollback|teardown|undeploy|unpublish|promote|seed:prod)([:._-]|$)/i

/** Programs whose names nobody gives to a script. */
const PROGRAMS =
  /^(rimraf|shx|del-cli|trash|trash-cli|cross-env|cross-env-shell|nodemon|ts-node|tsx|node|prisma|concurrently|kill-port|fkill|sequelize|sequelize-cli|knex|typeorm|drizzle-kit|python3?|bash|sh|zsh|rm|sudo|curl|firebase|vercel|netlify|wrangler|serverless|sst|cdk|supabase|np|semantic-release|release-it|changeset|lerna|nyc|c8|dotenv|env-cmd|tsc|eslint|prettier|jest|vitest|mocha|vite|next|webpack|rollup|esbuild|biome|turbo|nx|playwright|cypress|gh-pages|http-server|npx|dlx)$/

/** Flags after the name of a script belong to the script. */
function findOwnFlags(before: readonly Arg[], verb: Arg | undefined, line: string, row: Manager): readonly Arg[] {
  if (row.scripts && verb !== undefined && row.runs?.test(line)) {
    // Flags between `run` and the name of the script belong to the package manager.
    const script = before.slice(before.indexOf(verb) + 1).findIndex(arg => !isFlag(arg))
    return script < 0 ? before : before.slice(0, before.indexOf(verb) + 1 + script)
  }
  const builtin =
    (row.low.test(line) && !row.scriptVerbs?.test(line)) ||
    row.installs?.test(line) ||
    row.fetches?.test(line) ||
    row.other?.test(line)
  if (!row.scripts || verb === undefined || builtin) return before
  return before.slice(0, before.indexOf(verb))
}

function judgeFlags(call: ProgramCall, before: readonly Arg[], row: Manager): undefined {
  for (const arg of before) {
    if (!isFlag(arg)) continue
    judgeToolWords(call, [arg])
    if (namesOwnPackage(call, arg)) continue
    if (!arg.known && arg.value.startsWith('\0')) call.unknown(arg)
    if (row.highFlags?.test(arg.value))
      call.say('pkg.registry', 'HIGH', `${arg.text} changes where packages come from or what runs them`, arg)
    else if (!row.flags.test(arg.value)) call.say('pkg.flag', 'MEDIUM', `${arg.text} is not an everyday flag`, arg)
    if (/^(--(prefix|dir|cwd|cache|global|location|force|cache-folder|global-dir)|-g|-C|-f)(=|$)/.test(arg.value))
      call.say('pkg.elsewhere', 'MEDIUM', `${arg.text} works elsewhere or by force`, arg)
  }
}

/** Whether `--prefix web` names a package of the project, in which the call then works as if it were typed there. */
export function namesOwnPackage(call: ProgramCall, arg: Arg): boolean {
  const [, attached] = /^(?:--(?:prefix|dir|cwd)|-C)(?:=(.+))?$/s.exec(arg.value) ?? [undefined, '']
  const value = attached ?? call.args[call.args.indexOf(arg) + 1]
  const named = typeof value === 'string' ? { known: arg.known, value } : value
  const { cwd } = call.scope
  if (!named?.known || named.value === '' || cwd === undefined) return false
  const place = locatePath(`${named.value}/package.json`, cwd, call.fence)
  return (
    place.where === 'inside' &&
    !/(^|\/)node_modules(\/|$)/.test(place.path) &&
    call.fence.look?.(place.path)?.is === 'file'
  )
}

function judgeScript(call: ProgramCall, operands: readonly Arg[], after: readonly Arg[]): undefined {
  const words = operands.slice(1).filter(arg => !/^(run|exec|foreach)$/.test(arg.value))
  const script = call.name.startsWith('yarn') && operands[0]?.value === 'workspace' ? words[1] : words[0]
  const exec = operands.find(arg => arg.value === 'exec')
  // `yarn exec -- rm x`: the command itself comes after the dashes.
  if (exec && after.length > 0 && (script === undefined || script === exec)) return call.run(after)
  if (script === undefined) return
  if (!script.known)
    return call.say('script.unknown', 'MEDIUM', 'which script it is, is known only when it runs', script)
  const isFile = /^\.{0,2}\/|\.[cm]?[jt]sx?$|^~/.test(script.value)
  if (isFile && call.name !== 'npm') judgeScriptFile(call, script)
  if (script.value === 'env') call.say('env.print', 'MEDIUM', 'it shows the environment', script)
  // To build for production is to build here.
  if (FAR_SCRIPT.test(script.value) && !/^build[:._-]prod(uction)?$/.test(script.value))
    call.say('script.far', 'MEDIUM', `${script.text} sounds as if it reached beyond the project`, script)
  else judgeStepWords(call, [script, ...words.slice(1), ...after])
  judgeDestructiveWords(call, after)
  const far = after.find(word => /^--?([a-z]+-)*(prod|production)(-|=|$)/.test(word.value))
  if (far) call.say('script.far', 'MEDIUM', `${far.text} sounds as if it reached beyond the project`, far)
  const index = call.args.indexOf(script)
  if (operands.some(arg => arg.value === 'exec' && call.args.indexOf(arg) < index))
    return call.run(call.args.slice(index))
  // The package managers also run installed programs, unless a script of the project has the name.
  const isWorkspace = /^workspaces?$/.test(operands[0]?.value ?? '')
  const isScript = isWorkspace || isFile ? undefined : hasScript(call, call.args.slice(0, index), script.value)
  if (call.name !== 'npm' && (isScript === false || PROGRAMS.test(script.value))) call.run(call.args.slice(index))
  judgeToolWords(call, words.slice(1))
  judgeToolWords(call, after)
}

/** Packages by name come from the registry, which is what `install` is for; by address, path or file they are foreign code. */
export function judgeInstalled(call: ProgramCall, packages: readonly Arg[], after: readonly Arg[]): undefined {
  for (const arg of [...packages, ...after]) {
    if (!arg.known) call.unknown(arg)
    else if (
      /^(https?|git|ssh|git\+\w+|file):|^[^@/]+@(https?|git|npm|file):|^(git@|github:|gitlab:|bitbucket:|gist:)|\.(tgz|tar\.gz|zip|whl)$|^(\.{1,2}\/|\.\.?$|\/|~)|^[\w-]+\/[\w.-]+(#.*)?$/.test(
        arg.value,
      )
    )
      call.say(
        'pkg.foreign',
        /^(https?|git\+http):/.test(arg.value) ? 'HIGH' : 'MEDIUM',
        `${arg.text} is not a package of the registry`,
        arg,
      )
    else if (!/^(@[\w.~-]+\/)?[\w.~-]+(@[\w.^~*<>=| -]+)?$/.test(arg.value))
      call.say('pkg.foreign', 'MEDIUM', `${arg.text} is not a package of the registry`, arg)
  }
}

function judgeFetched(
  call: ProgramCall,
  { verb, words, after, row }: { verb: Arg; words: readonly Arg[]; after: readonly Arg[]; row: Manager },
): undefined {
  const inner = words.length > 0 ? words : after
  // `npm exec` runs what is installed, and fetches only what is not.
  const isHere =
    inner[0]?.known &&
    row.execs?.test(verb.value) &&
    (row.isLocal?.(inner[0].value) || isInstalled(call, inner[0].value))
  if (!isHere) call.say('pkg.exec', 'MEDIUM', `${call.name} may fetch a program and runs it`, words[0])
  if (inner[0]) judgeUnlistedProgram(call, inner[0])
  if (inner[0] && !/[@:]|^\./.test(inner[0].value)) call.run(call.args.slice(call.args.indexOf(inner[0])))
  for (const arg of inner)
    if (/^https?:/.test(arg.value)) call.say('net.run', 'HIGH', `${arg.text} is code from the network`, arg)
}
