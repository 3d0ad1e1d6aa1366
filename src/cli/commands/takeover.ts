import type { Command } from 'commander'
import type { SessionView } from '../../domain/api.ts'
import { openClient } from '../connection/client.ts'
import { sessionPath } from '../connection/connection.ts'
import { type CommandContext, commandContext, ExitCode, isInteractive } from '../context.ts'
import { refuseInSession } from '../options.ts'

/** `pcc takeover`: from now on a person types in the terminal of an agent. */
export function addTakeoverCommand(program: Command): void {
  program
    .command('takeover')
    .description('Take the terminal of a session in tmux: pcc types nothing until you hand it back')
    .argument('<session>', 'id, unique beginning of an id, or name; also of a task')
    .option('--no-attach', 'do not enter the terminal')
    .option('--json', 'print JSON')
    .action(async (ref: string, { attach }: { attach: boolean }, command: Command) => {
      const context = await commandContext(command)
      const { session, client } = await handOver(ref, 'takeover', context)
      if (!attach || context.json || !isInteractive(context)) throw new ExitCode(0)
      throw new ExitCode((await (await import('../live/tmux-window.ts')).enterTerminal(session, context, client)) ?? 0)
    })
}

/** `pcc handback`: gives a session that a person took over back to pcc. */
export function addHandbackCommand(program: Command): void {
  program
    .command('handback')
    .description('Give back a terminal that you took over: pcc goes on with the session')
    .argument('<session>', 'id, unique beginning of an id, or name; also of a task')
    .option('--json', 'print JSON')
    .action(async (ref: string, _options: unknown, command: Command) => {
      await handOver(ref, 'handback', await commandContext(command))
      throw new ExitCode(0)
    })
}

/** Takes over a terminal, or hands it back. */
async function handOver(ref: string, action: 'takeover' | 'handback', context: CommandContext) {
  const { paths, env, json, out } = context
  refuseInSession(env, `${action} ${ref}`)
  const client = await openClient(paths, context)
  const { id } = await client.request<SessionView>('GET', await sessionPath(ref))
  const session = await client.request<SessionView>('POST', `/sessions/${id}/${action}`, {})
  if (json) out(JSON.stringify(session, null, 2))
  else for (const line of LINES[action](session)) out(line)
  return { session, client }
}

const LINES = {
  takeover: ({ id }: SessionView) => [
    `The terminal of ${id} is yours: pcc types nothing and answers no question. Calls are judged as before.`,
    `Enter it with: pcc attach ${id}. Give it back with: pcc handback ${id}`,
  ],
  handback: ({ id, pausing, status }: SessionView) =>
    pausing || status === 'paused'
      ? [`Session ${id} pauses, as you asked while you had its terminal.`, `Go on with: pcc resume ${id}`]
      : [`pcc goes on with ${id}.`],
}
