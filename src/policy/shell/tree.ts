import type { Span } from '../../domain/assessment.ts'

// The shell's grammar as far as risk goes, as plain data: it crosses a thread boundary, and nothing else in the policy
// knows which parser made it.

/** One part of a word, before the shell expands it. */
export type WordPart =
  | { is: 'text'; value: string; quoted: boolean }
  | { is: 'glob'; value: string }
  /** `{a,b}` with nothing in it that expands further; `undefined` value when something does. */
  | { is: 'brace'; value: string | undefined; inner: Word[] }
  /** `plain` is `$x` or `${x}`; anything that computes (`${x:-y}`, `${!x}`, `${x[1]}`) is not. */
  | {
      is: 'variable'
      name: string
      plain: boolean
      quoted: boolean
      inner: Word[]
      /** `${!x}`: which variable is shown is known only when it runs. */
      indirect?: boolean
      /** `${x:=y}` sets x. */
      sets?: boolean
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
}

export interface Redirect {
  op: string
  at: Span
  /** Where it goes; the text of a here-string or here-document is in `body`. */
  target: Word | undefined
  body: Word | undefined
}

export type ShellNode =
  | { is: 'command'; at: Span; assigns: Assign[]; words: Word[]; redirects: Redirect[] }
  | { is: 'pipeline'; at: Span; parts: ShellNode[] }
  /** Any compound: what it contains runs; `apart` when in a process of its own, `background` when not waited for. */
  | {
      is: 'group'
      at: Span
      apart: boolean
      background: boolean
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

/** What the reader gives: the tree, and every complaint of every nested script. */
export interface ParsedShell {
  script: Script
  errors: ShellError[]
}
