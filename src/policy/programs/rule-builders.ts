import type { Risk } from '../../domain/session.ts'
import type { ProgramCall, ProgramRule, ProgramRules } from '../classify/call.ts'
import { judgeAssignment } from '../classify/environment.ts'
import { isStandardDevice } from '../classify/judge-file.ts'
import { type Arg, findOperands, HOLE, isFlag } from '../shell/args.ts'
import { type FlagSpec, type FlagTable, flagTable, type ScannedFlags, scanFlags } from '../shell/flag-table.ts'
import { judgeToolWords } from './run-code.ts'

// The shapes that most programs have, so that a table row is all there is to say about one.

/** The same rule under several names. */
export function named(names: string, rule: ProgramRule): ProgramRules {
  return Object.fromEntries(names.split(' ').map(name => [name, rule]))
}

/** A program that is the same risk however it is called. Its words are still looked at as paths of secrets. */
export function always(risk: Risk, code: string, text: string): ProgramRule {
  return call => {
    call.say(code, risk, `${call.name} ${text}`)
    for (const arg of call.args) if (arg.known && !isFlag(arg)) call.secret(arg)
  }
}

/** What a line of verbs means: tried in order against the bare words of a call, joined by blanks. */
export type VerbRow = [shape: RegExp, risk: Risk, code: string, text: string]

export interface VerbTable {
  rows: VerbRow[]
  /** When no row fits. */
  otherwise: { risk: Risk; code: string; text: string }
  /** Flags that take the next word and stand anywhere. */
  valued?: string[]
  /** Flags that raise the risk, tried against each flag as written. */
  flags?: VerbRow[]
  /** Flags that are known; for a LOW verb all others ask. */
  known?: RegExp
  /** It runs the project's own code: words that point outside it are foreign. */
  ofProject?: boolean
  /** A bare word that is a path outside the project is said to be one. */
  paths?: boolean
  /** Words are not looked at as files. */
  noFiles?: boolean
}

/** A program whose first words say what it does. */
export function verbs(table: VerbTable): ProgramRule {
  return call => {
    const operands = findOperands(call.args, table.valued ?? [])
    const line = operands.map(one => one.value.replaceAll(HOLE, '…')).join(' ')
    // Which flags take a value is not known for certain: what destroys counts also where it may be one.
    const words = call.args.filter(arg => !isFlag(arg) && !/\s/.test(arg.value))
    const all = words.map(one => one.value.replaceAll(HOLE, '…')).join(' ')
    const found = table.rows.find(([shape, level]) => shape.test(line) || (level === 'HIGH' && shape.test(all)))
    const [, risk, code, text] = found ?? []
    if (risk === undefined || code === undefined)
      call.say(table.otherwise.code, table.otherwise.risk, `${call.name} ${table.otherwise.text}`)
    else if (risk !== 'LOW')
      call.say(code, risk, `${call.name} ${line.split(' ').slice(0, 3).join(' ')}: ${text}`, operands[0] ?? call.head)
    else if (table.known) judgeKnown(call, table.known)
    if (table.ofProject) judgeToolWords(call, call.args)
    const out = table.paths && call.args.find(arg => /^([/~]|\.\.\/|fileb?:\/\/[/~.])/.test(arg.value))
    if (out && !out.value.startsWith(`${call.fence.boundary}/`))
      call.say('infra.elsewhere', 'MEDIUM', `${out.text} is outside the project`, out)
    for (const arg of call.args) {
      const raised = isFlag(arg) ? table.flags?.find(([shape]) => shape.test(arg.value)) : undefined
      if (raised) call.say(raised[2], raised[1], `${arg.text}: ${raised[3]}`, arg)
      if (table.noFiles) continue
      const equals = arg.value.indexOf('=')
      call.secret(
        equals > 0
          ? { ...arg, value: arg.value.slice(equals + 1).replace(/^@/, '') }
          : { ...arg, value: arg.value.replace(/^@/, '') },
      )
    }
  }
}

function judgeKnown(call: ProgramCall, known: RegExp): undefined {
  for (const arg of call.args) {
    if (arg.value === '--') return
    if (isFlag(arg) && !known.test(arg.value))
      call.say('tool.flag', 'MEDIUM', `${arg.text} is not a flag of ${call.name} that the policy knows`, arg)
  }
}

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
export function reader(row: ReaderRow): ProgramRule {
  let table: FlagTable | undefined
  return call => {
    table ??= flagTable(row)
    judgeReader(call, row, scanFlags(call.args, table))
  }
}

/** What the words of a reader say, for rules that look at them in another way besides. */
export function judgeReader(call: ProgramCall, row: ReaderRow, seen: ScannedFlags): undefined {
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
export function judgeFlags(call: ProgramCall, { flags, unknown }: ScannedFlags): undefined {
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
export function judgeWritten(call: ProgramCall, flag: Arg, value: Arg | undefined): undefined {
  if (value?.known && (isStandardDevice(value.value) || value.value === '-')) return
  if (value) call.path(value, 'write')
  call.say('write.flag', 'HIGH', `${flag.text} makes ${call.name} write a file`, flag)
}

/** Reading everything below `/` or home reads the secrets there too. */
function judgeDeep(call: ProgramCall, arg: Arg): undefined {
  if (!arg.known) return
  const path = arg.value.replace(/\/+$/, '') || '/'
  const { home } = call.scope
  if (/^(\/|\/home|\/root|\/Users|\/etc)$/.test(path) || path === home || home.startsWith(`${path}/`))
    call.say('read.everything', 'HIGH', `${arg.text} is everything a person has, secrets too`, arg)
}

export interface WrapperRow extends FlagSpec {
  /** Bare words before the command. */
  skip?: number
  /** `A=1` before the command sets a variable. */
  assigns?: boolean
  /** Names of flags whose value a shell reads. */
  shell?: string[]
  /** What is said besides, whatever it runs. */
  besides?: { risk: Risk; code: string; text: string }
  /** The rest is put together and read by a shell (`watch`). */
  joins?: boolean
  /** What is said when there is nothing to run. */
  alone?: { risk: Risk; code: string; text: string }
}

/** A program that runs another: it is as risky as what it runs, and MEDIUM with a flag that is not in its table. */
export function wrapper(row: WrapperRow = {}): ProgramRule {
  let table: FlagTable | undefined
  return call => {
    table ??= flagTable(row)
    const { besides, alone } = row
    if (besides) call.say(besides.code, besides.risk, `${call.name} ${besides.text}`)
    const seen = stripWrapper(call, table, row)
    const script = seen.flags.find(flag => row.shell?.includes(flag.name))
    if (script?.value) call.shell(script.value)
    const [first] = seen.rest
    if (first === undefined) {
      if (alone && !script) call.say(alone.code, alone.risk, `${call.name} ${alone.text}`)
      return
    }
    if (!row.joins) return call.run(seen.rest)
    const value = seen.rest.map(one => one.value).join(' ')
    call.shell({ ...first, value, known: seen.rest.every(one => one.known) })
  }
}

/** Takes off the wrapper's own words, and judges them: `rest` is what it runs. */
export function stripWrapper(call: ProgramCall, table: FlagTable, row: WrapperRow): ScannedFlags {
  let skip = row.skip ?? 0
  const ends = (arg: Arg) => {
    const set = row.assigns ? /^([A-Za-z_]\w*)=(.*)$/s.exec(arg.value) : null
    if (set) {
      const value = { ...arg, value: set[2] ?? '' }
      judgeAssignment({ name: set[1] ?? '', value, at: arg.at, alone: false }, reason =>
        call.say(reason.code, reason.risk, reason.text, arg),
      )
      return false
    }
    return skip-- <= 0
  }
  const seen = scanFlags(call.args, table, ends)
  judgeFlags(call, seen)
  return seen
}
