import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { withWholePath } from '../base/search-path.ts'

type Env = Record<string, string | undefined>

export interface TerminalProgram {
  command: string
  args: readonly string[]
  env: Env
  /** By default this process's own directory. */
  cwd?: string | undefined
  /** Its standard input, if that is not the terminal. */
  input?: string | undefined
}

/** How it ended. `error` is set if it could not be started. */
export interface TerminalProgramEnd {
  code: number | null
  signal: NodeJS.Signals | null
  error?: Error | undefined
}

/**
 * Runs a program in the person's terminal until it exits: an editor, a pager, a shell. It has no time limit, and Ctrl+C belongs
 * to it: it does not end this process.
 */
export async function runInTerminal(program: TerminalProgram): Promise<TerminalProgramEnd> {
  const { command, args, env, cwd, input } = program
  const child = spawn(command, args, {
    cwd,
    env: withWholePath(env),
    stdio: [input === undefined ? 'inherit' : 'pipe', 'inherit', 'inherit'],
  })
  child.stdin?.on('error', () => undefined) // the person may leave before the end of the input
  child.stdin?.end(input)
  const ignore = () => undefined
  process.on('SIGINT', ignore)
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    return { code, signal }
  } catch (error) {
    return { code: null, signal: null, error: error as Error }
  } finally {
    process.off('SIGINT', ignore)
  }
}

/** The command that opens a file or folder in the person's editor, which may be set with options ("code --wait"): a shell splits it. */
export function editorFor(file: string, env: Env): TerminalProgram & { editor: string } {
  const editor = env['VISUAL'] || env['EDITOR'] || 'vi'
  return { editor, command: '/bin/sh', args: ['-c', `${editor} "$1"`, 'editor', file], env }
}
