import { dirname, join } from 'node:path'
import { isInside } from '../../base/is-inside.ts'
import type { ProgramCall } from '../classify/call.ts'
import { wasWritten } from '../classify/judge-file.ts'
import { explainWritten } from '../classify/written-text.ts'
import { locatePath } from '../paths/fence.ts'
import { isIgnored } from '../paths/judge-path.ts'
import { type Arg, deriveArg } from '../shell/args.ts'
import { isOwnModule, MODULES } from './plain-code.ts'
import { isDeed } from './step-names.ts'
import {
  cutBlock,
  cutDefinitions,
  type Definition,
  explainDeed,
  listCommands,
  listSteps,
  type TaskForm,
} from './task-text.ts'
import { CODE, findCalledTasks, MAX_FILES, readText, type TaskCall } from './task-tools.ts'

// Build tools run tasks by their names, and what a task does stands in a file of the project: it is found there and searched.

/** More definitions do not belong to one task. */
const MAX_DEFINITIONS = 60

/** Judges the tasks that a tool is told to run by the text of their definitions. A task whose definition is not found is a question. */
export function judgeTasks(call: ProgramCall): undefined {
  const { fence, scope } = call
  if (fence.look === undefined || scope.cwd === undefined) return
  const wanted = findCalledTasks(call)
  if (wanted === undefined) return
  const all = wanted.files.slice(0, MAX_FILES).flatMap(file => readDefinitions(call, file, wanted.form))
  for (const task of wanted.tasks) {
    const found = all.filter(({ name }) => isNamed(name, task.value, wanted))
    judgeDefinitions(call, withNeeds(found, all), task)
    if (found.length === 0 && wanted.isOwn && !wanted.builtIn?.test(task.value))
      call.say('script.unread', 'MEDIUM', `what the task ${task.value || 'that it runs'} does is not found`, task)
  }
}

/** Judges a program of the project in a language that no shell reads, by its own text: as a whole, or what the words of the call name in it. */
export function judgeProgramText(call: ProgramCall, file: Arg): undefined {
  const { fence, scope } = call
  if (fence.look === undefined || scope.cwd === undefined || !/\.([cm]?[jt]sx?|py|rb|php|pl)$/.test(file.value)) return
  const place = locatePath(file.value, scope.cwd, fence)
  const read = place.where === 'inside' ? readText(call, place.path) : undefined
  if (place.where !== 'inside' || read === undefined) return
  const text = cutUnasked(read, call.args)
  const words = call.args
    .slice(call.args.findIndex(arg => arg.at === file.at) + 1)
    .flatMap(({ value, known }) => (known && /^[A-Za-z][\w:-]*$/.test(value) ? [value] : []))
  const own = cutDefinitions(text, place.path, CODE)
  const verbs = words.flatMap(word => findVerb(text, place.path, word, own))
  const all = [...own, ...listImports(call, text, place.path).flatMap(path => readDefinitions(call, path, CODE))]
  const whole = { name: '', text, file: place.path, line: 1, form: CODE }
  const start = verbs.length > 0 ? verbs : [whole]
  const others = verbs.length > 0 ? all : all.filter(one => one.file !== place.path)
  judgeDefinitions(call, withNeeds(start, others), file)
}

/**
 * A text in JavaScript without the branches that run only with a flag which the call does not have: `const down = process.argv.indexOf('--down')` and
 * `if (down > 0) {`. A branch counts up to the first line that closes something.
 */
function cutUnasked(text: string, args: readonly Arg[]): string {
  if (args.some(({ known }) => !known)) return text
  const lines = text.split('\n')
  for (const [, name = '', how, , flag = ''] of text.matchAll(ASKS_FOR_FLAG)) {
    if (args.some(({ value }) => value === flag || value.startsWith(`${flag}=`))) continue
    const word = RegExp.escape(name)
    if ((text.match(new RegExp(`\\b${word}\\b\\s*(=(?!=)|\\+\\+|--|[,)][^\\n]*=>|[+-]=)`, 'g')) ?? []).length !== 1)
      continue
    const condition = how === 'includes' ? word : `${word} *(> *0|>= *0|!==? *-1|> *-1)`
    const opens = new RegExp(`^[ \\t]*if \\(${condition}\\) \\{$`)
    for (const [at, line] of lines.entries()) {
      if (!opens.test(line)) continue
      const end = lines.findIndex((one, place) => place > at && /^\s*\}/.test(one))
      const inner = lines.slice(at + 1, end)
      // Nothing in the branch may close it earlier.
      if (end > at && !inner.some(one => /[{}/`]/.test(one.replace(/'[^'\\]*'|"[^"\\]*"/g, ''))))
        lines.fill('', at + 1, end)
    }
  }
  return lines.join('\n')
}

const ASKS_FOR_FLAG =
  /^const ([A-Za-z]\w*) = process\.argv(?:\.slice\(2\))?\.(indexOf|includes)\((['"])(--[\w-]+)\3\);?$/gm

/** What a verb of a program does: the function of that name, the one whose decorator names it, or the branch that compares with it. */
function findVerb(text: string, file: string, verb: string, own: readonly Definition[]): Definition[] {
  const quoted = new RegExp(`["'\`]${RegExp.escape(verb)}["'\`]`)
  const lines = text.split('\n')
  const found = own.filter(one => isNamed(one.name, verb))
  for (const [at, line] of lines.entries()) {
    if (!quoted.test(line)) continue
    const follows = /^\s*@/.test(line) ? own.find(one => one.line > at) : undefined
    if (follows) found.push(follows)
    else if (/==|\bcase\b|\bwhen\b|\.command\(|=>|\.task\(/.test(line))
      found.push({ name: verb, text: cutBlock(lines, at, CODE), file, line: at + 1, form: CODE })
  }
  return found
}

/** Files of the project from which a program takes functions, as Python and JavaScript name them. */
function listImports(call: ProgramCall, text: string, file: string): string[] {
  const here = dirname(file)
  const names = [
    ...text.matchAll(/^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import\b/gm),
    ...text.matchAll(/^[ \t]*import[ \t]+()([\w.]+)/gm),
  ].flatMap(([, dots = '', name = '']) => {
    const path = `${name.replaceAll('.', '/')}.py`
    const top = dots === '' ? here : join(here, ...Array.from({ length: dots.length - 1 }, () => '..'))
    return dots === '' ? [join(top, path), join(dirname(top), path)] : [join(top, path)]
  })
  const scripts = [
    ...text.matchAll(/(?:\bfrom|\brequire\(|\bimport\(|^import)\s*["'](\.{1,2}\/[\w./-]+)["']/gm),
  ].flatMap(([, name = '']) => {
    const path = join(here, name)
    return /\.\w+$/.test(name) ? [path, path.replace(/\.js$/, '.ts')] : ['.ts', '.js', '.mjs'].map(end => path + end)
  })
  const ruby = [...text.matchAll(/^\s*require_relative\s*\(?["']([\w./-]+)["']/gm)].map(([, name = '']) =>
    join(here, `${name.replace(/\.rb$/, '')}.rb`),
  )
  return [...new Set([...names, ...scripts, ...ruby])]
    .filter(path => path !== file && isInside(path, call.fence.boundary))
    .slice(0, MAX_FILES)
}

/** A tool may spell a name with dashes for underscores, in a namespace, or with words in brackets after it. */
function isNamed(name: string, wanted: string, { isShort }: Pick<TaskCall, 'isShort'> = {}): boolean {
  const plain = (text: string) =>
    text
      .replace(/[[(].*$/, '')
      .replace(/^.*[:/]/, '')
      .replaceAll(/[-_]/g, '')
      .toLowerCase()
  const base = plain(wanted)
  if (plain(name) === base || plain(name) === plain(wanted.replace(/^.*\./, ''))) return true
  return isShort === true && isHumpsOf(wanted.replace(/^.*:/, ''), name)
}

/** Whether each part of a short name is the beginning of that part of a name: `pTML` is `publishToMavenLocal`. */
function isHumpsOf(short: string, name: string): boolean {
  const split = (text: string) => text.split(/(?=[A-Z])|[-_]/)
  const parts = split(name)
  const given = split(short)
  return given.length === parts.length && given.every((part, at) => part !== '' && parts[at]?.startsWith(part))
}

/** The definitions that some begin with, and those whose names their texts hold. */
function withNeeds(start: readonly Definition[], all: readonly Definition[]): Definition[] {
  const found = new Set(start)
  for (const { text } of found) {
    if (found.size > MAX_DEFINITIONS) break
    const words = new Set(text.match(/[A-Za-z_][\w?!-]*/g))
    // What holds the text itself is not what it needs, and a key that every task has names none.
    for (const one of all)
      if (words.has(one.name) && !one.text.includes(text) && !(one.form.is === 'values' && KEYS.test(one.name)))
        found.add(one)
  }
  return [...found].slice(0, MAX_DEFINITIONS)
}

const KEYS =
  /^(cmds?|commands?|tasks|targets|scripts|options|dependsOn|deps|desc|description|executor|entry|language|id|dir|env|vars|configurations|defaultConfiguration|args|cwd|parallel|name|silent|sources|generates)$/

function judgeDefinitions(call: ProgramCall, definitions: readonly Definition[], at: Arg): undefined {
  for (const { name, text, file, line, form } of definitions) {
    const shown = file.slice(call.fence.boundary.length + 1)
    const steps = form.steps !== undefined && /^\s*"?[\w.]+"?:/.test(text) ? listSteps(text, form.steps) : []
    const lines = [...listCommands({ text, is: form.is }), ...steps].map(one => ({
      text: one.text,
      line: line + one.line,
    }))
    const id = `${file} ${name} ${line}`
    call.lines({ id, name: shown, cwd: dirname(file), lines, is: 'task' }, at)
    const deed = explainDeed({ text, is: form.is }, { fence: call.fence, cwd: dirname(file) })
    if (deed !== undefined) call.say('script.far', 'MEDIUM', `${shown} line ${line + deed.line}: it ${deed.why}`, at)
    const written = explainWritten(shown.replace(/\.(md|html?)$/, ''), text)
    if (written) call.say('script.far', 'MEDIUM', written.text, at)
  }
}

function readDefinitions(call: ProgramCall, file: string, form: TaskForm): Definition[] {
  // A link may lead out of the project.
  const place = locatePath(file, call.fence.boundary, call.fence)
  const text = place.where === 'inside' ? readText(call, place.path) : undefined
  if (text === undefined) return []
  return [
    ...cutDefinitions(text, file, form),
    ...(form.is === 'code' && form !== CODE ? cutDefinitions(text, file, CODE) : []),
  ]
}

// What a short text in Python asks in the open of the project that it is in.

/** Statements that change nothing of what follows, and calls that read what they name: what stands for them, if the check holds. */
const OPEN_CALLS: [
  shape: RegExp,
  stand: string,
  holds?: (call: ProgramCall, found: string[], code: Arg, text: string) => boolean,
][] = [
  [/(?<=\bprint\([\w., ]*)\.callback(?=\s*[,)])/g, '.name'],
  [/\bfrom\s+(decimal|math|cmath|fractions|datetime|itertools|statistics)\s+import\s+\*/g, 'import json'],
  [
    /(?<=^|[;\n]\s*)from\s+(?:urllib\.parse\s+import\s+(?:(?:urlparse|urlsplit|urlunparse|parse_qsl?|quote(?:_plus)?|unquote(?:_plus)?|urlencode|urljoin)(?:\s*,\s*)?)+|urllib3\.util\.(?:retry|timeout)\s+import\s+(?:Retry|Timeout)|django\.(?:urls|apps|utils\.\w+|db\.models)\s+import\s+(?:(?:get_resolver|reverse|resolve|apps|Count|Sum|Avg|Max|Min|Q|F|timezone|slugify|parse_\w+|format_html|localtime)(?:\s*,\s*)?)+)[ \t]*(?=;|\n|$)/g,
    'pass',
  ],
  [
    /\bos\.environ\.setdefault\(\s*['"]DJANGO_SETTINGS_MODULE['"]\s*,\s*['"]([\w.]+)['"]\s*\)/g,
    'None',
    (call, [module = '']) => isOwnModule(call, module),
  ],
  [
    /(?<=^|[;\n]\s*)import\s+django[ \t]*(?=;|\n|$)|\bdjango\.setup\(\)|\bdjango\.get_version\(\)/g,
    'None',
    (_call, _found, _code, text) =>
      !/\bdjango\b(?!\.(setup\(\)|get_version\(\)|(urls|apps|utils\.\w+|db\.models)\s+import)|[ \t]*(;|\n|$))/.test(
        text,
      ),
  ],
  [
    /\bopen\(\s*(['"])((?:\.\.\/)+\w[\w/-]*(?:\.[\w-]+)+)\1\s*(?:,\s*['"]r[bt]?['"]\s*)?(?:,\s*(?:encoding|newline)\s*=\s*['"][\w-]*['"]\s*)*\)/g,
    "open('f.txt')",
    (call, [, path = ''], code) => readsInside(call, path, code),
  ],
  [
    /\bET\.parse\(\s*(['"])((?:\/tmp\/)?[A-Za-z][\w/-]*\.(?:xml|svg))\1\s*\)/g,
    'list()',
    (call, [, path = ''], code) => {
      call.path(deriveArg(path, code), 'read')
      return true
    },
  ],
  [
    /(?<=^|[;\n]\s*)from\s+(\w+(?:\.\w+)*\.models)\s+import\s+(?:\*|[A-Z]\w*(?:\s*,\s*[A-Z]\w*)*)[ \t]*(?=;|\n|$)/g,
    'pass',
    (call, [module = ''], _code, text) => isOwnModule(call, module) && callsLittle(text),
  ],
  [
    /(?<![.\w])[A-Z]\w*\.objects((?:\.(?:count|all|filter|exclude|values|values_list|first|last|exists|order_by|distinct|latest|earliest|get|only)\([^()]*\))+)(?!\s*\.)/g,
    'list()',
    (_call, [calls = ''], _code, text) => callsLittle(text) && /^[\w.,\s()='"-]*$/.test(calls),
  ],
  [
    /\bimport\s+xml\.etree\.ElementTree\s+as\s+ET\b/g,
    'import json',
    (_call, _found, _code, text) => !/\bET\b(?!\.parse\()/.test(text.replace(/\bas\s+ET\b/, '')),
  ],
  [
    /\bimportlib\.import_module\(\s*(?:(['"])([A-Za-z][\w.]*)\1|sys\.argv\[(\d)\])\s*\)/g,
    'None',
    (call, [, module, index], code) => {
      const word = module ?? call.args[call.args.findIndex(({ at }) => at === code.at) + Number(index)]?.value ?? ''
      return /^[A-Za-z]\w*(\.[A-Za-z]\w*)*$/.test(word) && !word.split('.').some(isDeed) && isOwnModule(call, word)
    },
  ],
  [
    /(?:\binspect\.(?:signature|getdoc|getsource)|(?<![.\w])help)\(\s*([A-Za-z]\w*)(?:\.[A-Za-z]\w*)*(?:\.__(?:init|call|new)__)?\s*\)/g,
    'str()',
    (_call, [name = '']) => !LOADS_MORE.test(name),
  ],
]
/** Whether a text that works with models only reads them, shows nothing that is secret by its name, and calls only functions of the language. */
function callsLittle(text: string): boolean {
  const called = text.matchAll(
    /(?<![.\w])(?!(?:in|if|for|and|or|not|print|return|else|from|import|len|list|dict|sorted|sum|str|int|set|tuple|range|min|max|any|all|zip|enumerate|round|repr|float|bool)\b)[A-Za-z_]\w*\s*\(/g,
  )
  return (
    called.next().done === true &&
    !/\.\s*(update|add|discard|insert|pop|set\w*|create|get_or_create|update_or_create|bulk_\w+|save|delete|remove|clear|execute|raw|extra|using|append|extend)\b|passw|secret|token|session|api_?key|credential|hash/i.test(
      text,
    )
  )
}

/** `manage.py import_rates a.csv --dry-run`: a command of the project itself that knows this flag. Words are files that it reads. */
export function judgeTrial(call: ProgramCall): boolean {
  const [{ cwd }, [verb, ...words]] = [call.scope, call.args]
  if (cwd === undefined || !verb || !/^[a-z]\w*$/.test(verb.value) || !words.some(({ value }) => value === '--dry-run'))
    return false
  const top = call.fence.look?.(cwd)
  const files = top?.is === 'folder' ? top.names.map(name => `${name}/management/commands/${verb.value}.py`) : []
  const own = files.find(
    file => DRY.test(readText(call, join(cwd, file)) ?? '') && !wasWritten({ ...verb, value: file }, call),
  )
  if (
    own === undefined ||
    explainWritten(own, readText(call, join(cwd, own)) ?? '') ||
    !call.args.every(arg => arg.known && !arg.glob && !/:\/\//.test(arg.value))
  )
    return false
  for (const word of words) if (!word.value.startsWith('-')) call.path(word, 'read')
  call.say('tool.other', 'MEDIUM', `${call.name} tries ${verb.text} of the project`, verb)
  return true
}
const DRY = /["']--dry[-_]run["']/

/** Modules that do something when they are loaded. */
const LOADS_MORE = /^(antigravity|this|turtle\w*|tkinter|idlelib|webbrowser|settings|secrets?|config)$/

/**
 * A text without what it asks in the open: files of the project above its folder, modules by their names, and the settings of its framework. Modules of a
 * folder that it names count as its own.
 */
export function takeOpenCalls(call: ProgramCall, code: Arg): { call: ProgramCall; code: Arg } {
  if (!OPENLY.test(code.value) || code.value.length > 4_000) return { call, code }
  const folders: string[] = []
  const text = code.value.replace(
    /\bsys\.path\.(?:insert\(\s*0\s*,|append\()\s*(['"])([A-Za-z][\w-]*(?:\/[\w-]+)*)\1\s*\)/g,
    (whole, _, folder: string) => {
      const place = call.scope.cwd === undefined ? undefined : locatePath(folder, call.scope.cwd, call.fence)
      if (place?.where !== 'inside' || isIgnored(place.relative, call.fence)) return whole
      folders.push(folder)
      return 'None'
    },
  )
  const given = new Map([
    ...call.scope.given,
    ...(folders.length > 0 ? [['PYTHONPATH', folders.join(':')] as const] : []),
  ])
  const inner = folders.length > 0 ? { ...call, scope: { ...call.scope, given } } : call
  const left = OPEN_CALLS.reduce(
    (rest, [shape, stand, holds]) =>
      rest.replace(shape, (whole, ...found) => (holds && !holds(inner, found as string[], code, rest) ? whole : stand)),
    text,
  )
  // A module that is loaded only for them.
  const shown = [...code.value.matchAll(/(?:\binspect\.\w+|\bhelp)\(\s*([A-Za-z]\w*)/g)].map(([, name = '']) => name)
  const spare = ['importlib', 'inspect', ...shown].filter(
    name =>
      left !== text && !LOADS_MORE.test(name) && !new RegExp(`(?<![.\\w])${name}\\b(?!\\s*(,|;|\\n|$))`).test(left),
  )
  const alone = left.replace(/(?<=^|[;\n]\s*)import\s+[\w., ]+/g, list =>
    list.replace(/(?<=[\s,])[A-Za-z]\w*(?=\s*(,|$))/g, name =>
      spare.includes(name) && !MODULES.has(name) ? 'json' : name,
    ),
  )
  return { call: inner, code: deriveArg(alone, code) }
}
const OPENLY = /\.objects\.|sys\.path\.|\.\.\/|importlib|inspect\.|\bhelp\(|django|ElementTree|urllib|import\s+\*/

/** Whether a file above the folder of the command is one of the project. */
function readsInside(call: ProgramCall, path: string, code: Arg): boolean {
  const { cwd } = call.scope
  const place =
    cwd === undefined || call.fence.look?.(cwd)?.is !== 'folder' ? undefined : locatePath(path, cwd, call.fence)
  if (place?.where !== 'inside' || isIgnored(place.relative, call.fence) || wasWritten({ value: path } as Arg, call))
    return false
  call.path(deriveArg(path, code), 'read')
  return true
}
