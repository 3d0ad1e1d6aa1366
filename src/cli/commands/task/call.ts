import type { Command } from 'commander'
import { AppError } from '../../../base/errors.ts'
import { type Client, openClient } from '../../connection/client.ts'
import { type CommandContext, commandContext } from '../../context.ts'
import { refuseInSession } from '../../options.ts'

/** The context of a `pcc task` command, with a connection to the daemon. */
export interface CommandCall extends CommandContext {
  client: Client
  /** Prints the answer as JSON with `--json`, otherwise the lines. */
  show(answer: unknown, lines: () => string[]): void
}

/** Opens the context of a `pcc task` command. With `writes`, the command is refused inside a session. */
export async function openCommandCall(command: Command, { writes }: { writes: boolean }): Promise<CommandCall> {
  const context = await commandContext(command)
  if (writes) refuseInSession(context.env, `task ${command.name()} …`)
  const client = await openClient(context.paths, context)
  return {
    ...context,
    client,
    show(answer, lines) {
      for (const line of context.json ? [JSON.stringify(answer, null, 2)] : lines()) context.out(line)
    },
  }
}

/** A reference for the API: a name that a task has in a file means the task of this project first. */
export function taskRef(ref: string): string {
  return ref.startsWith('t-') ? ref : `${process.cwd()}#${ref}`
}

/** The API path of a task. A reference of only dots or spaces is rejected here, because it would address another path. */
export function taskPath(ref: string): string {
  if (/^[\s.]*$/.test(ref)) throw new AppError('task_not_there', { ref })
  return `/tasks/${encodeURIComponent(taskRef(ref))}`
}
