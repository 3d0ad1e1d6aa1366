import { Argument, type Command } from 'commander'
import type { SessionView } from '../../../domain/api.ts'
import type { CheckpointLine, CheckpointView } from '../../../domain/checkpoint.ts'
import { openClient } from '../../client.ts'
import { sessionPath } from '../../connection/session-path.ts'
import { contextOf } from '../../context.ts'
import { checkpointPage, checkpointTable } from './checkpoint-lines.ts'

/** `pcc checkpoints`: where a session stood each time it was written down, and what it would be told to go on. */
export function addCheckpointsCommand(program: Command): void {
  program
    .command('checkpoints')
    .description('List the checkpoints of a session, or show one with what the agent would be told.')
    .argument('<session>', 'id, unique beginning of an id, or name')
    .addArgument(new Argument('[action]', 'one of them instead of the list').choices(['show']))
    .argument('[checkpoint]', 'its id or a unique beginning of it; the newest good one when absent')
    .option('--json', 'print JSON')
    .action(async (ref: string, action: string | undefined, id: string | undefined, _: unknown, command: Command) => {
      const { places, json, out, terminal, ...context } = await contextOf(command)
      const client = await openClient(places, context)
      const path = await sessionPath(ref)
      if (action === 'show') {
        const one = `${path}/checkpoints/${encodeURIComponent(id ?? 'latest')}`
        const view = await client.request<CheckpointView>('GET', one)
        if (json) return out(JSON.stringify(view, null, 2))
        return checkpointPage(view, terminal).forEach(out)
      }
      const reply = await client.request<{ checkpoints: CheckpointLine[] }>('GET', `${path}/checkpoints`)
      if (json) return out(JSON.stringify(reply, null, 2))
      const session = await client.request<SessionView>('GET', path)
      checkpointTable(reply.checkpoints, { session: session.id, terminal }).forEach(out)
    })
}
