import type { Command } from 'commander'
import type { SessionView } from '../../domain/api.ts'
import type { RunDetail } from '../../domain/run.ts'
import { openClient } from '../connection/client.ts'
import { findRun, sessionPath } from '../connection/connection.ts'
import { commandContext } from '../context.ts'
import { refuseInSession } from '../options.ts'
import { nameOf, resumeCommand } from '../render/format.ts'
import { cancelSchedule, isScheduleId, stoppedInRun, stopRun } from './run/control.ts'

/** `pcc stop`: ends a session and everything its agent started, or a run. */
export function addStopCommand(program: Command): void {
  program
    .command('stop')
    .description('Stop a session now, the tool in flight too; a run ends after the task at work')
    .argument('<session>', 'id, unique beginning of an id, or name; also of a run, a task or a schedule')
    .option('--now', 'of a run: stop the task at work too, and give it back')
    .option('--json', 'print JSON')
    .action(async (ref: string, { now }: { now?: true }, command: Command) => {
      const { paths, json, out, ...context } = await commandContext(command)
      refuseInSession(context.env, `stop ${ref}`)
      const client = await openClient(paths, context)
      if (isScheduleId(ref)) return cancelSchedule(ref, { client, context: { json, out } })
      const run = await findRun(ref, client)
      if (run) return stopRun(run, now === true, { client, context: { json, out } })
      const session = await client.request<SessionView>('POST', `${await sessionPath(ref)}/stop`, {})
      if (json) return out(JSON.stringify(session, null, 2))
      out(`Session stopped: ${nameOf(session)}`)
      if (session.run_id === undefined) return out(`Go on with: ${resumeCommand(session)}`)
      out(stoppedInRun(session.id, await client.request<RunDetail>('GET', `/runs/${session.run_id}`)))
    })
}
