import { type Command, InvalidArgumentError, Option } from 'commander'
import { BRAIN_KINDS, SESSION_HOSTS } from '../../domain/option-values.ts'
import { quickClient } from '../connection/client.ts'
import { commandContext, ExitCode } from '../context.ts'
import { budgetOption, optionParser, priorityOption, shareOption } from '../options.ts'
import { hasClosedBrackets, parsePositive, parseTools, type StartOptions, startSession } from './start-session.ts'

/** Runs `pcc start` once its arguments are parsed. */
export type StartBody = (path: string, options: StartOptions, command: Command) => Promise<number>

/** `pcc start` for commander, which prints the help and refuses wrong flags. */
export function addStartCommand(program: Command, body: StartBody = start): void {
  program
    .command('start')
    .description('Start a supervised session of a coding agent')
    .argument('<project-path>', 'the project directory')
    .option('--task <text>', 'what to do')
    .option('--requirements <path>', 'a file that says what to do (Markdown, YAML or text)')
    .option(
      '--agent <command>',
      'who does it: claude, another agent, or a command line (agent.command; see: pcc agents list)',
    )
    .option('--model <name>', 'the model the agent uses')
    .option('--max-turns <n>', 'stop after this many turns', positiveOption)
    .option('--allowed-tools <names>', 'tools that need no question, comma-separated', toolsOption)
    .option('--disallowed-tools <names>', 'tools the agent may never use, comma-separated', toolsOption)
    .option('--auto-approve', 'allow LOW risk requests unasked, whatever the settings say')
    .option('--no-auto-approve', 'ask about LOW risk requests too')
    .option('--auto-resume', 'go on by itself after a limit, whatever the settings say')
    .option('--no-auto-resume', 'after a limit, wait for pcc resume')
    .option('--budget <amounts>', 'the most it may spend, as in "5 usd, 2h, 200 turns, 3M tokens"', budgetOption)
    .option('--priority <n>', 'higher gets a free slot sooner (default: 0)', priorityOption)
    .addOption(new Option('--brain <kind>', 'what forms opinions beside the rules').choices(BRAIN_KINDS))
    .option('--brain-model <name>', "the brain's model")
    .option('--confidence <share>', 'lowest confidence for an answer without a person, 0 to 1', shareOption)
    .option('--worktree', 'work in a git worktree of its own; the work is verified and merged')
    .addOption(
      new Option('--host <where>', 'run in a terminal that you can watch and take over (pcc attach)').choices(
        SESSION_HOSTS,
      ),
    )
    .option('--detach', 'start in the background')
    .option('--session-name <name>', 'a name for the session')
    .option('--resume <vendor-id>', 'go on from a conversation of Claude Code (see: pcc agents sessions)')
    .option('--fork', 'with --resume: leave the old conversation as it is and go on in a copy')
    .option('--record <file>', 'keep the agent’s raw messages, one JSON object a line')
    .option('--json', 'print events as JSON lines (with --detach: the session as JSON)')
    .action(async (path: string, options: StartOptions, command: Command) => {
      throw new ExitCode(await body(path, options, command))
    })
}

async function start(path: string, options: StartOptions, command: Command): Promise<number> {
  const context = await commandContext(command)
  return startSession({ path, options, context, client: quickClient(context.paths, context) })
}

const positiveOption = optionParser(parsePositive, 'It must be a whole number above 0.')

function toolsOption(value: string, previous: string[] = []): string[] {
  if (!hasClosedBrackets(value))
    throw new InvalidArgumentError('A bracket is not closed, or closed twice, as in Bash(npm test).')
  const tools = parseTools(value)
  if (!tools) throw new InvalidArgumentError('Name at least one tool.')
  return [...previous, ...tools]
}
