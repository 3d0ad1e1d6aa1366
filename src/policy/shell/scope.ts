import { resolve } from 'node:path'
import type { Script, ShellNode, Word, WordPart } from './tree.ts'

/** The value of a variable; of a list its first element, with all of them. */
export interface KnownValue {
  value: string
  glob: boolean
  list?: readonly string[]
}

/** What is known about variables, functions and the current directory at one point of a script. */
export interface ShellScope {
  home: string
  /** `undefined` after a `cd` to somewhere unknown. */
  cwd: string | undefined
  /** A file that is not there, because the command runs only then. */
  absent?: string | undefined
  /** The folder before the last `cd`, where `cd -` leads. */
  before?: string | undefined
  /** Variables that are set exactly once, to a known value. */
  values: Map<string, KnownValue>
  /** Variables that are set more than once, by a program, or to an unknown value. */
  unknown: Set<string>
  functions: Set<string>
  /** Functions that the script defines anywhere, also in one that may be called later. */
  defined: Set<string>
  /** Variables that got the value of a variable with a secret. */
  secrets: Set<string>
  /** Variables that hold names of the project's files, as a command lists them. */
  listed: Set<string>
  /** Variables that are set in more than one place. */
  several: Set<string>
  /** Folders in which a command may run: a `cd` may fail, be skipped, or happen in another iteration. */
  folders: Set<string>
  /** Whether something ran that may have set any variable (`source`, `declare -n`). */
  tainted: boolean
  /** Files that the same command has written: what is in them was not read. */
  written: Set<string>
  /** Programs that the same command has compiled. */
  compiled: Set<string>
  /** The texts of those that the command itself spells out, once. */
  spelled: Map<string, string | undefined>
  /** Variables that may hold a text from outside. */
  outside: Set<string>
  /** The script that is read, if it runs as one: `$0` names it. */
  script?: string | undefined
  /** Set while a command runs in a container of the project's own compose file. */
  contained?: boolean
  /** Folders in /tmp that the same command has made. */
  made: Set<string>
  /** Variables that hold the number of a process that this shell has started. */
  jobs: Set<string>
  /** Variables that stand in front of the command that runs now; `undefined` for a value that is not known. */
  given: Map<string, string | undefined>
}

/** The scope at the start of a command, with variables that it may find set. */
export function newScope(cwd: string, home: string, variables: Record<string, string> = {}): ShellScope {
  return {
    home,
    cwd,
    values: new Map(Object.entries(variables).map(([name, value]) => [name, { value, glob: false }])),
    unknown: new Set(),
    functions: new Set(),
    defined: new Set(),
    secrets: new Set(),
    listed: new Set(),
    several: new Set(),
    folders: new Set([cwd]),
    tainted: false,
    written: new Set(),
    compiled: new Set(),
    spelled: new Map(),
    outside: new Set(),
    made: new Set(),
    jobs: new Set(),
    given: new Map(),
  }
}

/** A scope for a process of its own: it sees everything and changes nothing outside. */
export function childScope(scope: ShellScope): ShellScope {
  return {
    ...scope,
    values: new Map(scope.values),
    unknown: new Set(scope.unknown),
    functions: new Set(scope.functions),
    secrets: new Set(scope.secrets),
    listed: new Set(scope.listed),
  }
}

/** Runs something that may not run, or may run any number of times: what it sets is not certain afterwards. */
export function walkUncertain(
  scope: ShellScope,
  walk: () => void,
  { absent, made }: { absent?: string; made?: string } = {},
): undefined {
  const [before, outer] = [new Map(scope.values), scope.absent]
  if (absent !== undefined) scope.absent = absent
  const isMade = made !== undefined && !scope.defined.has('mkdir') && !scope.defined.has('cd')
  walkApart(scope, walk, isMade ? made : undefined)
  scope.absent = outer
  for (const [name, value] of scope.values) {
    if (before.get(name) === value) continue
    scope.values.delete(name)
    scope.unknown.add(name)
  }
}

/**
 * Runs something that may happen later or never: files that it spells out hold that text only for itself. Below a folder that it needs nothing is if it
 * did not run.
 */
export function walkApart(scope: ShellScope, walk: () => void, made?: string): undefined {
  const before = new Map(scope.spelled)
  walk()
  for (const [path, text] of scope.spelled)
    if (before.get(path) !== text && !(made !== undefined && path.startsWith(`${made}/`)))
      scope.spelled.set(path, undefined)
}

/** Notes that a variable holds a name of the project's files, if nothing else can set it. */
export function noteListed(scope: ShellScope, name: string): undefined {
  if (!scope.several.has(name)) scope.listed.add(name)
}

/** More folders than anybody uses in one command. */
const MAX_FOLDERS = 16

/** Adds a folder in which the command may run. */
export function noteFolder(scope: ShellScope, folder: string): undefined {
  if (scope.folders.size < MAX_FOLDERS) scope.folders.add(folder)
}

const SETTERS = new Set([
  'read',
  'mapfile',
  'readarray',
  'declare',
  'typeset',
  'local',
  'export',
  'readonly',
  'let',
  'getopts',
  'unset',
  'printf',
  'wait',
  'select',
])

/**
 * Notes every variable that a script sets more than once, or in a way that we do not follow. This happens before the walk: a value
 * may be trusted only if no other line, in any branch, can have changed it.
 */
export function noteSetters(script: Script, scope: ShellScope): undefined {
  const seen = new Map<string, string>()
  const assigned: Assigned[] = []
  const set = (name: string, how: string) => {
    const before = seen.get(name) ?? (scope.values.has(name) ? 'outer' : undefined)
    if (before !== undefined && before !== how) {
      scope.unknown.add(name)
      scope.several.add(name)
    }
    seen.set(name, how)
  }
  const visitWord = (word: Word) => {
    for (const bit of word.bits) {
      if (bit.is === 'substitution') nodes(bit.script.body)
      else if (bit.is === 'variable') {
        // `${x:=y}` sets x.
        if (!bit.plain && bit.inner.length > 0 && !bit.cuts && !bit.all) scope.unknown.add(bit.name)
        bit.inner.forEach(visitWord)
      } else if (bit.is === 'brace' || bit.is === 'arithmetic') bit.inner.forEach(visitWord)
    }
  }
  const nodes = (list: readonly ShellNode[]) => {
    for (const node of list) visit(node)
  }
  const visit = (node: ShellNode) => {
    switch (node.is) {
      case 'command': {
        for (const assign of node.assigns) {
          // `IFS= read -r line` splits that line and nothing else.
          if (assign.name === 'IFS' && textOf(node.words[0]) !== 'read') scope.tainted = true
          // Before a program (`A=1 npm test`) the value holds only for that program, but being cautious costs nothing.
          const isComputed = (assign.value === undefined && !assign.list) || assign.append
          set(assign.name, isComputed ? 'computed' : `${assign.at[0]}:${assign.at[1]}`)
          if (isComputed) scope.unknown.add(assign.name)
          assigned.push({ name: assign.name, from: assign.value ? [assign.value] : assign.inner })
          if (assign.value) visitWord(assign.value)
          assign.inner.forEach(visitWord)
        }
        node.words.forEach(visitWord)
        noteCommand(node.words, set, scope, assigned)
        for (const redirect of node.redirects) {
          if (redirect.target) visitWord(redirect.target)
          if (redirect.body) visitWord(redirect.body)
        }
        return
      }
      case 'pipeline':
        return nodes(node.parts)
      case 'group':
        node.words.forEach(visitWord)
        return nodes(node.body)
      case 'loop':
        set(node.name, `${node.at[0]}:${node.at[1]}`)
        assigned.push({ name: node.name, from: node.words })
        if (node.name === 'IFS') scope.tainted = true
        node.words?.forEach(visitWord)
        return nodes(node.body)
      case 'function':
        scope.defined.add(node.name)
        return nodes(node.body)
    }
  }
  nodes(script.body)
  noteOutside(assigned, scope)
}

function noteCommand(
  words: Word[],
  set: (name: string, how: string) => void,
  scope: ShellScope,
  assigned: Assigned[],
): undefined {
  const start = words.findIndex(word => !/^(command|builtin)$/.test(textOf(word)))
  const [head, ...rest] = start < 0 ? [] : words.slice(start)
  const name = textOf(head)
  // `local` fails outside of a function.
  const isPlain = name !== 'local' && !rest.some(word => TRANSFORMS.test(word.text))
  if (SETTERS.has(name)) noteNames(rest, isPlain, set, scope)
  if (SETTERS.has(name))
    for (const word of rest) {
      const [, variable] = /^(?:-[a-zA-Z]*[va])?([A-Za-z_]\w*)/.exec(word.text) ?? []
      const reads = /^(read|mapfile|readarray|select)$/.test(name)
      if (variable !== undefined)
        assigned.push({ name: variable, from: reads ? undefined : name === 'printf' ? rest : [word] })
    }
  if (/^(set|shopt)$/.test(name) && rest.some(changesExpansion)) scope.tainted = true
  // The target of a `cd` is noted before the walk: a function or a loop may reach an earlier line after the `cd`.
  if ((name === 'cd' || name === 'pushd') && rest[0] && scope.cwd !== undefined) {
    const target = textOf(rest.find(word => !word.text.startsWith('-')))
    if (target !== '' && !target.startsWith('~')) noteFolder(scope, resolve(scope.cwd, target))
  }
}

/** Options of the shell after which words no longer expand as we expand them; those of `set -euo pipefail` do not matter. */
function changesExpansion(word: Word): boolean {
  const text = textOf(word)
  if (text === '-' || text === '--') return false
  if (/^[-+]/.test(text)) return /[^-+aehmnpuvxoE]/.test(text)
  return /^(braceexpand|keyword|noglob|posix|histexpand|(ext|null|fail|dot|nocase)?glob\w*|globstar|lastpipe|compat\w+|\w*splice\w*)$/.test(
    text,
  )
}

/** `declare -u`: the shell changes what is assigned, now and later. */
const TRANSFORMS = /^[-+][a-zA-Z]*[aAcilnu]/

/** `export A=1` sets A to the given value; `read A` and the like set it to anything. */
function noteNames(
  words: Word[],
  isPlain: boolean,
  set: (name: string, how: string) => void,
  scope: ShellScope,
): undefined {
  for (const word of words) {
    const [, name, equals] = /^(?:-[a-zA-Z]*v)?([A-Za-z_]\w*)(=)?/.exec(word.text) ?? []
    if (name === undefined) continue
    set(name, `${word.at[0]}:${word.at[1]}`)
    // `export a={b,c}` sets it twice.
    if (!equals || !isPlain || word.bits.some(bit => bit.is === 'brace')) scope.unknown.add(name)
    if (name === 'IFS') scope.tainted = true
  }
}

function textOf(word: Word | undefined): string {
  return word?.bits.length === 1 && word.bits[0]?.is === 'text' ? word.bits[0].value : ''
}

// Arithmetic evaluates the text of its operands, and an array index in that text runs commands: `a[$(id)]`. So a text from outside, which
// a program prints or a file holds, must not get there unless it can only be a number.

/** An assignment of a script: the variable, and the words that its value is made of. `undefined` stands for a text from outside. */
interface Assigned {
  name: string
  from: readonly Word[] | undefined
}

/** Notes the variables that may hold a text from outside, also by way of other variables. */
function noteOutside(assigned: readonly Assigned[], scope: ShellScope): undefined {
  for (let before = -1; before < scope.outside.size; ) {
    before = scope.outside.size
    for (const { name, from } of assigned)
      if (from === undefined || from.some(word => isFromOutside(word, scope))) scope.outside.add(name)
  }
}

/** The first operand of an arithmetic expression that may hold a text from outside. */
export function findEvaluated(operands: readonly Word[], scope: ShellScope): Word | undefined {
  return operands.find(
    word => isFromOutside(word, scope) || word.bits.some(bit => bit.is === 'text' && namesOutside(bit.value, scope)),
  )
}

/** Whether a text of arithmetic names a variable with a text from outside. A name needs no `$` there. */
export function namesOutside(text: string, { outside }: ShellScope): boolean {
  if (/\$\{?[\d@*]/.test(text)) return true
  return outside.size > 0 && (text.match(/[A-Za-z_]\w*/g) ?? []).some(name => outside.has(name))
}

function isFromOutside(word: Word, scope: ShellScope): boolean {
  return word.bits.some(bit => isPartFromOutside(bit, scope))
}

function isPartFromOutside(bit: WordPart, scope: ShellScope): boolean {
  switch (bit.is) {
    case 'text':
    case 'glob':
    case 'arithmetic':
      return false
    case 'brace':
      return bit.inner.some(inner => isFromOutside(inner, scope))
    case 'variable':
      return isVariableFromOutside(bit, scope)
    case 'substitution':
      return bit.how === '$(' && !printsNumber(bit.script)
  }
}

function isVariableFromOutside(bit: Extract<WordPart, { is: 'variable' }>, scope: ShellScope): boolean {
  if (bit.counts) return false
  return scope.outside.has(bit.name) || /^[\d@*]+$/.test(bit.name) || bit.inner.some(word => isFromOutside(word, scope))
}

/** Whether a script prints nothing but a number. */
function printsNumber({ body }: Script): boolean {
  const [node, second] = body
  if (node === undefined || second !== undefined) return false
  const parts = node.is === 'pipeline' ? node.parts : [node]
  const last = lineOf(parts.at(-1))
  if (NUMBERS.some(shape => shape.test(last))) return true
  // The first column of `wc` and `du` is a number.
  return /^(awk \{ ?print \$1 ?\}|cut -f ?1|cut -d {2}-f ?1)$/.test(last) && /^(wc|du) /.test(lineOf(parts.at(-2)))
}

const NUMBERS = [
  /^wc -[lcwm]$/,
  /^date \+%[sNjYmdHMSu](%[NjYmdHMSu])*$/,
  /^(nproc|seq( -?\d+)+|id -u|tput (cols|lines))$/,
  /^grep -\w*c\w* [^-\n][^\n]*$/,
  /^pgrep -c /,
  /^stat (-c ?|--format=|--printf=|-f ?)%[sYXZahum] [^-]\S*$/,
  /^git rev-list --count [\w./^@~ -]+$/,
  /^git (log|show) (-1 |-s |-n ?1 )*(--format=|--pretty=(format:)?)%[ac]t( -1| -s)*( [\w./^@~-]+)*$/,
  /^date (-u )?(-d|--date=?|-r) ?[^\n]+ \+%s$/,
  /^jq (-r )?(\. \| )?length$/,
  /^curl [^\n]*-o \/dev\/null [^\n]*-w %\{(http_code|response_code)\}/,
]

/** The words of a command as the program gets them, as far as they are plain text. */
function lineOf(node: ShellNode | undefined): string {
  if (node?.is !== 'command' || node.assigns.length > 0) return ''
  return node.words
    .map(({ bits }) => bits.map(bit => (bit.is === 'text' || bit.is === 'glob' ? bit.value : '\n')).join(''))
    .join(' ')
}
