import type { Span } from '../../domain/assessment.ts'

// The part of the shell's grammar that matters for risk, as plain data that can cross a thread boundary. Nothing else in the
// policy knows which parser made it.

/** One part of a word, before the shell expands it. */
export type WordPart =
  | { is: 'text'; value: string; quoted: boolean }
  | { is: 'glob'; value: string }
  /** `{a,b}`; the value is `undefined` if something in it expands further. */
  | { is: 'brace'; value: string | undefined; inner: Word[] }
  /** `plain` for `$x` and `${x}`, not for anything that computes (`${x:-y}`, `${!x}`, `${x[1]}`). */
  | {
      is: 'variable'
      name: string
      plain: boolean
      quoted: boolean
      inner: Word[]
      /** `${!x}`: which variable is read is known only when it runs. */
      indirect?: boolean
      /** `${!x*}`: the names of all variables that begin so. */
      names?: boolean
      /** `${x[@]}`: each element of a list. */
      all?: true
      /** `${x%.js}`: what is cut off its end, or its start, if that is written out. */
      cuts?: { end: boolean; text: string }
      /** `${x:=y}` sets x. */
      sets?: boolean
      /** `${#x}`: its length. */
      counts?: boolean
    }
  | { is: 'substitution'; how: '$(' | '<(' | '>('; script: Script }
  | { is: 'arithmetic'; inner: Word[] }

export interface Word {
  /** As written. */
  text: string
  at: Span
  bits: WordPart[]
}

export interface Assign {
  name: string
  at: Span
  append: boolean
  /** `undefined` for arrays and indexed elements, whose words are in `inner`. */
  value: Word | undefined
  inner: Word[]
  /** Set for `a=(b c)`: `inner` are its elements, in order. */
  list?: true
}

export interface Redirect {
  op: string
  at: Span
  /** The file or descriptor; the text of a here-string or here-document is in `body`. */
  target: Word | undefined
  body: Word | undefined
}

export type ShellNode =
  | { is: 'command'; at: Span; assigns: Assign[]; words: Word[]; redirects: Redirect[] }
  | { is: 'pipeline'; at: Span; parts: ShellNode[] }
  /**
   * Any compound command; `apart` if it runs in a process of its own, `background` if the shell does not wait for it, `maybe` if it
   * may not run at all, `endless` if it is a loop that nothing ends.
   */
  | {
      is: 'group'
      at: Span
      apart: boolean
      background: boolean
      maybe: boolean
      endless?: true
      /** Set if it runs only where there is no such file: `[ -f x ] || …`. */
      absent?: string
      /** Set if it runs only after this folder in /tmp was made: what it writes there is there, or nothing is. */
      made?: string
      body: ShellNode[]
      words: Word[]
      redirects: Redirect[]
    }
  | { is: 'loop'; at: Span; name: string; words: Word[] | undefined; body: ShellNode[] }
  | { is: 'function'; at: Span; name: string; body: ShellNode[] }

export interface Script {
  at: Span
  body: ShellNode[]
}

export interface ShellError {
  message: string
  at: Span
}

/** The result of parsing: the tree, and the errors of all nested scripts. */
export interface ParsedShell {
  script: Script
  errors: ShellError[]
}

/** Whether something runs in the background, so that the next round of a loop does not wait for it. */
export function startsProcesses(node: ShellNode): boolean {
  if (node.is === 'command') return false
  if (node.is === 'group' && node.background) return true
  return (node.is === 'pipeline' ? node.parts : node.body).some(startsProcesses)
}

/** Whether a function starts itself in a pipe or in the background, which makes endless copies. */
export function isForkBomb(nodes: readonly ShellNode[], name: string, apart: boolean): boolean {
  return nodes.some(node => {
    switch (node.is) {
      case 'command': {
        const bit = node.words[0]?.bits[0]
        return apart && bit?.is === 'text' && bit.value === name
      }
      case 'pipeline':
        return isForkBomb(node.parts, name, true)
      case 'group':
        return isForkBomb(node.body, name, apart || node.background)
      default:
        return isForkBomb(node.body, name, apart)
    }
  })
}
