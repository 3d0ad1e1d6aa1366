import type { Command } from 'commander'
import { AppError } from '../../../base/errors.ts'
import { BRAIN_KINDS, MAX_PARALLEL_AGENTS, MODEL_STRATEGIES } from '../../../domain/option-values.ts'
import { commandContext, ExitCode } from '../../context.ts'
import { budgetOption, countOption, optionParser, refuseInSession, retriesOption, shareOption } from '../../options.ts'
import { parsePositive } from '../start-session.ts'
import type { RunFlags } from './start-run.ts'

interface RunOptions extends RunFlags {
  once?: true
}

/** `pcc run`: works through the tasks of a target, a fresh session for each. */
export function addRunCommand(program: Command): void {
  program
    .command('run')
    .enablePositionalOptions()
    .description('Work through the tasks of a feature, of one task or of a project, a fresh agent for each')
    .argument('<target>', 'a feature, a task (id, or unique beginning of it), or a directory: . is this project')
    .option('--project <path>', 'where the feature is (default: this directory)')
    .option('--once', 'one attempt only: the same as --limit 1')
    .option('--limit <n>', 'at most n attempts (0: no limit)', countOption)
    .option('--parallel <n>', 'tasks at once, each in a worktree of its own (execution.parallel)', parallelOption)
    .option('--pr', 'push verified work and open a pull request with gh, in place of merging (merge.mode)')
    .option('--model <name>', 'the model of every attempt (means --model-strategy fixed)')
    .addOption(
      program
        .createOption('--model-strategy <name>', 'how the model of each attempt is chosen')
        .choices(MODEL_STRATEGIES),
    )
    .option(
      '--agent <command>',
      'who does it: claude, another agent, or a command line (agent.command; see: pcc agents list)',
    )
    .option('--max-retries <n>', 'retries before a task counts as failed', retriesOption)
    .option('--no-verify', 'do not verify what is done')
    .option('--budget <amounts>', 'the most the run may spend in all: "5 usd, 2h, 200 turns, 3M tokens"', budgetOption)
    .option('--auto-approve', 'allow LOW risk requests unasked, whatever the settings say')
    .option('--no-auto-approve', 'ask about LOW risk requests too')
    .option('--auto-resume', 'go on by itself after a limit, whatever the settings say')
    .option('--no-auto-resume', 'after a limit, wait for pcc resume')
    .addOption(program.createOption('--brain <kind>', 'what forms opinions beside the rules').choices(BRAIN_KINDS))
    .option('--brain-model <name>', "the brain's model")
    .option('--confidence <share>', 'lowest confidence for an answer without a person, 0 to 1', shareOption)
    .option('--at <time>', 'begin later: "02:00", "tomorrow 02:00", "2027-01-31 02:00", "in 3h"')
    .option('--every <times>', 'begin again and again: "weekdays 22:00", "mon,thu 03:30", "6h", or five cron fields')
    .option('--when-quota-below <percent>', "begin once the account's fullest window is below that: 50%", parsePercent)
    .option('--dry-run', 'show what would be done, in which order and with which models')
    .option('--detach', 'start it in the background')
    .option('--json', 'print attempts as JSON lines (with --detach or --dry-run: one object)')
    .action(async (target: string, { once, ...flags }: RunOptions, command: Command) => {
      const context = await commandContext(command)
      refuseInSession(context.env, `run ${target}`)
      if (once && flags.limit !== undefined && flags.limit !== 1)
        throw new AppError('usage', { problem: `--once is --limit 1, and --limit says ${flags.limit}`, command: 'run' })
      if (flags.model !== undefined && (flags.modelStrategy ?? 'fixed') !== 'fixed')
        throw new AppError('usage', {
          problem: `--model ${flags.model} is one model for every attempt, and --model-strategy ${flags.modelStrategy} chooses one for each: leave one of them out`,
          command: 'run',
        })
      const { startRun } = await import('./start-run.ts')
      throw new ExitCode(await startRun(target, { ...flags, ...(once && { limit: 1 }) }, context))
    })
}

const parallelOption = optionParser(text => {
  const number = parsePositive(text)
  return number !== undefined && number <= MAX_PARALLEL_AGENTS ? number : undefined
}, `It must be a whole number from 1 to ${MAX_PARALLEL_AGENTS}.`)

/** Parses `50` or `50%`. */
function parsePercent(value: string): number {
  const [, digits] = /^(\d{1,3})\s*%?$/.exec(value.trim()) ?? []
  const percent = Number(digits ?? Number.NaN)
  if (percent >= 1 && percent <= 100) return percent
  throw new AppError('usage', {
    problem: `--when-quota-below "${value}": it must be a percentage such as 50%`,
    command: 'run',
  })
}
