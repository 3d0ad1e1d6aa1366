import type { Risk } from '../../../../domain/session.ts'
import type { Call, Rule, Rules } from '../../call.ts'
import { judgeAssignment } from '../../effects/environment.ts'
import { isStandardDevice } from '../../effects/judge-file.ts'
import { type Arg, HOLE, isFlag } from '../../words/arg.ts'
import { findFlag, operandsOf } from '../../words/flags.ts'
import { judgeToolWords } from './tool-words.ts'

// The shapes that most programs have, so that a table row is all there is to say about one.

/** The same rule under several names. */
export function named(names: string, rule: Rule): Rules {
  return Object.fromEntries(names.split(' ').map(name => [name, rule]))
}

/** A program that is the same risk however it is called. Its words are still looked at as paths of secrets. */
export function always(risk: Risk, code: string, text: string): Rule {
  return call => {
    call.say(code, risk, `${call.name} ${text}`)
    for (const arg of call.args) if (arg.known && !isFlag(arg)) call.secret(arg)
  }
}

export interface ReaderRow {
  /** What the bare words are: files to read, text that stays text, or first a pattern and then files. */
  operands?: 'files' | 'text' | 'pattern-first'
  /** Flags that run a program or load code. */
  exec?: string[]
  /** Flags that write the file they name. */
  write?: string[]
  /** Flags whose value is a file that is read. */
  reads?: string[]
  /** Flags of the other kinds that take the next word; short ones end a cluster. */
  valued?: string[]
  /** The bare word from this place on is a file that is written (`uniq in out`). */
  writesFrom?: number
  /** Flags with which whole trees are read; `always` when that is what it does. */
  deep?: string[] | 'always'
}

/** A program that only reads and prints: LOW, but for the flags that do more and the files that are secrets. */
export function reader(row: ReaderRow = {}): Rule {
  const valued = [...(row.valued ?? []), ...(row.exec ?? []), ...(row.write ?? []), ...(row.reads ?? [])]
  const shorts = valued
    .filter(flag => flag.length === 2)
    .map(flag => flag[1])
    .join('')
  return call => {
    const { args } = call
    const runs = row.exec && findFlag(args, row.exec, shorts)
    if (runs) call.say('flag.runs', 'HIGH', `${runs.arg.text} makes ${call.name} run or load something`, runs.arg)
    const writes = row.write && findFlag(args, row.write, shorts)
    if (writes) judgeWriteFlag(call, writes.arg, writes.value)
    if (row.operands === 'text') return
    const operands = operandsOf(args, valued)
    const files = row.operands === 'pattern-first' ? afterPattern(operands, args) : operands
    for (const [place, arg] of files.entries()) {
      if (row.writesFrom !== undefined && place >= row.writesFrom) judgeWriteFlag(call, arg, arg)
      else call.path(arg.value.startsWith('@') ? { ...arg, value: arg.value.slice(1) } : arg, 'read')
    }
    if (row.deep && (row.deep === 'always' || findFlag(args, row.deep, shorts)))
      for (const arg of files) judgeDeep(call, arg)
    for (const arg of args) if (isFlag(arg)) judgeFlagValue(call, arg)
    const read = row.reads && findFlag(args, row.reads, shorts)
    if (read?.value) call.path(read.value, 'read')
  }
}

function afterPattern(operands: Arg[], args: readonly Arg[]): Arg[] {
  return findFlag(args, ['-e', '-f', '--regexp', '--file'], 'efABCmd') ? operands : operands.slice(1)
}

function judgeWriteFlag(call: Call, flag: Arg, value: Arg | undefined): undefined {
  if (value?.known && (isStandardDevice(value.value) || value.value === '-')) return
  if (value) call.path(value, 'write')
  call.say('write.flag', 'HIGH', `${flag.text} makes ${call.name} write a file`, flag)
}

/** `--file=.env`: the value of a flag may be a secret whatever the flag is called. */
function judgeFlagValue(call: Call, arg: Arg): undefined {
  const equals = arg.value.indexOf('=')
  if (equals > 0) call.secret({ ...arg, value: arg.value.slice(equals + 1) })
  else if (!arg.known && arg.value.startsWith(HOLE)) call.path(arg, 'read')
}

/** Reading everything below `/` or home reads the secrets there too. */
function judgeDeep(call: Call, arg: Arg): undefined {
  if (!arg.known) return
  const path = arg.value.replace(/\/+$/, '') || '/'
  const { home } = call.scope
  if (
    path === '/' ||
    path === home ||
    path === '/home' ||
    path === '/root' ||
    path === '/Users' ||
    path === '/etc' ||
    home.startsWith(`${path}/`)
  )
    call.say('read.everything', 'HIGH', `${arg.text} is everything a person has, secrets too`, arg)
}

export interface WrapperRow {
  /** Flags that take the next word. */
  valued?: string[]
  /** Bare words before the command. */
  skip?: number
  /** `A=1` before the command sets a variable. */
  assigns?: boolean
  /** Flags whose value a shell reads. */
  shell?: string[]
  /** What is said besides, whatever it runs. */
  besides?: { risk: Risk; code: string; text: string }
  /** The rest is put together and read by a shell (`watch`). */
  joins?: boolean
  /** What is said when there is nothing to run. */
  alone?: { risk: Risk; code: string; text: string }
  write?: string[]
}

/** A program that runs another: it is as risky as what it runs. */
export function wrapper(row: WrapperRow = {}): Rule {
  return call => {
    const { besides, alone } = row
    if (besides) call.say(besides.code, besides.risk, `${call.name} ${besides.text}`)
    const shorts = [...(row.valued ?? []), ...(row.shell ?? [])]
      .filter(flag => flag.length === 2)
      .map(flag => flag[1])
      .join('')
    const script = row.shell && findFlag(call.args, row.shell, shorts)
    if (script?.value) call.shell(script.value)
    const writes = row.write && findFlag(call.args, row.write, shorts)
    if (writes?.value) judgeWriteFlag(call, writes.arg, writes.value)
    const rest = innerOf(call, row)
    if (rest.length === 0) {
      if (alone && !script) call.say(alone.code, alone.risk, `${call.name} ${alone.text}`)
      return
    }
    if (!row.joins) return call.run(rest)
    const [first] = rest
    if (first)
      call.shell({ ...first, value: rest.map(one => one.value).join(' '), known: rest.every(one => one.known) })
  }
}

/** The words that a wrapper runs. */
export function innerOf(call: Call, row: WrapperRow): Arg[] {
  const valued = [...(row.valued ?? []), ...(row.shell ?? []), ...(row.write ?? [])]
  let skip = row.skip ?? 0
  const { args } = call
  for (let index = 0; index < args.length; index++) {
    const arg = args[index]
    if (arg === undefined) break
    const { value } = arg
    if (value === '--') {
      const rest = args.slice(index + 1)
      return rest.slice(skip)
    }
    if (value.length > 1 && value.startsWith('-')) {
      if (valued.includes(value)) index++
      continue
    }
    const set = row.assigns ? /^([A-Za-z_]\w*)=(.*)$/s.exec(value) : null
    if (set) {
      const inner = { ...arg, value: set[2] ?? '' }
      judgeAssignment({ name: set[1] ?? '', value: inner, at: arg.at, alone: false }, reason =>
        call.say(reason.code, reason.risk, reason.text, arg),
      )
    } else if (skip > 0) skip--
    else return args.slice(index)
  }
  return []
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
  /** It runs the project's own code: words that point outside it are foreign. */
  ofProject?: boolean
  /** Words are not looked at as files. */
  noFiles?: boolean
}

/** A program whose first words say what it does. */
export function verbs(table: VerbTable): Rule {
  return call => {
    const operands = operandsOf(call.args, table.valued ?? [])
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
    if (table.ofProject) judgeToolWords(call, call.args)
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
