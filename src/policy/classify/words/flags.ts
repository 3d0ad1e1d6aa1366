import { type Arg, HOLE } from './arg.ts'

export interface FlagHit {
  arg: Arg
  /** What is attached (`-ofile`, `--out=file`) or follows; `undefined` at the end of the words. */
  value: Arg | undefined
}

/**
 * Looks for a flag in every spelling: `-o`, `-xyo`, `-ofile`, `--output`, `--output=x`, `--outp`, `-output`. `values` are the
 * short flags that take a value, which end a cluster. An abbreviation of a long flag counts, as getopt takes it.
 */
export function findFlag(args: readonly Arg[], wanted: readonly string[], values = ''): FlagHit | undefined {
  return findFlags(args, wanted, values)[0]
}

/** The same, wherever it stands: for most programs the last one counts. */
export function findFlags(args: readonly Arg[], wanted: readonly string[], values = ''): FlagHit[] {
  const hits: FlagHit[] = []
  for (const [place, arg] of args.entries()) {
    const { value } = arg
    if (value === '--') break
    if (value.length < 2 || value[0] !== '-') continue
    for (const flag of wanted) {
      const attached = matchFlag(value, flag, values)
      if (attached === undefined) continue
      const next = attached === '' ? args[place + 1] : { ...arg, value: attached, known: !attached.includes(HOLE) }
      hits.push({ arg, value: next })
      break
    }
  }
  return hits
}

/** `''` when the flag is there with nothing attached, the attached value, or `undefined`. */
function matchFlag(value: string, flag: string, values: string): string | undefined {
  if (flag.startsWith('--')) {
    if (!value.startsWith('--')) return undefined
    const equals = value.indexOf('=')
    const name = equals < 0 ? value : value.slice(0, equals)
    const same = name === flag || (name.length > 2 && flag.startsWith(name))
    return same ? (equals < 0 ? '' : value.slice(equals + 1)) : undefined
  }
  if (value.startsWith('--')) return undefined
  if (flag.length > 2) {
    if (value === flag) return ''
    return value.startsWith(`${flag}=`) || value.startsWith(`${flag}:`) ? value.slice(flag.length + 1) : undefined
  }
  const letter = flag[1] ?? ''
  for (let index = 1; index < value.length; index++) {
    const here = value[index] ?? ''
    if (here === letter) return values.includes(letter) || index === value.length - 1 ? value.slice(index + 1) : ''
    if (values.includes(here)) return undefined
  }
  return undefined
}

/**
 * The words that are no flags and no values of flags. `valued` are the flags that take the next word; after `--` all count.
 */
export function operandsOf(args: readonly Arg[], valued: readonly string[] = []): Arg[] {
  const operands: Arg[] = []
  for (let index = 0; index < args.length; index++) {
    const arg = args[index]
    if (arg === undefined) break
    if (arg.value === '--') return [...operands, ...args.slice(index + 1)]
    if (arg.value.length < 2 || arg.value[0] !== '-') operands.push(arg)
    else if (takesNext(arg.value, valued)) index++
  }
  return operands
}

function takesNext(value: string, valued: readonly string[]): boolean {
  if (valued.includes(value)) return true
  // A cluster whose last letter takes a value: `-la` does not, `-xC` does.
  if (value.startsWith('--') || value.length < 3) return false
  const inner = [...value.slice(1, -1)].some(letter => valued.includes(`-${letter}`))
  return !inner && valued.includes(`-${value.at(-1)}`) && /^-[A-Za-z]+$/.test(value)
}

/** Splits words at the first `--`. */
export function atDoubleDash(args: readonly Arg[]): { before: Arg[]; after: Arg[] } {
  const place = args.findIndex(arg => arg.value === '--')
  return place < 0 ? { before: [...args], after: [] } : { before: args.slice(0, place), after: args.slice(place + 1) }
}
