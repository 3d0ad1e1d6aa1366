import type { Command } from 'commander'
import { type AppPaths, appPathsFor, dataDirectoryHint } from '../base/app-paths.ts'
import { type Terminal, terminalOf } from './render/text.ts'

/** What every command body gets: where things lie, what the person's terminal can show, how to print. */
export interface CommandContext {
  paths: AppPaths
  env: Record<string, string | undefined>
  json: boolean
  verbose: boolean
  quiet: boolean
  terminal: Terminal
  /** A line of what was asked for. */
  out(line: string): void
  /** A line of progress or a remark; `--quiet` drops it. */
  note(line: string): void
}

/** Leaves with a code that is no error: a session that was stopped, a wait for a person. */
export class ExitCode extends Error {
  readonly code: number

  constructor(code: number) {
    super(`exit ${code}`)
    this.code = code
  }
}

interface GlobalOptions {
  config?: string
  dataDir?: string
  verbose?: boolean
  quiet?: boolean
  json?: boolean
}

/** The context of a command, from its own and the global options. */
export function contextOf(command: Command): Promise<CommandContext> {
  return contextFrom(command.optsWithGlobals<GlobalOptions>())
}

/** The context from options that are read already. */
export async function contextFrom(options: GlobalOptions): Promise<CommandContext> {
  const { env } = process
  const quiet = options.quiet === true
  return {
    paths: await placesWith({ env, configFile: options.config, dataDir: options.dataDir }),
    env,
    json: options.json === true,
    verbose: options.verbose === true,
    quiet,
    terminal: terminalOf(process.stdout, env),
    out: line => process.stdout.write(`${line}\n`),
    note: line => {
      if (!quiet) process.stderr.write(`${line}\n`)
    },
  }
}

/** Reads the config file only when it can move the data directory, or must be refused. */
async function placesWith(options: Parameters<typeof appPathsFor>[0]): Promise<AppPaths> {
  const paths = appPathsFor(options)
  if (dataDirectoryHint(paths, options.env) === 'default') return paths
  const { resolvePlaces } = await import('../domain/config/load.ts')
  return resolvePlaces(options)
}

/** Whether somebody sits at this terminal who can be asked. */
export function isInteractive({ json }: Pick<CommandContext, 'json'>): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true && !json
}

/** One command as the table knows it. */
export interface CommandRow {
  name: string
  group: string
  summary: string
  /** Imports the command's file and adds it. Only the command that is called is imported. */
  add(program: Command): Promise<void>
}
