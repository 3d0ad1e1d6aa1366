import { Command, CommanderError } from 'commander'
import { AppError } from '../base/errors.ts'
import { programVersion } from '../base/version.ts'
import { ExitCode } from './context.ts'
import { COMMANDS } from './table.ts'

/** Everything that is not a hot command: parsed by commander, which refuses what it does not know. */
export async function runProgram(argv: string[]): Promise<number> {
  const program = await buildProgram(argv)
  try {
    await program.parseAsync(argv, { from: 'user' })
    return Number(process.exitCode ?? 0)
  } catch (error) {
    if (error instanceof ExitCode) return error.code
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return 0
    const command = nameIn(argv)
    if (!COMMANDS.some(row => row.name === command)) throw new AppError('command_unknown', { problem: wordsOf(error) })
    throw new AppError('usage', { problem: wordsOf(error), command: command ?? '' })
  }
}

/** The program with its commands; those that are not called are only names. */
async function buildProgram(argv: string[]): Promise<Command> {
  const program = new Command('pcc')
    .description('Keeps AI coding agents working around the clock, safely.')
    .option('--config <path>', 'config file (default: ~/.perpetualcc/config.toml)')
    .option('--data-dir <path>', 'data directory; another one is another daemon (default: ~/.perpetualcc/data)')
    .option('--verbose', 'say more')
    .option('--quiet', 'say less')
    .version(programVersion(), '--version', 'show the version')
    .helpOption('--help', 'show help')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({ writeErr: () => {}, outputError: () => {} })
  const called = nameIn(argv)
  // Only without a command: commander would otherwise take an unknown one for an argument of this.
  if (called === undefined) program.action(async () => (await import('./overview.ts')).overview(program))
  for (const row of COMMANDS) {
    if (row.name === called) await row.add(program)
    else program.command(row.name)
    program.commands.at(-1)?.summary(row.summary).helpGroup(row.group)
  }
  return program
}

/** The first word that is no option and no option's value. */
function nameIn(argv: string[]): string | undefined {
  for (let index = 0; index < argv.length; index++) {
    const arg = argv[index] ?? ''
    if (arg === '--config' || arg === '--data-dir') index++
    else if (!arg.startsWith('-')) return arg
  }
  return undefined
}

/** Commander's words without its heading: `unknown option '--tsk' (did you mean --task?)`. */
function wordsOf(error: CommanderError): string {
  return error.message
    .replace(/^error: /, '')
    .replace(/\n\(Did/, ' (did')
    .replaceAll('\n', ' ')
}
