import type { Command } from 'commander'
import { DAY_MS } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import { neutral } from '../../base/neutral.ts'
import { commandContext } from '../context.ts'
import { InvalidValue } from '../options.ts'

/** `pcc rules list | add | remove | test`. */
export function addRulesCommand(program: Command): void {
  const rules = program
    .command('rules')
    .description('Say what is always allowed, asked about or refused; the last match wins, a deny is final')

  rules
    .command('list')
    .description('List the rules in force here, in the order in which they count')
    .option('--json', 'print JSON')
    .action(async (_options: object, command: Command) => {
      const { listRules } = await import('./rules-actions.ts')
      await listRules(await commandContext(command))
    })

  rules
    .command('add')
    .description('Put a rule at the end of your rules')
    .argument('<effect>', 'allow, ask or deny', parseEffect)
    .argument('<tool>', 'Bash, Write, mcp__server__* …')
    .argument('[pattern]', "the command, path or address it is for: 'npm run *', './docs/*'")
    .option('--project', "into the project's rules (.perpetualcc/rules.toml), not yours")
    .option('--json', 'print JSON')
    .action(async (effect: Effect, tool: string, match: string | undefined, options: RuleScope, command: Command) => {
      const { checkTool, writeRule } = await import('./rules-actions.ts')
      const remark = checkTool(tool)
      const context = await commandContext(command)
      await writeRule(context, { effect, tool, ...(match !== undefined && { match }) }, options)
      if (remark !== undefined) context.note(neutral(remark))
    })

  rules
    .command('remove')
    .description('Remove a rule')
    .argument('<number>', 'the number that pcc rules list shows', parseRuleNumber)
    .option('--project', "from the project's rules, not yours")
    .option('--json', 'print JSON')
    .action(async (number: number, options: RuleScope, command: Command) => {
      const { deleteRule } = await import('./rules-actions.ts')
      await deleteRule(await commandContext(command), number, options)
    })

  rules
    .command('test')
    .description('Show what the rules decide about a command, or about all recorded requests; run nothing')
    .argument('[command...]', 'a shell command; quote it if it has options or special characters')
    .option('--replay', 'decide recorded requests again and show what would change')
    .option('--since <span>', 'with --replay: how far back: 12h, 7d, 2w (default: 7d)', parseSpan)
    .option('--rules <file>', 'with this file in place of your rules, to try a change')
    .option('--json', 'print JSON')
    .action(async (words: string[], options: TestOptions, command: Command) => {
      const text = words.length === 0 ? undefined : words.join(' ')
      const context = await commandContext(command)
      if ((text === undefined) !== (options.replay === true))
        throw new AppError('usage', { problem: 'give a command, or --replay', command: 'rules test' })
      if (text === undefined) return (await import('./rules-actions.ts')).replay(context, options)
      return (await import('./rules-actions.ts')).testCommand(context, text, options)
    })
}

type Effect = 'allow' | 'ask' | 'deny'
type RuleScope = { project?: boolean }

interface TestOptions {
  replay?: boolean
  since?: number
  rules?: string
}

function parseEffect(value: string): Effect {
  if (value === 'allow' || value === 'ask' || value === 'deny') return value
  throw new InvalidValue('It must be allow, ask or deny.')
}

function parseRuleNumber(value: string): number {
  if (!/^[1-9]\d{0,5}$/.test(value)) throw new InvalidValue('It must be a number of pcc rules list.')
  return Number(value)
}

const UNITS: Record<string, number> = { m: 60_000, h: 3_600_000, d: DAY_MS, w: 7 * DAY_MS }

function parseSpan(value: string): number {
  const [, number, unit = ''] = /^(\d{1,6})([mhdw])$/.exec(value) ?? []
  if (number === undefined) throw new InvalidValue('It must be a time such as 30m, 12h, 7d or 2w.')
  return Number(number) * (UNITS[unit] ?? DAY_MS)
}
