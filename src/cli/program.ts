import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { AppError } from '../base/errors.ts'
import { programVersion } from '../base/program.ts'
import { ExitCode } from './context.ts'
import { COMMANDS } from './table.ts'

/** Everything that is not a hot command: parsed by commander, which refuses what it does not know. */
export async function runProgram(typed: string[]): Promise<number> {
  const argv = withoutHelpWord(typed)
  const program = await buildProgram(argv)
  try {
    await program.parseAsync(argv, { from: 'user' })
    return Number(process.exitCode ?? 0)
  } catch (error) {
    if (error instanceof ExitCode) return error.code
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return 0
    const command = nameIn(argv)
    const called = calledIn(program, argv)
    if (error.code === 'commander.help')
      throw new AppError('usage', { problem: missingWord(program, command), command: command ?? '' })
    if (!COMMANDS.some(row => row.name === command)) throw new AppError('command_unknown', { problem: wordsOf(error) })
    throw new AppError('usage', { problem: wordsOf(error), command: called })
  }
}

/** The program with its commands; those that are not called are only names. */
async function buildProgram(argv: string[]): Promise<Command> {
  const program = new Command('pcc')
    .description('Keeps AI coding agents working around the clock, safely.')
    .option('--config <path>', 'config file (default: ~/.perpetualcc/config.toml)', path)
    .option('--data-dir <path>', 'data directory; another one is another daemon (default: ~/.perpetualcc/data)', path)
    .option('--verbose', 'say more')
    .option('--quiet', 'say less')
    .version(programVersion(), '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show help')
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

/** `--data-dir "$UNSET"` must not quietly be the usual place. */
function path(value: string): string {
  if (value === '') throw new InvalidArgumentError('It is empty; name a path, or leave the option out.')
  return value
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

/** `rules add`: the words that name a command, as deep as they do; its help is the one that helps. */
function calledIn(program: Command, argv: string[]): string {
  const name = nameIn(argv) ?? ''
  const names = [name]
  let command = program.commands.find(each => each.name() === name)
  for (const word of argv.slice(argv.indexOf(name) + 1)) {
    const child = command?.commands.find(each => each.name() === word)
    if (!child) continue
    names.push(word)
    command = child
  }
  return names.join(' ')
}

/** `pcc help start` is `pcc start --help`; a command that is not there is refused as if it were called. */
function withoutHelpWord(argv: string[]): string[] {
  if (nameIn(argv) !== 'help') return argv
  const rest = argv.filter((_, index) => index !== argv.indexOf('help'))
  const about = nameIn(rest)
  return about === undefined || COMMANDS.some(row => row.name === about) ? [...rest, '--help'] : rest
}

/** A command that is only a heading was called alone. */
function missingWord(program: Command, name: string | undefined): string {
  const words = program.commands.find(command => command.name() === name)?.commands.map(child => child.name()) ?? []
  const list = words.length > 1 ? `${words.slice(0, -1).join(', ')} or ${words.at(-1)}` : words.join()
  return `pcc ${name} needs to know what: ${list}`
}

/** Commander's words without its heading: `unknown option '--tsk' (did you mean --task?)`. */
function wordsOf(error: CommanderError): string {
  return error.message
    .replace(/^error: /, '')
    .replace(/\n\(Did/, ' (did')
    .replaceAll('\n', ' ')
}
