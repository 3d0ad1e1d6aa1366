import type { Command } from 'commander'
import { type AppPaths, appPathsFor, dataDirectoryHint } from '../base/app-paths.ts'
import { breakLines, printable, type Terminal, terminalOf } from './render/text.ts'

/** What every command gets: the paths, what the terminal can show, and how to print. */
export interface CommandContext {
  paths: AppPaths
  /** `--config` and `--data-dir` as they were given, for a `pcc` that is started for the person. Their paths are absolute. */
  placeFlags: readonly string[]
  env: Record<string, string | undefined>
  json: boolean
  verbose: boolean
  quiet: boolean
  terminal: Terminal
  /** Prints a line of the command's result. */
  out(line: string): void
  /** Prints a line of progress or a remark; `--quiet` drops it. */
  note(line: string): void
}

/** Ends the command with an exit code that is not an error: a session was stopped, or waits for a person. */
export class ExitCode extends Error {
  readonly code: number

  /** By the name: in the bundle some files have a copy of this class. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === 'ExitCode'
  }

  constructor(code: number) {
    super(`exit ${code}`)
    this.name = 'ExitCode'
    this.code = code
  }
}

interface GlobalOptions {
  config?: string | undefined
  dataDir?: string | undefined
  verbose?: boolean
  quiet?: boolean
  json?: boolean
}

/** Builds the context of a command from its own and the global options. */
export function commandContext(command: Command): Promise<CommandContext> {
  return contextFrom(command.optsWithGlobals<GlobalOptions>())
}

/** Builds the context from options that have been parsed already. */
export async function contextFrom(options: GlobalOptions): Promise<CommandContext> {
  const { env } = process
  const [quiet, json] = [options.quiet === true, options.json === true]
  const terminal = terminalOf(process.stdout, env)
  const { config, dataDir } = options
  return {
    paths: withAccepted(await resolvePaths({ env, configFile: config, dataDir })),
    placeFlags: [...placeFlag('--config', config), ...placeFlag('--data-dir', dataDir)],
    env,
    json,
    verbose: options.verbose === true,
    quiet,
    terminal,
    ...printers({ json, quiet }),
  }
}

/** How a command prints: at a terminal no line breaks within a word. */
export function printers({ json, quiet }: { json: boolean; quiet: boolean }): Pick<CommandContext, 'out' | 'note'> {
  return {
    out: line => process.stdout.write(`${json ? line : fitted(line, process.stdout)}\n`),
    note: line => {
      if (!quiet) process.stderr.write(`${fitted(line, process.stderr)}\n`)
    },
  }
}

/** A text as a terminal may have it: it is printable, and its lines break between words, where the terminal would break them anywhere. */
export function fitted(text: string, stream: NodeJS.WritableStream & { isTTY?: boolean }): string {
  return breakLines(stream.isTTY ? printable(text) : text, terminalOf(stream as NodeJS.WriteStream, process.env).width)
}

function placeFlag(flag: string, path: string | undefined): string[] {
  return path ? [flag, process.getBuiltinModule('node:path').resolve(path)] : []
}

/** The person's files count for a command as they count for the daemon. Imported on use: most commands read none of them. */
function withAccepted(paths: AppPaths): AppPaths {
  const importStore = () => import('../store/accepted-files.ts')
  const inForce = async (file: string, onDisk: string) => (await importStore()).contentInForce(paths, file, onDisk)
  return { ...paths, accepted: { inForce, begin: () => {}, notes: () => [] } }
}

/** The config file is read only when it may move the data directory or must be rejected. */
async function resolvePaths(options: Parameters<typeof appPathsFor>[0]): Promise<AppPaths> {
  const paths = appPathsFor(options)
  if (dataDirectoryHint(paths, options.env) === 'default') return paths
  const { resolvePaths } = await import('../domain/config/load.ts')
  return resolvePaths(options)
}

/** Whether a person at this terminal can be asked. */
export function isInteractive({ json }: Pick<CommandContext, 'json'>): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true && !json
}

/** One row of the table of commands. */
export interface CommandRow {
  name: string
  /** Its group in the help of `pcc`; without one it is only listed under its noun. */
  group?: string
  /** The command under which it is also found, as in `pcc session pause`. */
  noun?: string
  /** Its name there, if that differs. */
  nameThere?: string
  summary: string
  /** Imports the command's file and adds the command. Only the file of the command that is called is imported. */
  add(program: Command): Promise<void>
}
