import { resolve } from 'node:path'
import type { Script, ShellNode, Word } from './tree.ts'

/** What is known about variables, functions and the current directory at one point of a script. */
export interface Scope {
  home: string
  /** `undefined` after a `cd` to somewhere unknown. */
  cwd: string | undefined
  /** Names that are set exactly once, to something known. */
  values: Map<string, { value: string; glob: boolean }>
  /** Names that are set more than once, by a program, or to something unknown. */
  unknown: Set<string>
  functions: Set<string>
  /** Names that hold the value of a variable with a secret. */
  secrets: Set<string>
  /** Folders in which a command may find itself: a `cd` may fail, not happen, or happen in another round. */
  folders: Set<string>
  /** Something was run that may have set anything (`source`, `declare -n`). */
  tainted: boolean
}

/** The start of a command. */
export function newScope(cwd: string, home: string): Scope {
  return {
    home,
    cwd,
    values: new Map(),
    unknown: new Set(),
    functions: new Set(),
    secrets: new Set(),
    folders: new Set([cwd]),
    tainted: false,
  }
}

/** A scope for what runs in a process of its own: it sees all and changes nothing outside. */
export function childScope(scope: Scope): Scope {
  return {
    ...scope,
    values: new Map(scope.values),
    unknown: new Set(scope.unknown),
    functions: new Set(scope.functions),
    secrets: new Set(scope.secrets),
  }
}

/** More folders than anybody visits in one command. */
const MAX_FOLDERS = 16

/** Remembers a folder that the command has been in. */
export function noteFolder(scope: Scope, folder: string): undefined {
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
 * Notes every name that a script sets more than once or in a way we do not follow, before it is walked: a value may be
 * trusted only if no other line, in whatever branch, can have changed it.
 */
export function noteSetters(script: Script, scope: Scope): undefined {
  const seen = new Map<string, string>()
  const set = (name: string, how: string) => {
    const before = seen.get(name) ?? (scope.values.has(name) ? 'outer' : undefined)
    if (before !== undefined && before !== how) scope.unknown.add(name)
    seen.set(name, how)
  }
  const word = (one: Word) => {
    for (const bit of one.bits) {
      if (bit.is === 'substitution') nodes(bit.script.body)
      else if (bit.is === 'variable') {
        // `${x:=y}` sets x.
        if (!bit.plain && bit.inner.length > 0) scope.unknown.add(bit.name)
        bit.inner.forEach(word)
      } else if (bit.is === 'brace' || bit.is === 'arithmetic') bit.inner.forEach(word)
    }
  }
  const nodes = (list: readonly ShellNode[]) => {
    for (const node of list) visit(node)
  }
  const visit = (node: ShellNode) => {
    switch (node.is) {
      case 'command': {
        for (const one of node.assigns) {
          // Before a program (`A=1 npm test`) it holds for that program alone, but the cautious reading costs nothing.
          set(one.name, one.value === undefined || one.append ? 'computed' : `${one.at[0]}:${one.at[1]}`)
          if (one.value === undefined || one.append) scope.unknown.add(one.name)
          if (one.value) word(one.value)
          one.inner.forEach(word)
        }
        node.words.forEach(word)
        noteCommand(node.words, set, scope)
        for (const one of node.redirects) {
          if (one.target) word(one.target)
          if (one.body) word(one.body)
        }
        return
      }
      case 'pipeline':
        return nodes(node.parts)
      case 'group':
        node.words.forEach(word)
        return nodes(node.body)
      case 'loop':
        set(node.name, `${node.at[0]}:${node.at[1]}`)
        node.words?.forEach(word)
        return nodes(node.body)
      case 'function':
        return nodes(node.body)
    }
  }
  nodes(script.body)
}

function noteCommand(words: Word[], set: (name: string, how: string) => void, scope: Scope): undefined {
  const start = words.findIndex(one => !/^(command|builtin)$/.test(textOf(one)))
  const [head, ...rest] = start < 0 ? [] : words.slice(start)
  const name = textOf(head)
  if (SETTERS.has(name)) noteNames(rest, set, scope)
  // Where a `cd` leads is noted beforehand: a function or a loop may come to a line with it done.
  if ((name === 'cd' || name === 'pushd') && rest[0] && scope.cwd !== undefined) {
    const target = textOf(rest.find(one => !one.text.startsWith('-')))
    if (target !== '' && !target.startsWith('~')) noteFolder(scope, resolve(scope.cwd, target))
  }
}

/** `export A=1` sets A to what stands there; `read A` and the like set it to anything. */
function noteNames(words: Word[], set: (name: string, how: string) => void, scope: Scope): undefined {
  for (const one of words) {
    const [, name, equals] = /^(?:-[a-zA-Z]*v)?([A-Za-z_]\w*)(=)?/.exec(one.text) ?? []
    if (name === undefined) continue
    if (equals) set(name, `${one.at[0]}:${one.at[1]}`)
    else scope.unknown.add(name)
  }
}

function textOf(word: Word | undefined): string {
  return word?.bits.length === 1 && word.bits[0]?.is === 'text' ? word.bits[0].value : ''
}
