import type { Call, Rule } from '../../call.ts'
import { isStandardDevice } from '../../effects/judge-file.ts'
import { type Arg, HOLE } from '../../words/arg.ts'
import { type FlagSpec, type FlagTable, flagTable } from '../../words/flag-table.ts'
import { type Scanned, scanFlags } from '../../words/scan-flags.ts'

export interface ReaderRow extends FlagSpec {
  /** What the bare words are: files to read, text that stays text, or first a pattern and then files. */
  operands?: 'files' | 'text' | 'pattern-first'
  /** With one of these flags, no pattern stands among the bare words. */
  patternFlags?: string
  /** The bare word from this place on is a file that is written (`uniq in out`). */
  writesFrom?: number
  /** Flags with which whole trees are read; `always` when that is what it does. */
  deep?: string | 'always'
}

/**
 * A program that only reads and prints: LOW with the flags that are known to be harmless and files that are no secrets. A flag
 * that is not in its table makes it MEDIUM.
 */
export function reader(row: ReaderRow): Rule {
  let table: FlagTable | undefined
  return call => {
    table ??= flagTable(row)
    judgeReader(call, row, scanFlags(call.args, table))
  }
}

/** What the words of a reader say, for rules that look at them in another way besides. */
export function judgeReader(call: Call, row: ReaderRow, seen: Scanned): undefined {
  judgeFlags(call, seen)
  // Unquoted, it may be more than one word, and one of them a flag that does more.
  if (row.runs !== undefined || row.writes !== undefined)
    for (const { value } of seen.flags)
      if (value && !value.known) call.say('arg.unknown', 'MEDIUM', `${value.text} is known only when it runs`, value)
  if (row.operands === 'text') {
    for (const arg of seen.operands)
      if (arg.value.startsWith(HOLE)) call.say('arg.unknown', 'MEDIUM', `${arg.text} is known only when it runs`, arg)
    return
  }
  const given = row.patternFlags?.split(' ')
  const hasPattern = given !== undefined && seen.flags.some(flag => given.includes(flag.name))
  const files = row.operands === 'pattern-first' && !hasPattern ? seen.operands.slice(1) : seen.operands
  for (const [place, arg] of files.entries()) {
    if (row.writesFrom !== undefined && place >= row.writesFrom) judgeWritten(call, arg, arg)
    else call.path(arg.value.startsWith('@') ? { ...arg, value: arg.value.slice(1) } : arg, 'read')
  }
  const deep = row.deep?.split(' ')
  if (deep && (row.deep === 'always' || seen.flags.some(flag => deep.includes(flag.name))))
    for (const arg of files) judgeDeep(call, arg)
}

/** What the flags of a call do, by their kind; one that is not known asks. */
export function judgeFlags(call: Call, { flags, unknown }: Scanned): undefined {
  for (const { kind, arg, value } of flags) {
    if (kind === 'runs') call.say('flag.runs', 'HIGH', `${arg.text} makes ${call.name} run or load something`, arg)
    else if (kind === 'writes') judgeWritten(call, arg, value)
    else if (kind === 'asks') call.say('flag.unusual', 'MEDIUM', `${arg.text} is not an everyday flag`, arg)
    if (value === undefined) continue
    if (kind === 'reads') call.path(value, 'read')
    // `--file=.env`: a value may be a secret whatever the flag is called.
    else if (arg.value.includes('=')) call.secret(value)
  }
  for (const arg of unknown) {
    if (!arg.known) call.say('arg.unknown', 'MEDIUM', `${arg.text} is known only when it runs`, arg)
    else call.say('flag.unknown', 'MEDIUM', `${arg.text} is not a flag of ${call.name} that the policy knows`, arg)
    const equals = arg.value.indexOf('=')
    if (equals > 0) call.secret({ ...arg, value: arg.value.slice(equals + 1) })
  }
}

/** A file that a flag or a word makes the program write. */
export function judgeWritten(call: Call, flag: Arg, value: Arg | undefined): undefined {
  if (value?.known && (isStandardDevice(value.value) || value.value === '-')) return
  if (value) call.path(value, 'write')
  call.say('write.flag', 'HIGH', `${flag.text} makes ${call.name} write a file`, flag)
}

/** Reading everything below `/` or home reads the secrets there too. */
function judgeDeep(call: Call, arg: Arg): undefined {
  if (!arg.known) return
  const path = arg.value.replace(/\/+$/, '') || '/'
  const { home } = call.scope
  if (/^(\/|\/home|\/root|\/Users|\/etc)$/.test(path) || path === home || home.startsWith(`${path}/`))
    call.say('read.everything', 'HIGH', `${arg.text} is everything a person has, secrets too`, arg)
}
