import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { AppError } from '../base/errors.ts'
import { programVersion } from '../base/program.ts'
import { ExitCode, fitted } from './context.ts'
import { COMMANDS } from './table.ts'

/** Runs any command through commander, which rejects unknown commands and options. */
export async function runProgram(args: string[]): Promise<number> {
  const argv = replaceNoun(replaceHelpCommand(args))
  const program = await buildProgram(argv)
  try {
    await program.parseAsync(withoutVainHelp(program, argv), { from: 'user' })
    return Number(process.exitCode ?? 0)
  } catch (error) {
    if (error instanceof ExitCode) return error.code
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return 0
    const command = findCommandName(argv)
    if (error.code === 'commander.help')
      throw new AppError('usage', { problem: describeMissingSubcommand(program, command), command: command ?? '' })
    const problem = plainMessage(error)
    if (!COMMANDS.some(row => row.name === command)) throw new AppError('command_unknown', { problem })
    const path = findCommandPath(program, argv)
    // The option is probably one of the command that is to be explained.
    if (path === 'explain' && error.code === 'commander.unknownOption' && !problem.includes('did you mean'))
      throw new AppError('usage', {
        problem: `${problem}; quote the command: pcc explain "git push -f"`,
        command: path,
      })
    const example = error.code === 'commander.missingArgument' && (await import('./examples.ts')).EXAMPLES[path]?.[0]
    throw new AppError('usage', { problem: example ? `${problem}, as in: ${example}` : problem, command: path })
  }
}

/** Builds the program. Only the command that is called is loaded; the others are only names for the help. */
async function buildProgram(argv: string[]): Promise<Command> {
  const program = new Command('pcc')
    .description('Keeps AI coding agents working around the clock, safely.')
    .option('--config <path>', 'config file (default: ~/.perpetualcc/config.toml)', parsePath)
    .option(
      '--data-dir <path>',
      'data directory; another one is another daemon (default: ~/.perpetualcc/data)',
      parsePath,
    )
    .option('--verbose', 'say more')
    .option('--quiet', 'say less')
    .version(programVersion(), '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({ writeErr: () => {}, outputError: () => {}, getOutHelpWidth: helpWidth, writeOut })
    .configureHelp({ minWidthToWrap: 16 })
    .addHelpText('after', FOOTER)
  program.hook('preAction', async (_, command) => {
    refuseFlagAsValue(command)
    return (await import('./commands/accept.ts')).meetChanges(command)
  })
  const called = findCommandName(argv)
  // Only without a command: commander would otherwise take an unknown command for an argument of this action.
  if (called === undefined) program.action(async () => (await import('./overview.ts')).overview(program))
  for (const row of COMMANDS) {
    if (row.name === called) await row.add(program)
    // With a command, all names are known, so that a mistyped one gets a suggestion.
    else program.command(row.name, { hidden: called === undefined && row.group === undefined })
    program.commands
      .at(-1)
      ?.summary(row.summary)
      .helpGroup(row.group ?? '')
  }
  const command = program.commands.find(candidate => candidate.name() === called)
  if (command) await completeCommand(command, argv)
  return program
}

/** `--task --detach` would begin a task called "--detach": the value was forgotten. */
function refuseFlagAsValue(command: Command): void {
  for (const option of command.options) {
    const value: unknown = command.getOptionValue(option.attributeName())
    const isFlag =
      typeof value === 'string' && command.options.some(({ long, short }) => value === long || value === short)
    if (!option.required || !isFlag) continue
    const problem = `${option.long} needs a value, and ${value} is another option`
    throw new AppError('usage', { problem, command: commandPath(command) })
  }
}

function commandPath(command: Command): string {
  const { parent } = command
  return parent?.parent ? `${commandPath(parent)} ${command.name()}` : command.name()
}

const FOOTER = `
Help of a command, with examples: pcc help <command>
The documentation, page by page:  pcc docs`

/** Adds what the help of a command shows besides its own subcommands: those of its noun, and examples. */
async function completeCommand(command: Command, argv: string[]): Promise<void> {
  // A subcommand of `run` would keep a feature of its name from being run; only the help shows it.
  const isListed = command.registeredArguments.length === 0 || argv.some(isHelpFlag)
  for (const { noun, name, nameThere, summary } of isListed ? COMMANDS : [])
    if (noun === command.name())
      command
        .command(nameThere ?? name)
        .summary(summary)
        .helpGroup('Also:')
  if (argv.some(isHelpFlag)) (await import('./examples.ts')).addExamples(command)
}

function isHelpFlag(arg: string): boolean {
  return arg === '--help' || arg === '-h'
}

/** Prints help; what is still wider than the terminal breaks between words. */
function writeOut(text: string): void {
  process.stdout.write(fitted(text, process.stdout))
}

/** A line of more than 100 columns is hard to read, however wide the terminal is. */
function helpWidth(): number {
  return Math.min(process.stdout.columns || 80, 100)
}

/** `--data-dir "$UNSET"` must not silently mean the default directory. */
function parsePath(value: string): string {
  if (value === '') throw new InvalidArgumentError('It is empty; name a path, or leave the option out.')
  return value
}

/** The first word that is neither an option nor the value of one. */
function findCommandName(argv: string[]): string | undefined {
  for (let index = 0; index < argv.length; index++) {
    const arg = argv[index] ?? ''
    if (arg === '--config' || arg === '--data-dir') index++
    else if (!arg.startsWith('-')) return arg
  }
  return undefined
}

/** The command with its subcommands, as in `rules add`: the error points to the help of the innermost one. */
function findCommandPath(program: Command, argv: string[]): string {
  const name = findCommandName(argv) ?? ''
  const names = [name]
  let command = program.commands.find(candidate => candidate.name() === name)
  for (const word of argv.slice(argv.indexOf(name) + 1)) {
    const child = command?.commands.find(candidate => candidate.name() === word)
    if (!child) continue
    names.push(word)
    command = child
  }
  return names.join(' ')
}

/** Turns `pcc help start` into `pcc start --help`; an unknown command is rejected as if it were called. */
function replaceHelpCommand(argv: string[]): string[] {
  if (findCommandName(argv) !== 'help') return argv
  const rest = argv.filter((_, index) => index !== argv.indexOf('help'))
  const topic = findCommandName(rest)
  return topic === undefined || COMMANDS.some(row => row.name === topic) ? [...rest, '--help'] : rest
}

/** Turns `pcc session pause` into `pcc pause`: the same command under its noun. */
function replaceNoun(argv: string[]): string[] {
  const noun = findCommandName(argv)
  const at = argv.indexOf(noun ?? '')
  const row = COMMANDS.find(each => each.noun === noun && (each.nameThere ?? each.name) === argv[at + 1])
  return noun === undefined || !row ? argv : [...argv.slice(0, at), row.name, ...argv.slice(at + 2)]
}

/** Takes `--help` out of a call of an unknown command, which commander would answer with the help of the command above it. */
function withoutVainHelp(program: Command, argv: string[]): string[] {
  const name = findCommandName(argv)
  if (name === undefined) return argv
  let command = program
  for (const word of argv.slice(argv.indexOf(name)).filter(arg => !arg.startsWith('-'))) {
    const child = command.commands.find(candidate => candidate.name() === word)
    if (!child && command.commands.length > 0 && command.registeredArguments.length === 0)
      return argv.filter(arg => !isHelpFlag(arg))
    if (!child) return argv
    command = child
  }
  return argv
}

/** The message for a command that was called without the subcommand that it needs. */
function describeMissingSubcommand(program: Command, name: string | undefined): string {
  const names = program.commands.find(command => command.name() === name)?.commands.map(child => child.name()) ?? []
  const list = names.length > 1 ? `${names.slice(0, -1).join(', ')} or ${names.at(-1)}` : names.join()
  return `pcc ${name} needs to know what: ${list}`
}

/** Commander's message without its `error:` prefix: `unknown option '--tsk' (did you mean --task?)`. */
function plainMessage(error: CommanderError): string {
  return error.message
    .replace(/^error: /, '')
    .replace(/^command-argument value '(.*)' is invalid for argument '([^']*)'/, "'$1' is not a valid $2")
    .replace(/\n\(Did/, ' (did')
    .replaceAll('\n', ' ')
}
