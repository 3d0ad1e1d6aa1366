// Reads makefiles and justfiles as far as it takes to know which lines a call gives to the shell.

/** A rule: what it makes, what it needs first, and the lines that it runs. */
interface Recipe {
  targets: string
  needs: string
  lines: FileLine[]
}

/** `line` is left out for a line of an included file. */
interface FileLine {
  text: string
  line?: number
}

export interface MakeFile {
  recipes: Recipe[]
  /** Every value that a variable is given, in order: which of them holds may depend on conditions. */
  variables: Map<string, string[]>
  /** Commands that run while the file itself is read. */
  atOnce: FileLine[]
  /** The files that it includes. */
  includes: string[]
  /** Variables that keep the value of the environment if there is one (`X ?= 1`). */
  soft: Set<string>
}

/** Stands for what is known only when make runs. The shell's reader knows no such variable. */
const UNKNOWN = '$MAKE_VALUE'

const ASSIGNMENT = /^(?:(?:export|override|private)\s+)*([\w.%/-]+)\s*(\?=|\+=|!=|:{0,3}=)\s*(.*)$/s
const DIRECTIVE = /^(ifeq|ifneq|ifdef|ifndef|else|endif|export|unexport|vpath|undefine|load)\b/

/** Reads a makefile. Both sides of every condition count. */
export function readMakeFile(text: string): MakeFile {
  const file: MakeFile = { recipes: [], variables: new Map(), atOnce: [], includes: [], soft: new Set() }
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  const [, prefix = '\t'] = /^\.RECIPEPREFIX\s*:?=\s*(\S)/m.exec(text) ?? []
  let recipe: Recipe | undefined
  for (let at = 0; at < lines.length; at++) {
    const line = at + 1
    let whole = lines[at] ?? ''
    const isRecipe = whole.startsWith(prefix) && recipe !== undefined
    while (whole.endsWith('\\') && at + 1 < lines.length)
      whole = isRecipe ? `${whole}\n${stripPrefix(lines[++at] ?? '', prefix)}` : `${whole.slice(0, -1)} ${lines[++at]}`
    if (isRecipe) {
      recipe?.lines.push({ text: whole.slice(1), line })
      continue
    }
    const plain = whole.replace(/(^|\s)#.*$/s, '').trim()
    if (plain === '' || DIRECTIVE.test(plain)) {
      if (!/^export\s+\w+\s*[:?+!]*=/.test(plain)) continue
    }
    const [, defined] = /^define\s+([\w.-]+)/.exec(plain) ?? []
    if (defined !== undefined) {
      const body: string[] = []
      for (at++; at < lines.length && !/^\s*endef\b/.test(lines[at] ?? ''); at++) body.push(lines[at] ?? '')
      setVariable(file, defined, body.map(part => part.replace(/^\t?[@+-]*/, '')).join('\n'))
      continue
    }
    for (const command of findShellCalls(plain)) file.atOnce.push({ text: command, line })
    const [, included] = /^[-s]?include\s+(.*)$/.exec(plain) ?? []
    if (included !== undefined) {
      file.includes.push(...included.split(/\s+/))
      continue
    }
    const [, name, how, value = ''] = ASSIGNMENT.exec(plain) ?? []
    if (name !== undefined) {
      if (how === '!=') file.atOnce.push({ text: value, line })
      if (how === '?=' && !file.variables.has(name)) file.soft.add(name)
      setVariable(file, name, how === '!=' ? UNKNOWN : value, how === '+=')
      continue
    }
    recipe = readRule(file, plain, line) ?? recipe
  }
  if (/^\.ONESHELL\s*:/m.test(text)) file.recipes.forEach(joinLines)
  return file
}

function stripPrefix(line: string, prefix: string): string {
  return line.startsWith(prefix) ? line.slice(1) : line
}

/** One shell reads all lines of a recipe, not one for each. */
function joinLines(recipe: Recipe): undefined {
  const [first] = recipe.lines
  if (first) recipe.lines = [{ ...first, text: recipe.lines.map(({ text }) => text).join('\n') }]
}

/** `a b: c d ; command`. A variable may also be set for one target: `a: X = 1`. */
function readRule(file: MakeFile, plain: string, line: number): Recipe | undefined {
  const [, targets, rest = ''] = /^((?:[^:=$]|\$\([^)]*\)|\$\{[^}]*\}|\$.)+?)\s*::?(?!=)\s*(.*)$/s.exec(plain) ?? []
  if (targets === undefined) return undefined
  const [, name, how, value = ''] = ASSIGNMENT.exec(rest) ?? []
  if (name !== undefined) {
    setVariable(file, name, value, how === '+=')
    return undefined
  }
  const [needs = '', ...commands] = rest.split(';')
  const recipe: Recipe = { targets, needs: needs.replace(/^[^:]*%[^:]*:/, ''), lines: [] }
  if (commands.length > 0) recipe.lines.push({ text: commands.join(';').trim(), line })
  file.recipes.push(recipe)
  return recipe
}

function setVariable({ variables }: MakeFile, name: string, value: string, append = false): undefined {
  const before = variables.get(name) ?? []
  if (append) variables.set(name, before.length === 0 ? [value] : before.map(one => `${one} ${value}`))
  else if (before.length < MAX_VALUES && !before.includes(value)) variables.set(name, [...before, value])
}

/** More values of one variable than conditions usually give it. */
const MAX_VALUES = 4

/** Reads a justfile in the same form: `{{x}}` is a variable there, and `$` is the shell's. */
export function readJustFile(text: string): MakeFile {
  const file: MakeFile = { recipes: [], variables: new Map(), atOnce: [], includes: [], soft: new Set() }
  let recipe: Recipe | undefined
  for (const [at, raw] of text.split('\n').entries()) {
    const line = at + 1
    if (/^\s+\S/.test(raw) && recipe) {
      recipe.lines.push({
        text: raw
          .trim()
          .replaceAll('$', '$$$$')
          .replace(/\{\{\s*(.*?)\s*\}\}/g, '$($1)'),
        line,
      })
      continue
    }
    const [, name, value = ''] = /^(?:export\s+)?([\w-]+)\s*:=\s*(.*)$/.exec(raw) ?? []
    for (const [, command = ''] of raw.startsWith(' ') ? [] : value.matchAll(/`([^`]+)`/g))
      file.atOnce.push({ text: command, line })
    const [, plain] = /^(["'])([^"']*)\1\s*$/.exec(value)?.slice(1) ?? []
    if (name !== undefined) setVariable(file, name, plain ?? UNKNOWN)
    const [, targets, needs = ''] = /^@?([\w-]+)(?:\s+[^:]*)?:(?!=)\s*([^#]*)/.exec(raw) ?? []
    if (name === undefined && targets !== undefined) {
      recipe = { targets, needs: needs.replace(/&&|\((\S+)[^)]*\)/g, ' $1 '), lines: [] }
      file.recipes.push(recipe)
    }
  }
  for (const one of file.recipes) {
    const [, program] = /^#!\s*(.*)/.exec(one.lines[0]?.text ?? '') ?? []
    if (program === undefined) continue
    joinLines(one)
    // The program that reads the lines is no shell.
    if (!/(ba|da|z|k)?sh\b/.test(program)) one.lines = []
  }
  return file
}

/** The commands in `$(shell …)`, also inside of other functions. */
function findShellCalls(text: string): string[] {
  const found: string[] = []
  for (const { index } of text.matchAll(/\$[({]shell\s/g)) {
    const end = findEnd(text, index + 1)
    found.push(text.slice(index + 8, end).trim())
  }
  return found
}

/** The place of the bracket that closes the one at `open`. */
function findEnd(text: string, open: number): number {
  const [left, right] = text[open] === '{' ? ['{', '}'] : ['(', ')']
  let depth = 0
  for (let at = open; at < text.length; at++) {
    if (text[at] === left) depth++
    else if (text[at] === right && --depth === 0) return at
  }
  return text.length
}

interface Wanted {
  /** The targets of the call; with none, the first one of the file. */
  targets: readonly string[]
  /** Variables that the call sets. */
  given: ReadonlyMap<string, string>
  /** Variables that make finds in its environment, or `undefined` for a value that is not known. */
  found: ReadonlyMap<string, string | undefined>
  /** Whether make only prints what it would run. What runs while the file is read runs all the same. */
  onlyLooks: boolean
}

/** More lines than anybody runs by one target. */
const MAX_LINES = 400

/** The lines that the shell gets for some targets and for what they need, with variables filled in. */
export function listRecipeLines(file: MakeFile, { targets, given, found: outer, onlyLooks }: Wanted): FileLine[] {
  const inherited = [...outer].filter(([name]) => file.soft.has(name) || !file.variables.has(name))
  const variables = new Map([
    ...file.variables,
    ...inherited.map(([name, value]): [string, string[]] => [
      name,
      [...(file.variables.get(name) ?? []).slice(0, MAX_VALUES - 1), value ?? UNKNOWN],
    ]),
    ...[...given].map(([name, value]): [string, string[]] => [name, [value]]),
  ])
  const found = new Map<string, FileLine>()
  const add = (text: string, line: number | undefined) => {
    if (found.size < MAX_LINES) found.set(`${line} ${text}`, { text, ...(line !== undefined && { line }) })
  }
  const most = Math.max(1, ...[...variables.values()].map(values => values.length))
  for (let choice = 0; choice < Math.min(most, MAX_VALUES); choice++) {
    const expand = (text: string, names: Record<string, string> = {}) => expandMake(text, { variables, choice, names })
    for (const { text, line } of file.atOnce) add(expand(text), line)
    const recipes = file.recipes.map(recipe => ({ ...recipe, made: splitWords(expand(recipe.targets)) }))
    const first = recipes.flatMap(({ made }) => made).find(name => !/^\.|%/.test(name))
    const goal = splitWords(expand('$(.DEFAULT_GOAL)')).filter(name => name !== '' && !name.includes('$'))
    const waiting = targets.length > 0 ? [...targets] : goal.length > 0 ? goal : first ? [first] : []
    const seen = new Set<string>()
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      if (seen.has(name)) continue
      seen.add(name)
      for (const { made, needs, lines } of recipes) {
        if (!made.some(one => makesTarget(one, name))) continue
        const all = splitWords(expand(needs)).filter(one => one !== '|')
        waiting.push(...all)
        const names = { '@': name, '<': all[0] ?? '', '^': all.join(' '), '+': all.join(' '), '?': all.join(' ') }
        for (const { text, line } of lines) {
          // Without running a line make still expands it, and runs what is marked with a plus.
          if (onlyLooks) for (const command of findShellCalls(text)) add(expand(command), line)
          if (onlyLooks && !RUNS_ALWAYS.test(text)) continue
          const filled = expand(text, names).replace(/^\s*[@+-]+\s*/, '')
          add(filled, line)
        }
      }
    }
  }
  return [...found.values()]
}

/** Lines that also run with `-n`. */
const RUNS_ALWAYS = /^\s*[@-]*\+|\$[({]MAKE[)}]/

/** Whether `make -n` only prints: no line runs all the same, and the file itself does nothing but look while it is read. */
export function onlyPrints({ recipes, atOnce, includes, variables }: MakeFile): boolean {
  const texts = [...recipes.flatMap(({ lines }) => lines.map(({ text }) => text)), ...[...variables.values()].flat()]
  return (
    includes.length === 0 &&
    recipes.every(({ lines }) =>
      lines.every(({ text }) => !RUNS_ALWAYS.test(text) && !/\$[({](shell|eval|call)\b/.test(text)),
    ) &&
    texts.every(text => !/\$[({](eval|file|guile|call)\b/.test(text)) &&
    atOnce.every(({ text }) => LOOKS.test(text))
  )
}

const LOOKS =
  /^(git (rev-parse|describe|log|branch --show-current|rev-list|symbolic-ref|config --get)|date|uname|pwd|whoami|hostname|nproc|ls|basename|dirname|cat (VERSION|version(\.txt)?)|go (env|version|list)|node (-v|--version)|command -v|which)( [\w%+:.,/@='"^~{}-]+)*( 2>\/dev\/null)?$/

function splitWords(text: string): string[] {
  return text.split(/\s+/).filter(word => word !== '')
}

/** A name that is known only when make runs may be any target. */
function makesTarget(made: string, name: string): boolean {
  if (made === name || made.includes('$')) return true
  const at = made.indexOf('%')
  return at >= 0 && name.startsWith(made.slice(0, at)) && name.endsWith(made.slice(at + 1))
}

interface Expansion {
  variables: ReadonlyMap<string, string[]>
  /** Which of several values of a variable is taken. */
  choice: number
  /** The automatic variables, `$@` and the like. */
  names: Record<string, string>
  depth?: number
}

const MAX_DEPTH = 12
const MAX_TEXT = 16_384

/** Fills in variables and the functions that only handle words. What is not known becomes an unknown variable of the shell. */
function expandMake(text: string, context: Expansion): string {
  const { depth = 0 } = context
  if (depth > MAX_DEPTH) return UNKNOWN
  let result = ''
  for (let at = 0; at < text.length && result.length < MAX_TEXT; at++) {
    const sign = text[at]
    const next = text[at + 1]
    if (sign !== '$' || next === undefined) result += sign
    else if (next === '$') {
      result += '$'
      at++
    } else if (next === '(' || next === '{') {
      const end = findEnd(text, at + 1)
      result += expandReference(text.slice(at + 2, end), { ...context, depth: depth + 1 })
      at = end
    } else {
      result += context.names[next] ?? expandReference(next, { ...context, depth: depth + 1 })
      at++
    }
  }
  return result
}

function expandReference(text: string, context: Expansion): string {
  const [, name, args] = /^([\w-]+)\s+(.*)$/s.exec(text) ?? []
  if (name === 'shell') return `$(${expandMake(args ?? '', context)})`
  if (name !== undefined && args !== undefined) return applyFunction(name, args, context)
  const [, base = text, from, to = ''] = /^([^:]+):([^=]*)=(.*)$/s.exec(text) ?? []
  const value = readVariable(expandMake(base, context), context)
  if (from === undefined) return value
  const pattern = from.includes('%') ? from : `%${from}`
  return substitute(value, pattern, to.includes('%') || from.includes('%') ? to : `%${to}`)
}

function readVariable(name: string, context: Expansion): string {
  const automatic = context.names[name]
  if (automatic !== undefined) return automatic
  const values = context.variables.get(name)
  const value = values?.[Math.min(context.choice, values.length - 1)]
  if (value !== undefined) return expandMake(value, context)
  if (Object.hasOwn(BUILT_IN, name)) return BUILT_IN[name] ?? ''
  // make takes every variable of the environment.
  return /^[A-Z_]\w*$/i.test(name) ? `\${${name}}` : name === '.DEFAULT_GOAL' ? '' : UNKNOWN
}

const BUILT_IN: Record<string, string> = {
  CC: 'cc',
  CXX: 'c++',
  CPP: 'cc -E',
  AR: 'ar',
  LD: 'ld',
  AS: 'as',
  RM: 'rm -f',
  MAKE: 'make',
  MAKEFLAGS: '',
  CURDIR: '.',
  SHELL: '/bin/sh',
  ...Object.fromEntries('CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LDLIBS ARFLAGS'.split(' ').map(name => [name, ''])),
}

function applyFunction(name: string, text: string, context: Expansion): string {
  const [first = '', second = '', third = ''] = text.split(',').map(part => expandMake(part.trim(), context))
  const each = (change: (word: string) => string, words: string) => splitWords(words).map(change).join(' ')
  switch (name) {
    case 'wildcard':
    case 'sort':
    case 'strip':
    case 'abspath':
    case 'realpath':
      return first
    case 'patsubst':
      return substitute(third, first, second)
    case 'subst':
      return third.replaceAll(first, second)
    case 'addprefix':
      return each(word => `${first}${word}`, second)
    case 'addsuffix':
      return each(word => `${word}${first}`, second)
    case 'notdir':
      return each(word => word.slice(word.lastIndexOf('/') + 1), first)
    case 'basename':
      return each(word => word.replace(/\.[^./]*$/, ''), first)
    case 'call':
      return expandMake(`$(${first})`, { ...context, names: { ...context.names, 1: second, 2: third } })
    case 'info':
    case 'warning':
    case 'eval':
      return ''
    default:
      return UNKNOWN
  }
}

function substitute(words: string, from: string, to: string): string {
  const at = from.indexOf('%')
  const [head, tail] = at < 0 ? [from, ''] : [from.slice(0, at), from.slice(at + 1)]
  return splitWords(words)
    .map(word => {
      if (at < 0) return word === from ? to : word
      if (!word.startsWith(head) || !word.endsWith(tail)) return word
      return to.replace('%', () => word.slice(head.length, word.length - tail.length))
    })
    .join(' ')
}
