import type { Command } from 'commander'
import { AppError } from '../../../base/errors.ts'
import { type Client, openClient } from '../../client.ts'
import { type Context, contextOf } from '../../context.ts'
import { refuseInSession } from '../decide/own-terminal.ts'

/** A command about tasks with the daemon behind it. */
export interface TaskCall extends Context {
  client: Client
  /** JSON where it was asked for, else the lines. */
  show(answer: unknown, lines: () => string[]): void
}

/** Opens what a command about tasks works with. `writes`: an agent in a session must not do it. */
export async function taskCall(command: Command, { writes }: { writes: boolean }): Promise<TaskCall> {
  const context = await contextOf(command)
  if (writes) refuseInSession(context.env, `task ${command.name()} …`)
  const client = await openClient(context.places, context)
  return {
    ...context,
    client,
    show(answer, lines) {
      for (const line of context.json ? [JSON.stringify(answer, null, 2)] : lines()) context.out(line)
    },
  }
}

/** Where a task is asked for. What cannot be an id is refused here: it would be another address. */
export function taskPath(ref: string): string {
  if (/^[\s.]*$/.test(ref)) throw new AppError('task_not_there', { ref })
  return `/tasks/${encodeURIComponent(ref)}`
}
