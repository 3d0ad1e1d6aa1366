import { dirname, join } from 'node:path'
import { isInside } from '../../base/is-inside.ts'
import type { ProgramCall } from '../classify/call.ts'
import { explainWritten } from '../classify/written-text.ts'
import { locatePath } from '../paths/fence.ts'
import type { Arg } from '../shell/args.ts'
import { explainDeed, listCommands, listSteps } from './task-text.ts'
import { CODE, findCalledTasks, MAX_FILES, readText, type TaskCall, type TaskForm } from './task-tools.ts'

// Build tools run tasks by their names, and what a task does stands in a file of the project: it is found there and searched.

interface Definition {
  name: string
  text: string
  file: string
  /** The number of its first line. */
  line: number
  form: TaskForm
}

/** More definitions do not belong to one task. */
const MAX_DEFINITIONS = 60
/** A longer definition is searched as far as this. */
const MAX_TEXT = 20_000

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

function cutDefinitions(text: string, file: string, form: TaskForm): Definition[] {
  const keys = form.json ? readKeys(text) : undefined
  if (keys)
    return keys.map(([name, value]) => ({
      ...{
        name,
        file,
        form,
        text: JSON.stringify({ [name]: value }, null, 1)
          .slice(1, -1)
          .trim(),
      },
      line: text.slice(0, Math.max(0, text.indexOf(JSON.stringify(name)))).split('\n').length,
    }))
  const lines = text.split('\n')
  const found: Definition[] = []
  let [line, from] = [0, 0]
  for (const match of text.matchAll(form.begins)) {
    const name = match.slice(1).find(group => group !== undefined)
    for (let at = text.indexOf('\n', from); at >= 0 && at < match.index; at = text.indexOf('\n', from)) {
      line++
      from = at + 1
    }
    if (name !== undefined) found.push({ name, text: cutBlock(lines, line, form), file, line: line + 1, form })
    if (found.length >= MAX_FOUND) break
  }
  return found
}

/** Every key of a text in JSON with its value; `undefined` if it is none. */
function readKeys(text: string): [string, unknown][] | undefined {
  const found: [string, unknown][] = []
  const visit = (value: unknown, depth: number): undefined => {
    if (typeof value !== 'object' || value === null || depth > MAX_KEYS) return
    for (const [key, inner] of Object.entries(value)) {
      if (found.length < MAX_FOUND) found.push([key, inner])
      visit(inner, depth + 1)
    }
  }
  try {
    visit(JSON.parse(text), 0)
    return found
  } catch {
    return undefined // a text with comments is read line by line
  }
}

/** Tasks are no deeper than this. */
const MAX_KEYS = 4
/** More definitions than any file of tasks has. */
const MAX_FOUND = 400

/** The lines of a definition, with the decorators above it. */
function cutBlock(lines: readonly string[], at: number, { ends, until }: Pick<TaskForm, 'ends' | 'until'>): string {
  const indent = (line: string) => /^[ \t]*/.exec(line)?.[0].length ?? 0
  const first = lines[at] ?? ''
  const block = [first]
  let size = first.length
  for (let next = at + 1; next < lines.length && size < MAX_TEXT; next++) {
    const line = lines[next] ?? ''
    const isOver =
      until?.test(line) ??
      ends?.test(block.at(-1) ?? '') ??
      (line.trim() !== '' && indent(line) <= indent(first) && !CLOSES.test(line))
    if (isOver) break
    block.push(line)
    size += line.length + 1
  }
  return block.join('\n').slice(0, MAX_TEXT)
}

const CLOSES = /^\s*([)\]}]|end\b|<\/)/
