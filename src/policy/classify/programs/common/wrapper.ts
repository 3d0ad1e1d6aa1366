import type { Risk } from '../../../../domain/session.ts'
import type { Call, Rule } from '../../call.ts'
import { judgeAssignment } from '../../effects/environment.ts'
import type { Arg } from '../../words/arg.ts'
import { type FlagSpec, type FlagTable, flagTable } from '../../words/flag-table.ts'
import { type Scanned, scanFlags } from '../../words/scan-flags.ts'
import { judgeFlags } from './reader.ts'

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
export function wrapper(row: WrapperRow = {}): Rule {
  let table: FlagTable | undefined
  return call => {
    table ??= flagTable(row)
    const { besides, alone } = row
    if (besides) call.say(besides.code, besides.risk, `${call.name} ${besides.text}`)
    const seen = peel(call, table, row)
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
export function peel(call: Call, table: FlagTable, row: WrapperRow): Scanned {
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
