import * as z from 'zod'

/**
 * What a project's own file may do to a setting before a person has said `pcc trust`:
 * `free` sets it, `tighten` may only make it stricter, `trusted` does nothing yet, `never` is refused at any time.
 */
export type ProjectRule = 'free' | 'tighten' | 'trusted' | 'never'

export interface Setting<T = unknown> {
  schema: z.ZodType<T>
  kind: 'text' | 'flag' | 'number' | 'list' | 'path'
  /** Ends the sentence "expected …". */
  expects: string
  standard: T
  about: string
  project: ProjectRule
  /** With `tighten`: the strictest reading of both, which is what holds until the project is trusted. */
  tighten?(held: T, proposed: T): T
  /** False while nothing reads it; `pcc config show` says so. */
  inForce: boolean
  /** Shown masked. */
  secret?: true
  /** Short names of the manual that are not simply the last part of the key. */
  also?: readonly string[]
}

type Given<T> = Omit<Setting<T>, 'schema' | 'kind' | 'expects'>

/** true or false. */
export function flag(given: Given<boolean>): Setting<boolean> {
  return { schema: z.boolean(), kind: 'flag', expects: 'true or false', ...given }
}

/** A whole number with a floor. */
export function count(least: number, given: Given<number>): Setting<number> {
  return {
    schema: z.number().int().min(least).max(Number.MAX_SAFE_INTEGER),
    kind: 'number',
    expects: `a whole number, ${least} or more`,
    ...given,
  }
}

/** A number from 0 to 1. */
export function share(given: Given<number>): Setting<number> {
  return { schema: z.number().min(0).max(1), kind: 'number', expects: 'a number from 0 to 1', ...given }
}

/** One word of a few. */
export function oneOf<const Word extends string>(words: readonly Word[], given: Given<Word>): Setting<Word> {
  return { schema: z.enum(words), kind: 'text', expects: anyOf(words), ...given }
}

/** Text that may be left unset. */
export function text(given: Given<string | undefined>): Setting<string | undefined> {
  return { schema: z.string().min(1), kind: 'text', expects: 'text', ...given }
}

/** Text that always has a value. */
export function word(given: Given<string>): Setting<string> {
  return { schema: z.string().min(1), kind: 'text', expects: 'text', ...given }
}

/** An http or https address. */
export function address(given: Given<string>): Setting<string> {
  return {
    schema: z.url({ protocol: /^https?$/ }),
    kind: 'text',
    expects: 'an address such as http://localhost:11434',
    ...given,
  }
}

/** A path; `~/` is the home directory, a relative one starts where the file that says it lies. */
export function path<T extends string | undefined>(given: Given<T>): Setting<T> {
  return { schema: z.string().min(1) as unknown as z.ZodType<T>, kind: 'path', expects: 'a path', ...given }
}

/** A list of texts, each of which must match. */
export function texts(given: Given<string[]>, item = z.string().min(1), each = 'texts'): Setting<string[]> {
  return { schema: z.array(item), kind: 'list', expects: `a list of ${each}`, ...given }
}

/** A list of words out of a few. */
export function someOf<const Word extends string>(words: readonly Word[], given: Given<Word[]>): Setting<Word[]> {
  return { schema: z.array(z.enum(words)), kind: 'list', expects: `a list of ${anyOf(words)}`, ...given }
}

function anyOf(words: readonly string[]): string {
  const quoted = words.map(each => `"${each}"`)
  return `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
}
