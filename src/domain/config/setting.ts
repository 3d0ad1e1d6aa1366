import { readHours } from '../hours.ts'

/**
 * What a project's own file may do to a setting before a person runs `pcc trust`:
 * `free`: set it. `tighten`: only make it stricter. `trusted`: nothing yet. `never`: it is always refused.
 */
export type ProjectRule = 'free' | 'tighten' | 'trusted' | 'never'

export interface Setting<T = unknown, Rule extends ProjectRule = ProjectRule> extends SettingOptions<T, Rule> {
  /** Written by hand instead of with zod, because reading a setting must not load a library (docs/adr/0005). */
  accepts(value: unknown): boolean
  kind: 'text' | 'flag' | 'number' | 'list' | 'path' | 'sections'
  /** Completes the sentence "expected …". */
  expects: string
}

interface SettingOptions<T, Rule extends ProjectRule> {
  standard: T
  about: string
  project: Rule
  /** With `tighten`: the stricter of both values, which applies until the project is trusted. */
  tighten?(held: T, proposed: T): T
  /** Shown masked. */
  secret?: true
  /** It may be written as `env:NAME` or `secret:NAME` although it is nothing to hide; every secret may. */
  mayRefer?: true
  /** Short names in the manual that differ from the last part of the key. */
  also?: readonly string[]
  /** Another environment variable for it, from the manual; the one derived from its key wins. */
  variable?: string
}

/** A boolean. */
export function flag<Rule extends ProjectRule>(options: SettingOptions<boolean, Rule>): Setting<boolean, Rule> {
  return { accepts: value => typeof value === 'boolean', kind: 'flag', expects: 'true or false', ...options }
}

/** A whole number with a minimum. */
export function count<Rule extends ProjectRule>(
  least: number,
  options: SettingOptions<number, Rule>,
): Setting<number, Rule> {
  return {
    accepts: isCount(least),
    kind: 'number',
    expects: `a whole number, ${least} or more`,
    ...options,
  }
}

/** A whole number with a minimum that may be unset. */
export function optionalCount<Rule extends ProjectRule>(
  least: number,
  options: SettingOptions<number | undefined, Rule>,
): Setting<number | undefined, Rule> {
  return { accepts: isCount(least), kind: 'number', expects: `a whole number, ${least} or more`, ...options }
}

/** A number above zero that may be unset. */
export function optionalAmount<Rule extends ProjectRule>(
  options: SettingOptions<number | undefined, Rule>,
): Setting<number | undefined, Rule> {
  return {
    accepts: value => typeof value === 'number' && value > 0 && value <= Number.MAX_SAFE_INTEGER,
    kind: 'number',
    expects: 'a number above 0',
    ...options,
  }
}

/** A percentage. */
export function percent<Rule extends ProjectRule>(options: SettingOptions<number, Rule>): Setting<number, Rule> {
  return {
    accepts: value => typeof value === 'number' && value > 0 && value <= 100,
    kind: 'number',
    expects: 'a number above 0, up to 100',
    ...options,
  }
}

/** A number from 0 to 1. */
export function share<Rule extends ProjectRule>(options: SettingOptions<number, Rule>): Setting<number, Rule> {
  return {
    accepts: value => typeof value === 'number' && value >= 0 && value <= 1,
    kind: 'number',
    expects: 'a number from 0 to 1',
    ...options,
  }
}

/** One of a few words. */
export function oneOf<const Word extends string, Rule extends ProjectRule>(
  words: readonly Word[],
  options: SettingOptions<Word, Rule>,
): Setting<Word, Rule> {
  return { accepts: value => isOneOf(words, value), kind: 'text', expects: listAlternatives(words), ...options }
}

/** Text that may be unset. */
export function text<Rule extends ProjectRule>(
  options: SettingOptions<string | undefined, Rule>,
): Setting<string | undefined, Rule> {
  return { accepts: isText, kind: 'text', expects: 'text', ...options }
}

/** Text that always has a value. */
export function word<Rule extends ProjectRule>(options: SettingOptions<string, Rule>): Setting<string, Rule> {
  return { accepts: isText, kind: 'text', expects: 'text', ...options }
}

/** Hours of the day that may be unset. */
export function hours<Rule extends ProjectRule>(
  options: SettingOptions<string | undefined, Rule>,
): Setting<string | undefined, Rule> {
  return {
    accepts: value => typeof value === 'string' && readHours(value) !== undefined,
    kind: 'text',
    expects: 'hours such as "22:00-07:00", or several with commas between',
    ...options,
  }
}

/** An http or https address. */
export function address<Rule extends ProjectRule>(options: SettingOptions<string, Rule>): Setting<string, Rule> {
  return { accepts: isAddress, kind: 'text', expects: 'an address such as http://localhost:11434', ...options }
}

/** An http or https address that may be unset. */
export function optionalAddress<Rule extends ProjectRule>(
  options: SettingOptions<string | undefined, Rule>,
): Setting<string | undefined, Rule> {
  return { accepts: isAddress, kind: 'text', expects: 'an address such as http://localhost:1234/v1', ...options }
}

/** A path; `~/` is the home directory, and a relative path starts at the directory of the config file. */
export function path<Rule extends ProjectRule>(options: SettingOptions<string, Rule>): Setting<string, Rule> {
  return { accepts: isText, kind: 'path', expects: 'a path', ...options }
}

/** A path that may be unset. */
export function optionalPath<Rule extends ProjectRule>(
  options: SettingOptions<string | undefined, Rule>,
): Setting<string | undefined, Rule> {
  return { accepts: isText, kind: 'path', expects: 'a path', ...options }
}

/** A list of texts, each of which must match. */
export function texts<Rule extends ProjectRule>(
  options: SettingOptions<string[], Rule>,
  item = /./s,
  each = 'texts',
): Setting<string[], Rule> {
  const accepts = (value: unknown) => isListOf(value, entry => typeof entry === 'string' && item.test(entry))
  return { accepts, kind: 'list', expects: `a list of ${each}`, ...options }
}

/** A list of words from a fixed set. */
export function someOf<const Word extends string, Rule extends ProjectRule>(
  words: readonly Word[],
  options: SettingOptions<Word[], Rule>,
): Setting<Word[], Rule> {
  const accepts = (value: unknown) => isListOf(value, entry => isOneOf(words, entry))
  return { accepts, kind: 'list', expects: `a list of ${listAlternatives(words)}`, ...options }
}

/** Sections with names that the person chooses, each with one text; they can only be written in a file. */
export function sections<const Key extends string, Rule extends ProjectRule>(
  key: Key,
  options: SettingOptions<Record<string, Record<Key, string>>, Rule>,
  { name, expects }: { name: RegExp; expects: string },
): Setting<Record<string, Record<Key, string>>, Rule> {
  const isSection = (value: unknown) => isTable(value) && Object.keys(value).join() === key && isText(value[key])
  const accepts = (value: unknown) =>
    isTable(value) && Object.entries(value).every(([each, section]) => name.test(each) && isSection(section))
  return { accepts, kind: 'sections', expects, ...options }
}

/** Sections with names that the person chooses, each with some of these texts; they can only be written in a file. */
export function tables<const Key extends string, const Needed extends NoInfer<Key>, Rule extends ProjectRule>(
  fields: Record<Key, RegExp>,
  needed: readonly Needed[],
  options: SettingOptions<Record<string, Tables<Key, Needed>>, Rule>,
  { name, expects }: { name: RegExp; expects: string },
): Setting<Record<string, Tables<Key, Needed>>, Rule> {
  const isField = ([key, value]: [string, unknown]) =>
    Object.hasOwn(fields, key) && typeof value === 'string' && fields[key as Key].test(value)
  const isSection = (value: unknown) =>
    isTable(value) && needed.every(key => value[key] !== undefined) && Object.entries(value).every(isField)
  const accepts = (value: unknown) =>
    isTable(value) && Object.entries(value).every(([each, section]) => name.test(each) && isSection(section))
  return { accepts, kind: 'sections', expects, ...options }
}

type Tables<Key extends string, Needed extends Key> = Record<Needed, string> & Partial<Record<Key, string>>

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

function listAlternatives(words: readonly string[]): string {
  const quoted = words.map(word => `"${word}"`)
  return `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
}

/** How a project's value combines with the current one: always to the stricter side. */
export const bothTrue = (held: boolean, proposed: boolean): boolean => held && proposed
export const lowerOf = (held: number, proposed: number): number => Math.min(held, proposed)
/** The lower of two limits; 0 means no limit. */
export const lowerLimit = (held: number, proposed: number): number =>
  held === 0 ? proposed : proposed === 0 ? held : Math.min(held, proposed)
export const intersection = (held: string[], proposed: string[]): string[] =>
  held.filter(item => proposed.includes(item))
export const unionOf = (held: string[], proposed: string[]): string[] => [...new Set([...held, ...proposed])]
export const onlyTo =
  <T>(strict: T) =>
  (held: T, proposed: T): T =>
    proposed === strict ? strict : held
/** Returns the word that comes later in the list, where later words are stricter. */
export const laterOf =
  <Word extends string>(words: readonly Word[]) =>
  (held: Word, proposed: Word): Word =>
    words.indexOf(proposed) > words.indexOf(held) ? proposed : held
