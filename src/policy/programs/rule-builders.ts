import { isInside } from '../../base/is-inside.ts'
import type { Risk } from '../../domain/session.ts'
import type { ProgramCall, ProgramRule, ProgramRules } from '../classify/call.ts'
import { judgeAssignment } from '../classify/environment.ts'
import { isStandardDevice } from '../classify/judge-file.ts'
import { explainWideRead } from '../paths/judge-path.ts'
import { findSecretPart, globFindsSecret } from '../paths/secret-files.ts'
import { type Arg, findOperands, HOLE, isFlag } from '../shell/args.ts'
import { expandBraces } from '../shell/expand.ts'
import { type FlagSpec, type FlagTable, flagTable, type ScannedFlags, scanFlags } from '../shell/flag-table.ts'
import { judgeToolWords } from './run-code.ts'

// Builders for the kinds of rules that most programs need, so that a table row is enough to describe a program.

/** The same rule under several names. */
export function named(names: string, rule: ProgramRule): ProgramRules {
  const rules: ProgramRules = Object.create(null)
  for (const name of names.split(' ')) rules[name] = rule
  return rules
}

/** A program that has the same risk however it is called. Its words are still checked for paths of secrets. */
export function always(risk: Risk, code: string, text: string): ProgramRule {
  return call => {
    call.say(code, risk, `${call.name} ${text}`)
    for (const arg of call.args) if (arg.known && !isFlag(arg)) call.secret(arg)
  }
}

/** What verbs mean: each row is tried in order against the operands of a call, joined by blanks. */
export type VerbRow = [shape: RegExp, risk: Risk, code: string, text: string]

export interface VerbTable {
  rows: VerbRow[]
  /** Applies if no row matches. */
  otherwise: { risk: Risk; code: string; text: string }
  /** Flags that take the next word, anywhere in the call. */
  valued?: string[]
  /** Flags that raise the risk, compared with each flag as written. */
  flags?: VerbRow[]
  /** Words that raise the risk. */
  words?: VerbRow
  /** Known flags; with a LOW verb any other flag makes the call MEDIUM. */
  known?: RegExp
  /** Set if it runs the project's own code: words that point outside of the project are foreign. */
  ofProject?: boolean
  /** Set if an operand that is a path outside of the project is reported, or says which are. */
  paths?: true | ((value: string) => boolean)
  /** Set if words are not judged as files. */
  noFiles?: boolean
}

/** A program whose first words say what it does. */
export function verbs(table: VerbTable): ProgramRule {
  return call => {
    const operands = findOperands(call.args, table.valued ?? [])
    const line = operands.map(arg => arg.value.replaceAll(HOLE, '…')).join(' ')
    const readings = readLine(call.args)
    const row = table.rows.find(
      ([shape, level]) => shape.test(line) || (level === 'HIGH' && readings.some(reading => shape.test(reading))),
    )
    const [, risk, code, text] = row ?? []
    if (risk === undefined || code === undefined)
      call.say(table.otherwise.code, table.otherwise.risk, `${call.name} ${table.otherwise.text}`)
    else if (risk !== 'LOW')
      call.say(code, risk, `${call.name} ${line.split(' ').slice(0, 3).join(' ')}: ${text}`, operands[0] ?? call.head)
    else if (table.known) judgeKnown(call, table.known)
    const others = code === 'infra.read' ? call.args.find(isForOthers) : undefined
    if (others) call.say('infra.elsewhere', 'MEDIUM', `${others.text} is an environment that others use`, others)
    if (table.ofProject) judgeToolWords(call, call.args)
    const { paths } = table
    const out =
      paths &&
      call.args.find(
        arg => /^([/~]|\.\.(\/|$)|fileb?:\/\/[/~.])/.test(arg.value) && (paths === true || paths(arg.value)),
      )
    if (out && !isInside(out.value, call.fence.boundary))
      call.say('infra.elsewhere', 'MEDIUM', `${out.text} is outside the project`, out)
    for (const arg of call.args) {
      const raised = isFlag(arg)
        ? table.flags?.find(([shape]) => shape.test(arg.value))
        : table.words?.[0].test(arg.value)
          ? table.words
          : undefined
      const isHere =
        raised?.[2] === 'infra.elsewhere' &&
        HERE.test(`${arg.value} ${call.args[call.args.indexOf(arg) + 1]?.value ?? ''}`)
      // What only reads needs no confirmation that could be skipped.
      const isQuiet = code === 'infra.read' && raised?.[2] === 'infra.force' && /^(--quiet|-q)$/.test(arg.value)
      if (raised && !isHere && !isQuiet) call.say(raised[2], raised[1], `${arg.text}: ${raised[3]}`, arg)
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

/** A flag for a server, with one on this machine. */
const HERE = /^--?(endpoint-url|endpoint|server|host)[= ](https?:\/\/)?(localhost|127\.0\.0\.1)(:\d+)?(\/|\s|$)/

/** The value of a flag that says where a tool looks, if that is an environment that others use: `--context prod`, `--profile=live`. */
function isForOthers({ value, known }: Arg, at: number, args: readonly Arg[]): boolean {
  const [, flag = '', attached] = /^(--?[\w-]+)(?:=(.*))?$/s.exec(value) ?? []
  const before = args[at - 1]?.value ?? ''
  if (WHERE.test(flag) && attached !== undefined) return !known || OTHERS.test(attached)
  return WHERE.test(before) && (!known || OTHERS.test(value))
}

const WHERE =
  /^(-n|-e|--(kube-)?context|--namespace|--profile|--project|--cluster|--env|--environment|--stage|--account|--subscription|--workspace|--config-env)$/
const OTHERS = /(^|[-_./@:])(prod|production|prd|live|staging)([-_./@:]|$)/i

/** More flags than this in one call are not read both ways. */
const MOST_READINGS = 64

/**
 * The words of a call, read in every way: it is not certain which flags take a value, so the word after a flag counts once as a
 * word and once as the value of that flag. A destructive verb in any reading counts (`helm -n prod uninstall x`).
 */
function readLine(args: ProgramCall['args']): string[] {
  let readings: string[] = ['']
  let mayBeValue = false
  for (const arg of args) {
    if (isFlag(arg)) {
      mayBeValue = !arg.value.includes('=')
      continue
    }
    const isText = /\s/.test(arg.value)
    const longer = isText ? [] : readings.map(reading => `${reading} ${arg.value.replaceAll(HOLE, '…')}`.trimStart())
    const keeps = isText || (mayBeValue && readings.length < MOST_READINGS)
    readings = keeps ? [...longer, ...readings] : longer
    mayBeValue = false
  }
  return readings
}

function judgeKnown(call: ProgramCall, known: RegExp): undefined {
  for (const arg of call.args) {
    if (arg.value === '--') return
    if (isFlag(arg) && !known.test(arg.value))
      call.hold('tool.flag', 'MEDIUM', `${arg.text} is not a flag of ${call.name} that the policy knows`, arg)
  }
}

export interface ReaderRow extends FlagSpec {
  /** What the operands are: files to read, plain text, or first a pattern and then files. */
  operands?: 'files' | 'text' | 'pattern-first'
  /** With one of these flags the operands contain no pattern. */
  patternFlags?: string
  /** Operands from this index on are files that are written (`uniq in out`). */
  writesFrom?: number
  /** Flags with which whole trees are read; `always` if it always reads them. */
  deep?: string | 'always'
}

/**
 * A program that only reads and prints: LOW with flags that are known to be harmless and files that are no secrets. A flag that is
 * not in its table makes it MEDIUM.
 */
export function reader(row: ReaderRow): ProgramRule {
  const table = flagTable(row)
  return call => judgeReader(call, row, scanFlags(call.args, table))
}

/** Judges the words of a reader, for rules that also judge them in another way. */
export function judgeReader(call: ProgramCall, row: ReaderRow, seen: ScannedFlags): undefined {
  judgeFlags(call, seen)
  // An unquoted unknown word may become several words, and one of them may be a flag that does more.
  if (row.runs !== undefined || row.writes !== undefined) {
    for (const { value } of seen.flags) if (value && !value.known) call.unknown(value)
    for (const arg of seen.operands) if (arg.value.startsWith(HOLE)) call.unknown(arg)
  }
  if (row.operands === 'text') {
    for (const arg of seen.operands) if (arg.value.startsWith(HOLE)) call.unknown(arg)
    return
  }
  const given = row.patternFlags?.split(' ')
  const hasPattern = given !== undefined && seen.flags.some(flag => given.includes(flag.name))
  const files = row.operands === 'pattern-first' && !hasPattern ? seen.operands.slice(1) : seen.operands
  for (const [index, arg] of files.entries()) {
    if (row.writesFrom !== undefined && index >= row.writesFrom) judgeWritten(call, arg, arg)
    else call.path(arg.value.startsWith('@') ? { ...arg, value: arg.value.slice(1) } : arg, 'read')
  }
  const deep = row.deep?.split(' ')
  if (deep && (row.deep === 'always' || seen.flags.some(flag => deep.includes(flag.name))))
    for (const arg of files) judgeDeep(call, arg)
}

/** Judges the flags of a call by their kind; an unknown flag makes the call MEDIUM. */
export function judgeFlags(call: ProgramCall, { flags, unknown }: ScannedFlags): undefined {
  for (const { kind, name, arg, value } of flags) {
    // Counting the files of a list that another program prints shows nothing of them.
    if (name === 'files0-from' && !(value?.value === '-' && /^(wc|du)$/.test(call.name)))
      call.say('read.indirect', 'MEDIUM', `the files come from ${value?.text ?? 'a list'}`, arg)
    if (kind === 'runs') call.say('flag.runs', 'HIGH', `${arg.text} makes ${call.name} run or load something`, arg)
    else if (kind === 'writes') judgeWritten(call, arg, value)
    else if (kind === 'asks') call.say('flag.unusual', 'MEDIUM', `${arg.text} is not an everyday flag`, arg)
    if (value === undefined) continue
    // A search for all files of a pattern shows what is in them.
    if (SEARCHED.has(name) && SEARCHERS.test(call.name)) judgeSearched(call, value)
    if (kind === 'reads') call.path(value, 'read')
    // `--file=.env`: the value of any flag may be the path of a secret.
    else if (arg.value.includes('=')) call.secret(value)
  }
  for (const arg of unknown) {
    if (!arg.known) call.unknown(arg)
    else call.say('flag.unknown', 'MEDIUM', `${arg.text} is not a flag of ${call.name} that the policy knows`, arg)
    const equals = arg.value.indexOf('=')
    if (equals > 0) call.secret({ ...arg, value: arg.value.slice(equals + 1) })
  }
}

const SEARCHERS = /^(z?[ef]?grep|ggrep|rg|ag|ack|git)$/
const SEARCHED = new Set(['include', 'g', 'G', 'glob', 'iglob', 'file-search-regex'])

/** Judges the pattern of the files that are searched: one that finds files with secrets shows what is in them. */
function judgeSearched(call: ProgramCall, { value, known, text }: Arg): undefined {
  if (!known || value.startsWith('!')) return
  const patterns = expandBraces(value) ?? [value]
  if (
    patterns.some(pattern => globFindsSecret(pattern) || findSecretPart(pattern.replace(/[\\$^]/g, '')) !== undefined)
  )
    call.say('path.secret', 'HIGH', `${text} finds files with secrets`)
}

/** Judges a file that the program writes because of a flag or a word. */
export function judgeWritten(call: ProgramCall, flag: Arg, value: Arg | undefined): undefined {
  if (value?.known && (isStandardDevice(value.value) || value.value === '-')) return
  if (value) call.path(value, 'write')
  call.say('write.flag', 'HIGH', `${flag.text} makes ${call.name} write a file`, flag)
}

/** Reading everything below `/` or the home directory also reads the secrets there. */
function judgeDeep(call: ProgramCall, arg: Arg): undefined {
  if (!arg.known) return
  const wide = explainWideRead(arg.value, call.scope.home)
  if (wide) call.say(wide.code, wide.risk, wide.text, arg)
}

export interface WrapperRow extends FlagSpec {
  /** How many operands come before the command. */
  skip?: number
  /** Set if `A=1` before the command sets a variable. */
  assigns?: boolean
  /** Flags whose value a shell reads. */
  shell?: string[]
  /** A reason that is added for every call, whatever it runs. */
  besides?: { risk: Risk; code: string; text: string; held?: true }
  /** Set if the remaining words are joined and read by a shell (`watch`). */
  joins?: boolean
  /** Set if it starts a shell where there is nothing to run: what it reads then is a script. */
  shellAlone?: boolean
  /** The reason that is added if there is nothing to run. */
  alone?: { risk: Risk; code: string; text: string }
}

/** A program that runs another one: it is as risky as the command that it runs, and MEDIUM with a flag that is not in its table. */
export function wrapper(row: WrapperRow = {}): ProgramRule {
  const table = flagTable(row)
  return call => {
    const { besides, alone } = row
    if (besides) call[besides.held ? 'hold' : 'say'](besides.code, besides.risk, `${call.name} ${besides.text}`)
    const seen = stripWrapper(call, table, row)
    const script = seen.flags.find(flag => row.shell?.includes(flag.name))
    if (script?.value) call.shell(script.value)
    const [first] = seen.rest
    if (first === undefined) {
      if (alone && !script) call.say(alone.code, alone.risk, `${call.name} ${alone.text}`)
      return row.shellAlone && !script ? judgeShellInput(call) : undefined
    }
    if (!row.joins) return call.run(seen.rest)
    const value = seen.rest.map(arg => arg.value).join(' ')
    call.shell({ ...first, value, known: seen.rest.every(arg => arg.known) })
  }
}

/** Judges what a shell reads that got no script. */
export function judgeShellInput(call: ProgramCall): undefined {
  const { feed } = call
  if (feed.text) return call.shell(feed.text)
  if (feed.piped || feed.file)
    return call.say('pipe.interpreter', 'HIGH', `${call.name} starts a shell that reads its input`)
  call.say('shell.interactive', 'MEDIUM', `${call.name} starts a shell that waits for commands`)
}

/** Separates the wrapper's own words and judges them; `rest` is the command that it runs. */
export function stripWrapper(call: ProgramCall, table: FlagTable, row: WrapperRow): ScannedFlags {
  let skip = row.skip ?? 0
  const ends = (arg: Arg) => {
    const set = row.assigns ? /^([A-Za-z_]\w*)=(.*)$/s.exec(arg.value) : null
    if (set) {
      const value = { ...arg, value: set[2] ?? '' }
      call.scope.given.set(set[1] ?? '', arg.known ? value.value : undefined)
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
