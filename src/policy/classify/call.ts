import type { Risk } from '../../domain/session.ts'
import type { Access } from '../paths/judge-path.ts'
import type { Fence } from '../paths/place.ts'
import type { Arg } from './words/arg.ts'
import type { Scope } from './words/scope.ts'
import type { Upstream } from './words/upstream.ts'

/** What a program is fed on standard input, if that is not the agent's own. */
export interface Feed {
  /** Bytes of another program. */
  piped: boolean
  /** The text of a here-document or here-string, or the file of `<`. */
  text?: Arg
  file?: Arg
  /** What stands before it in the pipe, the first first. */
  upstream?: readonly Upstream[]
}

/** A program about to run: who, with what, fed how. Rules look at it and say what they see. */
export interface Call {
  /** Base name, lower case as the table has it. */
  name: string
  head: Arg
  args: Arg[]
  feed: Feed
  scope: Scope
  fence: Fence
  /** The shell itself looks for it, so that a function of that name counts. */
  direct: boolean
  /** Adds a reason; `at` is the word it is about, the program's own when left out. */
  say(code: string, risk: Risk, text: string, at?: Arg): undefined
  /** Judges a word as a path; a hole is unknown. Says nothing for a LOW one. */
  path(arg: Arg, access: Access): undefined
  /** Says something only if the word is the path of a secret. */
  secret(arg: Arg): undefined
  /** Judges words as a command of their own, in this place. */
  run(args: readonly Arg[]): undefined
  /** The shell sets a variable from here on (`export A=1`). */
  set(name: string, value: Arg, at: Arg): undefined
  /** The shell goes to another folder. */
  move(path: string): undefined
  /** Judges a text that a shell will read. */
  shell(script: Arg): undefined
}

/**
 * A rule for a program: says what it sees, nothing when the call is LOW. What a rule can do returns `undefined`, so that it
 * can end with `return call.say(…)`.
 */
export type Rule = (call: Call) => void

export type Rules = Record<string, Rule>
