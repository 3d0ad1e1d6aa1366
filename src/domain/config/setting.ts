import { readHours } from '../hours.ts'

/**
 * What a project's own file may do to a setting before a person has said `pcc trust`:
 * `free` sets it, `tighten` may only make it stricter, `trusted` does nothing yet, `never` is refused at any time.
 */
export type ProjectRule = 'free' | 'tighten' | 'trusted' | 'never'

export interface Setting<T = unknown> {
  /** Written by hand and not with zod: reading a setting must not cost the loading of a library (docs/adr/0005). */
  accepts(value: unknown): boolean
  kind: 'text' | 'flag' | 'number' | 'list' | 'path' | 'sections'
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
  /** A variable of the manual that stands for it too; the one made of its key wins. */
  variable?: string
}

type Given<T> = Omit<Setting<T>, 'accepts' | 'kind' | 'expects'>

/** true or false. */
export function flag(given: Given<boolean>): Setting<boolean> {
  return { accepts: value => typeof value === 'boolean', kind: 'flag', expects: 'true or false', ...given }
}

/** A whole number with a floor. */
export function count(least: number, given: Given<number>): Setting<number> {
  return {
    accepts: isCount(least),
    kind: 'number',
    expects: `a whole number, ${least} or more`,
    ...given,
  }
}

/** A whole number with a floor that may be left unset. */
export function optionalCount(least: number, given: Given<number | undefined>): Setting<number | undefined> {
  return { accepts: isCount(least), kind: 'number', expects: `a whole number, ${least} or more`, ...given }
}

/** A number above zero that may be left unset. */
export function optionalAmount(given: Given<number | undefined>): Setting<number | undefined> {
  return {
    accepts: value => typeof value === 'number' && value > 0 && value <= Number.MAX_SAFE_INTEGER,
    kind: 'number',
    expects: 'a number above 0',
    ...given,
  }
}

/** A share of a hundred. */
export function percent(given: Given<number>): Setting<number> {
  return {
    accepts: value => typeof value === 'number' && value > 0 && value <= 100,
    kind: 'number',
    expects: 'a number above 0, up to 100',
    ...given,
  }
}

/** A number from 0 to 1. */
export function share(given: Given<number>): Setting<number> {
  return {
    accepts: value => typeof value === 'number' && value >= 0 && value <= 1,
    kind: 'number',
    expects: 'a number from 0 to 1',
    ...given,
  }
}

/** One word of a few. */
export function oneOf<const Word extends string>(words: readonly Word[], given: Given<Word>): Setting<Word> {
  return { accepts: value => isOneOf(words, value), kind: 'text', expects: anyOf(words), ...given }
}

/** Text that may be left unset. */
export function text(given: Given<string | undefined>): Setting<string | undefined> {
  return { accepts: isText, kind: 'text', expects: 'text', ...given }
}

/** Text that always has a value. */
export function word(given: Given<string>): Setting<string> {
  return { accepts: isText, kind: 'text', expects: 'text', ...given }
}

/** Hours of the day that may be left unset. */
export function hours(given: Given<string | undefined>): Setting<string | undefined> {
  return {
    accepts: value => typeof value === 'string' && readHours(value) !== undefined,
    kind: 'text',
    expects: 'hours such as "22:00-07:00", or several with commas between',
    ...given,
  }
}

/** An http or https address. */
export function address(given: Given<string>): Setting<string> {
  return { accepts: isAddress, kind: 'text', expects: 'an address such as http://localhost:11434', ...given }
}

/** An http or https address that may be left unset. */
export function optionalAddress(given: Given<string | undefined>): Setting<string | undefined> {
  return { accepts: isAddress, kind: 'text', expects: 'an address such as http://localhost:1234/v1', ...given }
}

/** A path; `~/` is the home directory, a relative one starts where the file that says it lies. */
export function path<T extends string | undefined>(given: Given<T>): Setting<T> {
  return { accepts: isText, kind: 'path', expects: 'a path', ...given }
}

/** A list of texts, each of which must match. */
export function texts(given: Given<string[]>, item = /./s, each = 'texts'): Setting<string[]> {
  const accepts = (value: unknown) => isListOf(value, entry => typeof entry === 'string' && item.test(entry))
  return { accepts, kind: 'list', expects: `a list of ${each}`, ...given }
}

/** A list of words out of a few. */
export function someOf<const Word extends string>(words: readonly Word[], given: Given<Word[]>): Setting<Word[]> {
  const accepts = (value: unknown) => isListOf(value, entry => isOneOf(words, entry))
  return { accepts, kind: 'list', expects: `a list of ${anyOf(words)}`, ...given }
}

/** Sections of a name that the person gives, each with one text; they can be written in a file only. */
export function sections<const Key extends string>(
  key: Key,
  given: Given<Record<string, Record<Key, string>>>,
  { name, expects }: { name: RegExp; expects: string },
): Setting<Record<string, Record<Key, string>>> {
  const isSection = (value: unknown) => isTable(value) && Object.keys(value).join() === key && isText(value[key])
  const accepts = (value: unknown) =>
    isTable(value) && Object.entries(value).every(([each, section]) => name.test(each) && isSection(section))
  return { accepts, kind: 'sections', expects, ...given }
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isCount(least: number): (value: unknown) => boolean {
  return value => Number.isSafeInteger(value) && Number(value) >= least
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function isOneOf(words: readonly string[], value: unknown): boolean {
  return typeof value === 'string' && words.includes(value)
}

function isListOf(value: unknown, isItem: (entry: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem)
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
}

function anyOf(words: readonly string[]): string {
  const quoted = words.map(each => `"${each}"`)
  return `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
}

/** How what a project says joins what holds already: only ever to the stricter side. */
export const bothTrue = (held: boolean, proposed: boolean): boolean => held && proposed
export const lowerOf = (held: number, proposed: number): number => Math.min(held, proposed)
export const intersection = (held: string[], proposed: string[]): string[] =>
  held.filter(each => proposed.includes(each))
export const unionOf = (held: string[], proposed: string[]): string[] => [...new Set([...held, ...proposed])]
export const onlyTo =
  <T>(strict: T) =>
  (held: T, proposed: T): T =>
    proposed === strict ? strict : held
