import type { Command } from 'commander'
import type { SessionView } from '../../../domain/api.ts'
import { type Client, openClient } from '../../client.ts'
import { sessionPath } from '../../connection/session-path.ts'
import { type Context, contextOf, ExitCode } from '../../context.ts'
import { followSession } from '../../live/follow.ts'
import { isOver } from '../../render/format.ts'
import { runNamed } from '../../run/named-run.ts'
import { pauseRun } from '../../run/steer-run.ts'
import { refuseInSession } from '../decide/own-terminal.ts'
import { lastEvent } from './last-event.ts'
import { pausedLines, pausingLine } from './paused-lines.ts'

/** `pcc pause`: a session stops after the tool in flight, and goes on when a person says so. */
export function addPauseCommand(program: Command): void {
  program
    .command('pause')
    .description('Pause a session after the tool in flight; one that waits for a limit does not go on by itself then.')
    .argument('<session>', 'id, unique beginning of an id, or name; also of a run or a task')
    .option('--detach', 'ask for it and return, without waiting for the tool in flight')
    .option('--json', 'print JSON')
    .action(async (ref: string, { detach }: { detach?: boolean }, command: Command) => {
      throw new ExitCode(await pause(ref, { detach: detach === true, context: await contextOf(command) }))
    })
}

async function pause(ref: string, { detach, context }: { detach: boolean; context: Context }): Promise<number> {
  const { json, out, note } = context
  refuseInSession(context.env, `pause ${ref}`)
  const client = await openClient(context.places, context)
  const run = await runNamed(ref, client)
  if (run) {
    await pauseRun(run, { client, context })
    return 0
  }
  const before = await client.request<SessionView>('GET', await sessionPath(ref))
  const after = await lastEvent(client, before.id)
  let session = await client.request<SessionView>('POST', `/sessions/${before.id}/pause`, {})
  if (!isOver(session)) {
    if (detach) {
      out(json ? JSON.stringify(session, null, 2) : pausingLine(session))
      return 0
    }
    note(pausingLine(session))
    const ended = await untilOver(client, { session: session.id, after })
    if (!ended) {
      note('It pauses all the same.')
      return INTERRUPTED
    }
    session = ended
  }
  if (json) out(JSON.stringify(session, null, 2))
  else for (const line of pausedLines(session, before)) out(line)
  return EXIT_CODES[session.status] ?? 0
}

/** Left with Ctrl+C. */
const INTERRUPTED = 130

/** A session that was quicker than the pause: it waits for a person, or failed. Whatever else stands still is as wanted. */
const EXIT_CODES: Partial<Record<SessionView['status'], number>> = { waiting_input: 3, error: 1 }

/** The session when its agent is gone. One that met its limit before it could pause is kept from going on by itself. */
async function untilOver(
  client: Client,
  { session, after }: { session: string; after: number },
): Promise<SessionView | undefined> {
  const leave = new AbortController()
  const onSignal = () => leave.abort()
  process.once('SIGINT', onSignal)
  try {
    const events = followSession(client, { session, after, attach: false, signal: leave.signal })
    for await (const event of events) {
      if (event.kind !== 'session.ended') continue
      if (event.body.resumes_at === undefined) return await client.request<SessionView>('GET', `/sessions/${session}`)
      return await client.request<SessionView>('POST', `/sessions/${session}/pause`, {})
    }
    return undefined
  } finally {
    process.off('SIGINT', onSignal)
  }
}
