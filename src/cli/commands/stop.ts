import type { Command } from 'commander'
import type { SessionView } from '../../domain/api.ts'
import { openClient } from '../client.ts'
import { sessionPath } from '../connection/session-path.ts'
import { contextOf } from '../context.ts'
import { resumeCommand } from '../render/go-on.ts'
import { firstLine } from '../render/text.ts'

/** `pcc stop`: ends a session and everything its agent started. */
export function addStopCommand(program: Command): void {
  program
    .command('stop')
    .description('Stop a session now; its conversation can be resumed.')
    .argument('<session>', 'id, unique beginning of an id, or name')
    .option('--json', 'print JSON')
    .action(async (ref: string, _options: unknown, command: Command) => {
      const { places, json, out, ...context } = await contextOf(command)
      const client = await openClient(places, context)
      const session = await client.request<SessionView>('POST', `${await sessionPath(ref)}/stop`, {})
      if (json) return out(JSON.stringify(session, null, 2))
      out(`Session stopped: ${session.id} (${firstLine(session.name)})`)
      if (session.vendor_id) out(`Go on with: ${resumeCommand(session.project, session.vendor_id)}`)
    })
}
