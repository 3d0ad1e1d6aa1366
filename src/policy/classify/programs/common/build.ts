import type { Risk } from '../../../../domain/session.ts'
import type { Call, Rule, Rules } from '../../call.ts'
import { HOLE, isFlag } from '../../words/arg.ts'
import { operandsOf } from '../../words/flags.ts'
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
  places?: boolean
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
    else if (table.known) judgeKnown(call, table.known)
    if (table.ofProject) judgeToolWords(call, call.args)
    const out = table.places && call.args.find(arg => /^([/~]|\.\.\/|fileb?:\/\/[/~.])/.test(arg.value))
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

function judgeKnown(call: Call, known: RegExp): undefined {
  for (const arg of call.args) {
    if (arg.value === '--') return
    if (isFlag(arg) && !known.test(arg.value))
      call.say('tool.flag', 'MEDIUM', `${arg.text} is not a flag of ${call.name} that the policy knows`, arg)
  }
}
