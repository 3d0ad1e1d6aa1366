import type { Call, Rule } from '../../call.ts'
import { type Arg, isFlag } from '../../words/arg.ts'
import { type FlagTable, flagTable } from '../../words/flag-table.ts'
import { scanFlags } from '../../words/scan-flags.ts'
import { judgeToolWords } from '../common/tool-words.ts'

export interface ToolRow {
  /** Flags that only say how much to do or how to show it, in the notation of `FlagSpec`. */
  flags?: string
  /** Its first bare word must be one of these; without this, bare words are files or tests of the project. */
  verbs?: string
  /** Every bare word must be like this: they are steps (`mvn clean test`). */
  steps?: RegExp
  /** Words that make it run or load something else. */
  high?: RegExp
  /** Words that ask, though they look like a file. */
  medium?: RegExp
  /** Letters do not stand in clusters, and one dash is as good as two. */
  words?: boolean
}

/** Flags that mean the same nearly everywhere. */
const COMMON = `-v -q -h -V --verbose --quiet --silent --color --colors --no-color --no-colors --debug --watch --ci --cache
  --no-cache --json --help --version --config: --configfile: --config-file: --tsconfig: --project:`

/** Flags of many tools that load a file as code: inside the project it is the project's, outside it is foreign. */
const LOADS =
  /^(-c|--config|--configfile|--config-file|--rulesdir|--resolve-plugins-relative-to|--plugin|--parser|--require|-r|--import|--loader|--setup-?files.*|--reporter|--reporters|--formatter|-f|--format|--preset|--env|--environment|--testRunner|--runner|--resolver|--transform|--global-?setup|--project|-p|--tsconfig|--ignore-path)(=|$)/

/**
 * A tool that builds, tests or checks the project, as `npm test` would: LOW inside it, with verbs and flags that are known. What
 * is not known makes it MEDIUM.
 */
export function tool(row: ToolRow = {}): Rule {
  let table: FlagTable | undefined
  const verbs = row.verbs === undefined ? undefined : new Set(row.verbs.split(/\s+/))
  return call => {
    table ??= flagTable({ harmless: `${COMMON} ${row.flags ?? ''}`, loose: true, words: row.words === true })
    judgeToolWords(call, call.args)
    for (const arg of call.args) judgeWord(call, arg, row)
    const { operands, unknown } = scanFlags(call.args, table)
    for (const arg of unknown) {
      if (row.high?.test(arg.value)) continue
      call.say('tool.flag', 'MEDIUM', `${arg.text} is not a flag of ${call.name} that the policy knows`, arg)
    }
    const far = operands.find(arg => FAR.test(arg.value))
    if (far) call.say('script.far', 'MEDIUM', `${far.text} reaches beyond the project`, far)
    judgeExec(call)
    const [verb] = operands
    if (verbs && verb && !verbs.has(verb.value))
      call.say('tool.other', 'MEDIUM', `${call.name} ${verb.text} is not an everyday command`, verb)
    if (row.steps)
      for (const arg of operands)
        if (!row.steps.test(arg.value))
          call.say('tool.other', 'MEDIUM', `${arg.text} is not an everyday step of ${call.name}`, arg)
  }
}

/** Verbs that publish or deploy, whichever the tool. */
const FAR = /^(release|deploy|gh-deploy|publish|upload|login|logout|promote|ship)([:.-].*)?$/i

/** `stack exec -- rm x`: what stands behind the dashes of `exec` is a command. */
function judgeExec(call: Call): undefined {
  const exec = call.args.findIndex(arg => /^(exec|cmd|run-commands)$/.test(arg.value))
  if (exec < 0) return
  const dashes = call.args.findIndex((arg, place) => place > exec && arg.value === '--')
  call.run(call.args.slice(Math.max(exec, dashes) + 1))
}

function judgeWord(call: Call, arg: Arg, row: ToolRow): undefined {
  const key = arg.value.split('=')[0] ?? ''
  if (row.high?.test(arg.value) || row.high?.test(key))
    call.say('flag.runs', 'HIGH', `${arg.text} makes ${call.name} run or write something else`, arg)
  else if (row.medium?.test(arg.value) || row.medium?.test(key))
    call.say('tool.flag', 'MEDIUM', `${arg.text} is not everyday`, arg)
  if (!isFlag(arg)) return
  const glued = /^-[crfpIC]((?:[/~]|\.\.).*)$/s.exec(arg.value)?.[1]
  if (glued === undefined && !LOADS.test(arg.value)) return
  const attached = glued ?? (arg.value.includes('=') ? arg.value.slice(arg.value.indexOf('=') + 1) : undefined)
  const value = attached === undefined ? call.args[call.args.indexOf(arg) + 1] : { ...arg, value: attached }
  if (
    value &&
    /^(\/|~)|(^|\/)\.\.(\/|$)|:\/\//.test(value.value) &&
    !`${value.value}/`.startsWith(`${call.fence.boundary}/`)
  )
    call.say('flag.loads', 'HIGH', `${arg.text} loads ${value.text}, which is outside the project`, arg)
}
