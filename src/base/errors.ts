import { ACCESS_ERRORS, API_ERRORS } from './error-rows/api.ts'
import { SYSTEM_ERRORS } from './error-rows/system.ts'
import { FEATURE_ERRORS, RUN_ERRORS, TASK_ERRORS } from './error-rows/tasks.ts'
import { HOST_ERRORS, MEMORY_ERRORS, NOTE_ERRORS, SECRET_ERRORS, SERVICE_ERRORS } from './error-rows/upkeep.ts'
import { AGENT_ERRORS, PEOPLE_ERRORS, WORK_ERRORS, WORKSPACE_ERRORS } from './error-rows/work.ts'
import { quoteForShell } from './words.ts'

/**
 * Every error a person can meet, in one table. `says` states what happened to which thing, `next` what to do about it,
 * `exit` is the exit code of the command, `http` the status of the route. docs/errors.md is generated from these rows.
 */
export const ERRORS = {
  ...AGENT_ERRORS,
  ...WORK_ERRORS,
  ...TASK_ERRORS,
  ...NOTE_ERRORS,
  ...MEMORY_ERRORS,
  ...FEATURE_ERRORS,
  ...RUN_ERRORS,
  ...WORKSPACE_ERRORS,
  ...HOST_ERRORS,
  ...PEOPLE_ERRORS,
  ...SECRET_ERRORS,
  ...SERVICE_ERRORS,
  ...SYSTEM_ERRORS,
  ...ACCESS_ERRORS,
  ...API_ERRORS,
} as const

export type ErrorCode = keyof typeof ERRORS

/** The names of the `{placeholders}` in a text. */
type Placeholders<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never
type Detail<Code extends ErrorCode> = Record<
  Placeholders<(typeof ERRORS)[Code]['says'] | (typeof ERRORS)[Code]['next']>,
  string | number
>

/** The one error class: branch on `code`, never on the text. */
export class AppError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code
  readonly detail: Record<string, string | number>
  readonly next: string

  constructor(code: Code, detail: Detail<Code>, cause?: unknown) {
    super(fill(ERRORS[code].says, detail), cause === undefined ? undefined : { cause })
    this.name = 'AppError'
    this.code = code
    this.detail = detail
    this.next = fill(ERRORS[code].next, quoteWords(detail))
  }

  /** By the name: in the bundle some files have a copy of this class. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === 'AppError'
  }

  get exit(): number {
    return ERRORS[this.code].exit
  }

  get http(): number {
    return ERRORS[this.code].http
  }
}

/** Error codes of causes that pass by themselves: what failed because of one is tried again. */
export const PASSING_CODES: ReadonlySet<ErrorCode> = new Set([
  'disk_full',
  'store_unusable',
  'line_full',
  'daemon_stopping',
  'place_busy',
])

/** An error as the API sends it and as commands print it with `--json`. */
export interface ErrorReply {
  error: { code: string; message: string; next: string }
}

export function toErrorReply({ code, message, next }: ErrorReply['error']): ErrorReply {
  return { error: { code, message, next } }
}

/** The message of any thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** For the end of a switch over a union: the compiler proves that nothing reaches it. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`)
}

/** In advice these stand in commands, which a person copies as they are. */
const IN_COMMANDS = ['project', 'file', 'name', 'vendor_id']

function quoteWords(detail: Record<string, string | number>): Record<string, string | number> {
  const quoted = Object.entries(detail).map(([name, value]) => [
    name,
    IN_COMMANDS.includes(name) && !/^<\w+>$/.test(String(value)) ? quoteForShell(String(value)) : value,
  ])
  return Object.fromEntries(quoted)
}

function fill(template: string, detail: Record<string, string | number>): string {
  return template.replace(/\{(\w+)\}/g, (placeholder, name: string) =>
    name in detail ? String(detail[name]) : placeholder,
  )
}

/** What zod found wrong with a value, in words for people: `expected 1`, `it is missing`. */
export function issueText(issue: { message: string } | undefined): string {
  const text = (issue?.message ?? 'not valid').replace(/^Invalid input: /, '')
  return /, received undefined$/.test(text) ? 'it is missing' : text.replace(/, received NaN$/, '')
}
