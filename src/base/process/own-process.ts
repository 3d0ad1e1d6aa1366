import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { entryUrl } from '../program.ts'
import { brandCommand, HELPER_MARKER } from './marker.ts'

/** A module of ours that works in a process of its own. */
export type OwnProcess = ChildProcess

/**
 * Starts a module of ours as a process that works for this one and exits with it: the module has to exit when it is disconnected. It runs in its own
 * session, so that Ctrl+C in the daemon's terminal does not reach it, and with no variables but those given. It is branded: what it starts, and what that can
 * be made to start (a filter of git, a command of tmux), does not speak for a person. It does not keep this process alive.
 */
export function startOwnProcess(
  module: string,
  {
    flags = [],
    args = [],
    env = {},
  }: { flags?: readonly string[]; args?: readonly string[]; env?: NodeJS.ProcessEnv } = {},
): OwnProcess {
  const words = [...flags, fileURLToPath(entryUrl(module)), ...args]
  const branded = brandCommand(HELPER_MARKER, process.execPath, words)
  const child = spawn(branded.command, branded.args, {
    env,
    detached: true,
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  child.unref()
  return child
}

/** Starts a program of the system that reads what it is given until that ends, as it does when we die. */
export function startReader(program: string, args: readonly string[]): OwnProcess {
  return spawn(program, args, { stdio: ['pipe', 'ignore', 'ignore'], env: {}, cwd: '/' })
}
