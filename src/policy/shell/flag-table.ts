import { type Arg, HOLE } from './args.ts'

/** What a flag does: `harmless` ones only change the output. */
type FlagKind = 'harmless' | 'asks' | 'reads' | 'writes' | 'runs'

interface FlagEntry {
  kind: FlagKind
  /** How many words it takes as values; `attached` if a value counts only when it is attached to the flag. */
  takes: 0 | 1 | 2 | 'attached'
}

/**
 * The flags of a program by what they do, in a small notation: `-abc` are three letters; `-k:` and `--key:` take a value,
 * `--arg::` takes two, `-i?` and `--color?` take only an attached one; `-W*` and `--no-*` are all flags that begin like this; `-#`
 * is a number (`head -20`).
 */
export interface FlagSpec extends Partial<Record<FlagKind, string>> {
  /** Long flags may have one dash, and letters cannot be combined (`go test -run x`, `openssl dgst -sha256`). */
  words?: boolean
  /** A value may be attached to any long flag, as most parsers other than getopt allow. */
  loose?: boolean
}

/** Read on its first use: there are hundreds, and a call needs a few. */
export type FlagTable = () => ReadFlags

interface ReadFlags {
  letters: Map<string, FlagEntry>
  /** Long flags, without their dashes. */
  names: Map<string, FlagEntry>
  beginnings: [start: string, entry: FlagEntry][]
  numbers: boolean
  words: boolean
  loose: boolean
}

const KINDS: readonly FlagKind[] = ['harmless', 'asks', 'reads', 'writes', 'runs']

/** The table of a notation. */
export function flagTable(spec: FlagSpec): FlagTable {
  let read: ReadFlags | undefined
  return () => {
    read ??= readFlags(spec)
    return read
  }
}

/** A more dangerous kind overrides a less dangerous one. */
function readFlags(spec: FlagSpec): ReadFlags {
  const table: ReadFlags = {
    letters: new Map(),
    names: new Map(),
    beginnings: [],
    numbers: false,
    words: spec.words === true,
    loose: spec.loose === true,
  }
  for (const name of ['help', 'version']) table.names.set(name, { kind: 'harmless', takes: 0 })
  for (const kind of KINDS)
    for (const token of (spec[kind] ?? '').split(/\s+/)) if (token !== '') enter(table, kind, token)
  return table
}

function enter(table: ReadFlags, kind: FlagKind, token: string): void {
  if (token === '-#') {
    table.numbers = true
    return
  }
  const [, dashes = '', name = '', mark = ''] = /^(--?)(.+?)(::|[:?*]|)$/.exec(token) ?? []
  const takes = TAKES[mark]
  if (mark === '*') table.beginnings.push([`${dashes}${name}`, { kind, takes: 'attached' }])
  else if (dashes === '--' || (table.words && name.length > 1))
    table.names.set(name, { kind, takes: takes ?? (table.loose ? 'attached' : 0) })
  else for (const letter of name) table.letters.set(letter, { kind, takes: takes ?? 0 })
}

const TAKES: Record<string, FlagEntry['takes']> = { ':': 1, '::': 2, '?': 'attached' }

/** A flag of the table that occurs in a call. */
export interface SeenFlag {
  kind: FlagKind
  /** A letter, or a name without dashes. */
  name: string
  arg: Arg
  value: Arg | undefined
}

export interface ScannedFlags {
  flags: SeenFlag[]
  operands: Arg[]
  /** Words that begin with a dash and are not in the table, abbreviations among them. */
  unknown: Arg[]
  /** The words from the one on for which `ends` was true. */
  rest: readonly Arg[]
}

/**
 * Splits the words of a call as its program will: flags, their values, and operands. With `ends`, the first operand for which it
 * is true and all words after it belong to another program.
 */
export function scanFlags(args: readonly Arg[], flags: FlagTable, ends?: (arg: Arg) => boolean): ScannedFlags {
  const table = flags()
  const seen: ScannedFlags = { flags: [], operands: [], unknown: [], rest: [] }
  let onlyOperands = false
  for (let place = 0; place < args.length; place++) {
    const arg = args[place]
    if (arg === undefined) break
    if (arg.value === '--' && !onlyOperands) onlyOperands = true
    else if (onlyOperands || arg.value.length < 2 || arg.value[0] !== '-') {
      if (ends?.(arg)) {
        seen.rest = args.slice(place)
        break
      }
      seen.operands.push(arg)
    } else place += arg.value[1] === '-' || table.words ? name(arg, args, place) : cluster(arg, args, place)
  }
  return seen

  // Each of these functions returns how many of the following words are values of the flag.

  function name(arg: Arg, all: readonly Arg[], place: number): number {
    const { key, attached } = split(arg)
    const exact = table.names.get(key)
    if (exact) return note(exact, { name: key, attached, arg, all, place })
    if (table.words && arg.value[1] !== '-') {
      const letter = table.letters.get(arg.value[1] ?? '')
      const rest = arg.value.slice(2)
      // `-vv` is `-v` twice.
      if (letter?.takes === 0 && [...rest].every(next => next === arg.value[1]))
        return note(letter, { name: arg.value[1] ?? '', attached: undefined, arg, all, place })
      if (letter && (rest === '' || letter.takes === 'attached' || letter.takes === 1))
        return note(letter, {
          name: arg.value[1] ?? '',
          attached: rest === '' ? undefined : deriveValue(arg, rest),
          arg,
          all,
          place,
        })
    }
    const start = table.beginnings.find(([text]) => arg.value.startsWith(text))
    if (start) return note(start[1], { name: key, attached, arg, all, place })
    if (table.numbers && /^-\d+$/.test(arg.value)) return 0
    return abbreviated({ name: key, attached, arg, all, place })
  }

  /** getopt accepts any beginning that is unique to one flag. Nobody writes that by hand, so it counts only for dangerous flags. */
  function abbreviated(at: FlagPosition): number {
    let worst: { full: string; entry: FlagEntry } | undefined
    if (at.name !== '' && at.arg.value.startsWith('--'))
      for (const [full, entry] of table.names)
        if (full.startsWith(at.name) && (worst === undefined || RANK[entry.kind] > RANK[worst.entry.kind]))
          worst = { full, entry }
    if (worst && worst.entry.kind !== 'harmless') return note(worst.entry, { ...at, name: worst.full })
    seen.unknown.push(at.arg)
    return 0
  }

  function cluster(arg: Arg, all: readonly Arg[], place: number): number {
    const start = table.beginnings.find(([text]) => arg.value.startsWith(text))
    if (start) return note(start[1], { name: arg.value.slice(1), attached: undefined, arg, all, place })
    for (let index = 1; index < arg.value.length; index++) {
      const letter = arg.value[index] ?? ''
      const entry = table.letters.get(letter)
      if (entry === undefined && table.numbers && letter >= '0' && letter <= '9') continue
      if (entry === undefined) {
        seen.unknown.push(arg)
        return 0
      }
      const rest = arg.value.slice(index + 1)
      if (entry.takes === 0) note(entry, { name: letter, attached: undefined, arg, all, place })
      else
        return note(entry, {
          name: letter,
          attached: rest === '' ? undefined : deriveValue(arg, rest),
          arg,
          all,
          place,
        })
    }
    return 0
  }

  function note(entry: FlagEntry, { name: flag, attached, arg, all, place }: FlagPosition): number {
    const { kind, takes } = entry
    if (takes === 0 && attached !== undefined) {
      seen.unknown.push(arg)
      return 0
    }
    if (takes === 0 || takes === 'attached' || attached !== undefined) {
      seen.flags.push({ kind, name: flag, arg, value: attached })
      return attached !== undefined && takes === 2 ? 1 : 0
    }
    seen.flags.push({ kind, name: flag, arg, value: all[place + takes] })
    return takes
  }
}

interface FlagPosition {
  name: string
  attached: Arg | undefined
  arg: Arg
  all: readonly Arg[]
  place: number
}

const RANK: Record<FlagKind, number> = { harmless: 0, asks: 1, reads: 2, writes: 3, runs: 4 }

function split(arg: Arg): { key: string; attached: Arg | undefined } {
  const bare = arg.value.replace(/^--?/, '')
  const equals = bare.indexOf('=')
  return equals < 0
    ? { key: bare, attached: undefined }
    : { key: bare.slice(0, equals), attached: deriveValue(arg, bare.slice(equals + 1)) }
}

function deriveValue(arg: Arg, value: string): Arg {
  return { ...arg, value, known: !value.includes(HOLE) }
}
