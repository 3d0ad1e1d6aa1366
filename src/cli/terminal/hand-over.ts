import type { Command } from 'commander'
import type { SessionView } from '../../domain/api.ts'
import { openClient } from '../client.ts'
import { refuseInSession } from '../commands/decide/own-terminal.ts'
import { sessionPath } from '../connection/session-path.ts'
import { type Context, contextOf, ExitCode } from '../context.ts'
import { isInteractive } from '../live/interactive.ts'

/** `pcc takeover`: a person types in the terminal of an agent from now on. */
export function addTakeoverCommand(program: Command): void {
  program
    .command('takeover')
    .description(
      'Take the terminal of a session that was started with --host tmux: pcc types nothing until you hand it back.',
    )
    .argument('<session>', 'id, unique beginning of an id, or name; also of a task')
    .option('--no-attach', 'do not enter the terminal')
    .option('--json', 'print JSON')
    .action(async (ref: string, { attach }: { attach: boolean }, command: Command) => {
      const context = await contextOf(command)
      const { session, client } = await handOver(ref, 'takeover', context)
      if (!attach || context.json || !isInteractive(context)) throw new ExitCode(0)
      throw new ExitCode((await (await import('./enter.ts')).enterTerminal(session, context, client)) ?? 0)
    })
}

/** `pcc handback`: pcc goes on with the session. */
export function addHandbackCommand(program: Command): void {
  program
    .command('handback')
    .description('Give a terminal back that you took: pcc goes on with the session.')
    .argument('<session>', 'id, unique beginning of an id, or name; also of a task')
    .option('--json', 'print JSON')
    .action(async (ref: string, _options: unknown, command: Command) => {
      await handOver(ref, 'handback', await contextOf(command))
      throw new ExitCode(0)
    })
}

async function handOver(ref: string, how: 'takeover' | 'handback', context: Context) {
  const { places, env, json, out } = context
  refuseInSession(env, `${how} ${ref}`)
  const client = await openClient(places, context)
  const { id } = await client.request<SessionView>('GET', await sessionPath(ref))
  const session = await client.request<SessionView>('POST', `/sessions/${id}/${how}`, {})
  if (json) out(JSON.stringify(session, null, 2))
  else for (const line of LINES[how](id)) out(line)
  return { session, client }
}

const LINES = {
  takeover: (id: string) => [
    `The terminal of ${id} is yours: pcc types nothing and answers no question. Calls are judged as before.`,
    `Enter it with: pcc attach ${id}. Give it back with: pcc handback ${id}`,
  ],
  handback: (id: string) => [`pcc goes on with ${id}.`],
}
