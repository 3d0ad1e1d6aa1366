import type { ProgramCall, ProgramRule } from '../classify/call.ts'
import { wasWritten } from '../classify/judge-file.ts'
import { locatePath } from '../paths/fence.ts'
import { type Arg, deriveArg, type FlagHit, findFlag, findFlags, findOperands, isFlag } from '../shell/args.ts'
import { listModuleFolders } from './plain-code.ts'
import { judgeWritten } from './rule-builders.ts'
import { judgeInline, judgeScriptFile, judgeToolWords } from './run-code.ts'
import { listSwaps, type Swap } from './sed.ts'

interface Language {
  /** Flags whose value is program text. */
  inline: string[]
  /** Flags that load further code. */
  loads?: string[]
  /** Flags that take a value. */
  valued?: string[]
  /** Whether `-m name` runs a module. */
  module?: string
  /** Flags with which nothing runs. */
  checks?: string[]
  /** Verbs before the file (`deno run`, `bun run`). */
  verbs?: RegExp
}

/** The rule for an interpreter: the program text, the script or the module decides. */
export function interpreter(language: Language): ProgramRule {
  return call => {
    const { feed } = call
    const args = findOwnWords(call.args, language)
    const shorts = [...language.inline, ...(language.loads ?? []), ...(language.valued ?? [])]
      .filter(flag => flag.length === 2)
      .map(flag => flag[1])
      .join('')
    const loads = language.loads ? findFlags(args, language.loads, shorts) : []
    for (const load of loads) {
      if (isOwnEnvironment(call, load, args, language))
        call.say('script.run', 'MEDIUM', `${load.arg.text} is the project's own environment`, load.arg)
      else judgeLoad(call, load.arg, load.value)
    }
    const [code, ...more] = findFlags(args, language.inline, shorts)
    for (const { value } of more) if (value && value !== code?.value) judgeInline(call, value)
    if (code) judgeFiles(call, code.value, language)
    const keeps = /^(perl|ruby)/.test(call.name) && args.find(arg => /^-[a-zA-Z0-9]*i[^a-zA-Z]*[*/]/.test(arg.value))
    if (keeps) call.say('write.outside', 'HIGH', `${keeps.text} keeps copies in another folder`, keeps)
    if (code?.value && emptiesFiles(call, args, code.value))
      call.say('file.delete', 'HIGH', 'a program that prints nothing empties the files', code.value)
    if (code?.value && /^perl/.test(call.name) && SUBSTITUTES.test(code.value.value) && code.value.known)
      return call.say('code.plain', 'MEDIUM', 'a program for perl that replaces text', code.value)
    const looks = code?.value && (PICKS_LINES.test(code.value.value) || COUNTS_LINES.test(code.value.value))
    if (looks && code?.value?.known && /^perl/.test(call.name) && args.every(isFilterFlag))
      return call.say('code.plain', 'MEDIUM', 'a program for perl that prints some of the lines', code.value)
    if (code)
      return code.value
        ? judgeInline(call, code.value)
        : call.say('code.unknown', 'HIGH', 'the program text is missing')
    if (language.module) {
      const module = findFlag(args, [language.module], 'cmWX')
      if (module) return judgeModule(call, module.value)
    }
    if (
      args.some(arg => /^-[a-zA-Z]*i/.test(arg.value) && !arg.value.startsWith('--')) &&
      /^(perl|ruby)/.test(call.name)
    )
      call.say('write.in-place', 'MEDIUM', `${call.name} -i changes files`)
    const operands = findOperands(args, [...language.inline, ...(language.loads ?? []), ...(language.valued ?? [])])
    const [file] = operands
    const { checks } = language
    if (checks?.some(flag => args.some(arg => arg.value === flag))) {
      for (const arg of args)
        if (isFlag(arg) && !checks.includes(arg.value))
          call.hold('tool.flag', 'MEDIUM', `${arg.text} is an unusual word in a check`, arg)
      return file ? call.path(file, 'read') : undefined
    }
    if (args.some(arg => arg.value === '--test')) return judgeProjectRun(call, 'it runs the tests of the project')
    if (file && language.verbs?.test(file.value)) return judgeProjectRun(call, 'it builds or runs the project')
    if (file && file.value !== '-' && !/^\/dev\/(stdin|fd\/0)$/.test(file.value)) {
      for (const arg of call.args)
        if (
          arg !== file &&
          !loads.some(load => load.value?.at === arg.at && isOwnEnvironment(call, load, args, language))
        )
          call.secret(arg)
      if (file.substituted) return call.say('pipe.interpreter', 'HIGH', `${call.name} runs what a command prints`, file)
      const base = file.value.slice(file.value.lastIndexOf('/') + 1)
      if (FRAMEWORK.test(base)) call.run([{ ...file, value: base }, ...call.args.slice(call.args.indexOf(file) + 1)])
      return judgeScriptFile(call, file)
    }
    if (feed.text) return judgeInline(call, feed.text)
    if (feed.file) return judgeScriptFile(call, feed.file)
    if (feed.piped) return call.say('pipe.interpreter', 'HIGH', `bytes of another program reach ${call.name}`)
    call.say('code.interactive', 'MEDIUM', `${call.name} without a script waits for input`)
  }
}

/** `--env-file=.env`: the project's own variables for a file of the project. A text in the command could print or send them. */
function isOwnEnvironment(
  call: ProgramCall,
  { arg, value }: FlagHit,
  args: readonly Arg[],
  language: Language,
): boolean {
  if (!/^--env-file(-if-exists)?(=|$)/.test(arg.value) || !value?.known) return false
  if (!/^(\.\/)?\.env(\.(local|dev|development|test|example))?$/.test(value.value)) return false
  const [file] = findOperands(args, [...language.inline, ...(language.loads ?? []), ...(language.valued ?? [])])
  const runsText = args.some(({ value: word }) => /^(-[a-zA-Z]*[ep]|--eval|--print|-i|--interactive)(=|$)/.test(word))
  if (file === undefined || runsText || !/^[\w./-]+\.[cm]?[jt]sx?$/.test(file.value)) return false
  const { cwd } = call.scope
  return cwd !== undefined && !wasWritten(file, call) && locatePath(file.value, cwd, call.fence).where === 'inside'
}

/**
 * `s/a/b/g`, without the flags that run the replacement, without code in a pattern or in an index (`$1[…]`), and without a pattern that takes
 * whole lines away.
 */
const SUBSTITUTES = new RegExp(
  `^\\s*(${['/', '#', '\\|', ',', '!']
    .map(
      sign =>
        `s${sign}(?!\\^?\\(?\\.[*+]\\??\\)?\\$?${sign}${sign})((?![?*]\\s*\\{)[^${sign}\\\\@$]|\\\\.|\\$(?=[${sign}|)]))+${sign}([^${sign}\\\\@$\`]|\\\\[^\\\\]|\\$\\d(?![[{\\d]|->)|\\$\\{\\d\\}(?![[{]|->))*${sign}[gims]*\\s*;?\\s*`,
    )
    .join('|')})+$`,
)

/** `print if /x/`, `print "$1\n" if /a(.*)/`, `print if $. < 10`, without code in a pattern. */
const PICKS_LINES =
  /^\s*(if\s*\()?\s*print(\s+"(\$([1-9&_.]|ARGV\b)(?![[{]|->)|[\w ,.:;=-]|\\[nt])*")?\s+(if|unless)\s+(!?\s*\/((?![?*]\s*\{)[^/\\@$]|\\.|\$(?=[/|)]))+\/[imsx]*|\$\.\s*[<>=]=?\s*\d+|\d+\s*\.\.\s*\d+)\s*;?\s*(close\(?\s*ARGV\s*\)?\s+if\s+eof\s*;?\s*)?$/

/** `$n++ if /x/; END { print $n }`, `$n += () = /x/g; …`, `$n += $F[2]; …`. */
const COUNTS_LINES =
  /^\s*\$[a-z]\w*\s*(\+\+\s+(if|unless)\s+|\+=\s*\(\)\s*=\s*|\+=\s*(?=\$F\[\d+\]))(\$F\[\d+\]|\/((?![?*]\s*\{)[^/\\@$]|\\.|\$(?=[/|)]))+\/[gimsx]*)\s*;\s*END\s*\{\s*print\s+(\$[a-z]\w*|"[\w :=,.]*\$[a-z]\w*(\\n)?")\s*;?\s*\}\s*$/

/** Flags with which perl reads lines and changes no file. */
function isFilterFlag(arg: Arg): boolean {
  return !isFlag(arg) || /^-[nla]*[neE]?$/.test(arg.value)
}

/** `perl -i -ne '' f`: in place, with a program that prints nothing. With `-p` every line is printed. */
function emptiesFiles({ name }: ProgramCall, args: readonly Arg[], { known, value }: Arg): boolean {
  const clusters = args.map(arg => arg.value).filter(word => /^-[a-zA-Z0-9]/.test(word))
  if (!/^(perl|ruby)/.test(name) || !known || !clusters.some(word => /^-[a-zA-Z0-9]*i/.test(word))) return false
  return !clusters.some(word => /^-[a-zA-Z0-9]*p/.test(word)) && !/\b(print\w*|puts|say|p|write)\b/.test(value)
}

function judgeProjectRun(call: ProgramCall, text: string): undefined {
  judgeToolWords(call, call.args)
  const far = call.args.find(arg => /^(package-registry|publish|plugin)$/.test(arg.value))
  if (far) call.say('script.far', 'MEDIUM', `${far.text} reaches beyond the project`, far)
  call.say('script.run', 'MEDIUM', text)
}

/** All words after the script belong to it; after a program text the words are files for some interpreters. */
function findOwnWords(args: readonly Arg[], language: Language): Arg[] {
  const taken = [...language.inline, ...(language.loads ?? []), ...(language.valued ?? [])]
  const [script] = findOperands(args, language.module ? [...taken, language.module] : taken)
  const index = script === undefined ? -1 : args.indexOf(script)
  const before = index < 0 ? args : args.slice(0, index)
  const given = [...language.inline, ...(language.module ? [language.module] : [])]
  const shorts = taken
    .filter(flag => flag.length === 2)
    .map(flag => flag[1])
    .join('')
  return index < 0 || findFlag(before, given, shorts) ? [...args] : args.slice(0, index + 1)
}

/** Scripts that every project of a framework has, with known verbs. */
const FRAMEWORK = /^(manage\.py|artisan|rails|rake)$/

/** `perl -pe … file` reads files; with `-i` it changes them. */
function judgeFiles(call: ProgramCall, code: Arg | undefined, language: Language): undefined {
  if (!/^(perl|ruby)/.test(call.name)) return
  const inPlace = call.args.find(arg => /^-[a-zA-Z0]*i/.test(arg.value) && !arg.value.startsWith('-I'))
  if (inPlace) call.say('write.in-place', 'MEDIUM', `${inPlace.text} changes files`, inPlace)
  const files = findOperands(call.args, [...language.inline, ...(language.loads ?? [])]).filter(arg => arg !== code)
  const inserted = code?.known ? readReplacements(code.value) : undefined
  const swaps = code?.known ? readSwaps(code.value) : undefined
  for (const arg of files) {
    // Perl gives file names a special meaning: a bar runs a command, an angle bracket writes a file.
    if (call.name.startsWith('perl') && /[|<>]/.test(arg.value))
      call.say('code.alarming', 'HIGH', `perl runs or writes ${arg.text}`, arg)
    call.path(arg, inPlace ? 'write' : 'read')
    if (inPlace) call.change(arg, () => ({ after: undefined, inserted, swaps }))
  }
}

/** What substitutions of a text put in. */
function readReplacements(code: string): string {
  const found = [...code.matchAll(/\bs([/#|,!@~:])(?:(?!\1)[^\\]|\\.)*\1((?:(?!\1)[^\\]|\\.)*)\1/gs)]
  const texts = [
    ...code.matchAll(
      /\b(?:g?sub!?|replace)\s*\(?\s*(?:(["'])(?:(?!\1).)*\1|\/(?:[^/\\]|\\.)*\/)\s*,\s*(["'])((?:(?!\2).)*)\2/gs,
    ),
  ]
  return [...found.map(([, , text = '']) => text), ...texts.map(([, , , text = '']) => text)]
    .join('\n')
    .replace(/\\([^\w\s])/g, '$1')
}

/** What those of perl make of the texts that they find. */
function readSwaps(code: string): Swap[] {
  return [...code.matchAll(/\bs([/#|,!@~:])((?:(?!\1)[^\\]|\\.)*)\1((?:(?!\1)[^\\]|\\.)*)\1/gs)].flatMap(
    ([, , pattern = '', to = '']) =>
      listSwaps(
        pattern,
        to.replace(/\$\{?(\d)\}?|\$&|&/g, (whole, group) => (group ? `\\${group}` : whole === '&' ? '\\&' : '&')),
      ),
  )
}

function judgeLoad(call: ProgramCall, flag: Arg, value: Arg | undefined): undefined {
  const inside = value?.known && /^[@\w][\w@/.-]*$/.test(value.value) && !value.value.includes('..')
  // Libraries of the language itself, and folders of the project.
  if (
    call.name === 'ruby' &&
    inside &&
    (/^-I/.test(flag.value) ||
      /^(json|yaml|csv|set|date|time|pp|bigdecimal|digest|minitest\/autorun|bundler\/setup)$/.test(value.value))
  )
    return call.say('script.run', 'MEDIUM', `${flag.text} loads ${value.text}`, flag)
  const folders = call.args.flatMap(arg => /^-I\.?\/?([A-Za-z][\w/-]*)$/.exec(arg.value)?.[1] ?? [])
  const isOwn = (folder: string) => {
    const file = { ...flag, value: `${folder}/${value?.value}.rb` }
    const place = call.scope.cwd === undefined ? undefined : locatePath(file.value, call.scope.cwd, call.fence)
    return place?.where === 'inside' && call.fence.look?.(place.path)?.is === 'file' && !wasWritten(file, call)
  }
  if (call.name === 'ruby' && /^-r/.test(flag.value) && inside && folders.some(isOwn))
    return call.say('script.run', 'MEDIUM', `${flag.text} loads ${value.text} of the project`, flag)
  // Tests often run with a loader that the project has installed.
  if (
    inside &&
    /^(tsx|ts-node|esbuild-register|@swc-node\/register|dotenv|source-map-support|jiti)(\/[\w./-]+)?$/.test(value.value)
  )
    return call.say('script.run', 'MEDIUM', `${flag.text} loads ${value.text}`, flag)
  call.say('flag.loads', inside ? 'MEDIUM' : 'HIGH', `${flag.text} loads further code`, flag)
  if (value) call.secret(value)
}

/** Modules that are programs with a rule, with the name of that program. */
const PROGRAMS: Record<string, string> = {
  ...Object.fromEntries(
    'pip pip3 pytest mypy black ruff flake8 isort pylint pyflakes pycodestyle coverage tox nox venv virtualenv poetry pipenv uv uvicorn gunicorn hypercorn flask twine pre_commit unittest doctest bandit mkdocs behave autopep8 yapf radon vulture pdm hatch conda'
      .split(' ')
      .map(name => [name, name]),
  ),
  'http.server': 'http-server',
  sphinx: 'sphinx-build',
  ensurepip: 'easy_install',
  idlelib: 'python3',
}

/** Modules that only check, list or show, with their flags. */
const SHOWS =
  /^(py_compile|compileall|json\.tool|this|platform|sysconfig|tabnanny|ast|dis|tokenize|calendar|site|inspect|pyclbr|symtable|mimetypes|pip_audit|build|tarfile|zipfile)$/
const SHOW_FLAGS =
  /^(-[qfvlhmaCsoO0-9]+|--(sort-keys|indent|no-indent|tab|compact|json-lines|no-ensure-ascii|user-site|user-base|mode|exact|help|version|no-type-comments|include-attributes|type|details|list|test|wheel|sdist|outdir|encoding|first-weekday|months)(=.*)?)$/

/** `python -m name`: a program with a rule, a module that only shows something, or other code. */
function judgeModule(call: ProgramCall, module: Arg | undefined): undefined {
  if (!module?.known) return call.say('code.unknown', 'HIGH', 'the module is known only when it runs')
  // If attached (`-mpip`), the module is part of the flag.
  const index = call.args.findIndex(arg => arg === module || arg.at === module.at)
  const rest = index < 0 ? [] : call.args.slice(index + 1)
  const program = Object.hasOwn(PROGRAMS, module.value) ? PROGRAMS[module.value] : undefined
  if (program !== undefined) return call.run([{ ...module, value: program }, ...rest])
  for (const arg of rest) call.path(isFlag(arg) ? { ...arg, value: '-' } : arg, 'read')
  if (SHOWS.test(module.value)) return judgeShown(call, module, rest)
  if (/^(timeit|cProfile|profile|trace|pdb|runpy)$/.test(module.value)) return judgeRun(call, module, rest)
  const file = findModule(call, module.value)
  if (file !== undefined) return judgeScriptFile(call, { ...module, value: file })
  call.say('code.module', 'MEDIUM', `the module ${module.text} runs`, module)
}

/** The file of the project that a module's name stands for. */
function findModule({ scope, fence }: ProgramCall, module: string): string | undefined {
  const { cwd } = scope
  if (cwd === undefined || !/^\w+(\.\w+)*$/.test(module)) return undefined
  const base = module.replaceAll('.', '/')
  return listModuleFolders(scope)
    .flatMap(top => [`${top}${base}/__main__.py`, `${top}${base}.py`])
    .find(file => {
      const place = locatePath(file, cwd, fence)
      return place.where === 'inside' && fence.look?.(place.path)?.is === 'file'
    })
}

function judgeShown(call: ProgramCall, module: Arg, rest: readonly Arg[]): undefined {
  if (/^(py_compile|compileall|build)$/.test(module.value)) judgeToolWords(call, rest)
  for (const arg of rest)
    if (isFlag(arg) && !SHOW_FLAGS.test(arg.value))
      call.hold('tool.flag', 'MEDIUM', `${arg.text} is not a flag of ${module.text} that the policy knows`, arg)
  const [, out] = findOperands(rest, ['--indent', '-m', '--mode'])
  if (out && module.value === 'json.tool') judgeWritten(call, out, out)
  if (/^(tarfile|zipfile)$/.test(module.value) && !rest.some(arg => /^(-l|-t|--list|--test)$/.test(arg.value)))
    call.say('file.archive', 'MEDIUM', `${module.text} packs or unpacks files`, module)
}

/** Modules whose words are program text, or a script that runs under their control. */
function judgeRun(call: ProgramCall, module: Arg, rest: readonly Arg[]): undefined {
  if (module.value === 'timeit') {
    for (const arg of rest) if (!/^(-[nruphv]|\d+)$/.test(arg.value)) judgeInline(call, arg)
    return
  }
  const [script] = findOperands(rest, ['-o', '-s', '--outfile', '--sort'])
  const out = rest.findIndex(arg => /^(-o|--outfile)/.test(arg.value))
  if (out >= 0) call.say('write.flag', 'HIGH', `${rest[out]?.text} writes a file`, rest[out])
  const inner = rest.findIndex(arg => arg.value === '-m')
  if (inner >= 0) return call.run([{ ...module, value: 'python3' }, ...rest.slice(inner)])
  if (script) judgeScriptFile(call, script)
  else call.say('code.module', 'MEDIUM', `the module ${module.text} runs`, module)
}

/** The text of `rails runner TEXT` and of `artisan tinker --execute=TEXT`. */
export function findRunText({ args }: ProgramCall): Arg | undefined {
  const [verb, second, third] = args
  if (/^(runner|r)$/.test(verb?.value ?? ''))
    return second && !isFlag(second) && third === undefined ? second : undefined
  if (verb?.value !== 'tinker' || second === undefined) return undefined
  return second.value.startsWith('--execute=')
    ? deriveArg(second.value.slice(10), second)
    : second.value === '--execute'
      ? third
      : undefined
}

/** The text of `manage.py shell -c TEXT`. */
export function findShellText({ args }: ProgramCall): Arg | undefined {
  const [verb, flag, text, ...rest] = args
  return verb?.value === 'shell' && /^(-c|--command)$/.test(flag?.value ?? '') && rest.length === 0 ? text : undefined
}
