import { type Arg, HOLE } from './arg.ts'
import type { FlagEntry, FlagKind, FlagTable } from './flag-table.ts'

/** A flag that the table knows, where it stands. */
export interface SeenFlag {
  kind: FlagKind
  /** A letter, or a name without dashes. */
  name: string
  arg: Arg
  value: Arg | undefined
}

export interface Scanned {
  flags: SeenFlag[]
  operands: Arg[]
  /** Words that begin with a dash and are in no table, abbreviations among them. */
  unknown: Arg[]
  /** What follows the words that were asked for. */
  rest: readonly Arg[]
}

/**
 * Tells the words of a call apart as its program will: flags, their values, and the bare words. With `ends`, what begins with
 * the first bare word that it is true of belongs to another program.
 */
export function scanFlags(args: readonly Arg[], table: FlagTable, ends?: (arg: Arg) => boolean): Scanned {
  const seen: Scanned = { flags: [], operands: [], unknown: [], rest: [] }
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

  /** Each gives how many of the words that follow are taken. */
  function name(arg: Arg, all: readonly Arg[], place: number): number {
    const { key, attached } = split(arg)
    const exact = table.names.get(key)
    if (exact) return note(exact, { name: key, attached, arg, all, place })
    if (table.words && arg.value[1] !== '-') {
      const letter = table.letters.get(arg.value[1] ?? '')
      const rest = arg.value.slice(2)
      // `-vv` is `-v` twice.
      if (letter?.takes === 0 && [...rest].every(one => one === arg.value[1]))
        return note(letter, { name: arg.value[1] ?? '', attached: undefined, arg, all, place })
      if (letter && (rest === '' || letter.takes === 'attached' || letter.takes === 1))
        return note(letter, {
          name: arg.value[1] ?? '',
          attached: rest === '' ? undefined : part(arg, rest),
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

  /** getopt takes any beginning that fits one flag. Nobody writes that by hand, so it counts only for what is dangerous. */
  function abbreviated(at: Place): number {
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
      else return note(entry, { name: letter, attached: rest === '' ? undefined : part(arg, rest), arg, all, place })
    }
    return 0
  }

  function note(entry: FlagEntry, { name: flag, attached, arg, all, place }: Place): number {
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

interface Place {
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
    : { key: bare.slice(0, equals), attached: part(arg, bare.slice(equals + 1)) }
}

function part(arg: Arg, value: string): Arg {
  return { ...arg, value, known: !value.includes(HOLE) }
}
