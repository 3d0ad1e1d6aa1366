import type { Span } from '../../../domain/assessment.ts'

/** Stands for what is known only when the command runs. It cannot occur in a command: control characters are refused. */
export const HOLE = '\0'

/** A word after expansion, as far as that can be told beforehand. */
export interface Arg {
  /** With `HOLE` for every part that is not known. */
  value: string
  /** As written. */
  text: string
  at: Span
  known: boolean
  /** An unquoted `*`, `?` or `[…]` stands in it. */
  glob: boolean
  /** Part of it comes out of a command. */
  substituted: boolean
  /** The variable in it whose name says that it holds a secret. */
  secret?: string
}

/** An argument that did not stand in the command as such. */
export function made(value: string, like: Arg): Arg {
  return { ...like, value, known: !value.includes(HOLE) }
}

/** `-x`, `--long`: anything that begins with a dash and is more than one. */
export function isFlag(arg: Arg): boolean {
  return arg.value.length > 1 && arg.value.startsWith('-')
}
