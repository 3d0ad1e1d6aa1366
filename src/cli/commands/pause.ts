import type { Command } from 'commander'
import { neutral } from '../../base/neutral.ts'
import type { SessionView } from '../../domain/api.ts'
import { type Client, openClient } from '../connection/client.ts'
import { findRun, sessionPath } from '../connection/connection.ts'
import { type CommandContext, commandContext, ExitCode } from '../context.ts'
import { followSession, lastEvent } from '../live/follow.ts'
import { refuseInSession } from '../options.ts'
import { hasEnded, nameOf, resumeCommand } from '../render/format.ts'
import { pauseRun } from './run/control.ts'

/** `pcc pause`: pauses a session after the tool in flight, until a person resumes it. */
export function addPauseCommand(program: Command): void {
  program
    .command('pause')
    .description('Pause a session after the tool in flight; one that waits for a limit stays where it is')
    .argument('<session>', 'id, unique beginning of an id, or name; also of a run or a task')
    .option('--detach', 'return at once, without waiting for the tool in flight')
    .option('--json', 'print JSON')
    .action(async (ref: string, { detach }: { detach?: boolean }, command: Command) => {
      throw new ExitCode(await pause(ref, { detach: detach === true, context: await commandContext(command) }))
    })
}

async function pause(ref: string, { detach, context }: { detach: boolean; context: CommandContext }): Promise<number> {
  const { json, out, note } = context
  refuseInSession(context.env, `pause ${ref}`)
  const client = await openClient(context.paths, context)
  const run = await findRun(ref, client)
  if (run) {
    await pauseRun(run, { client, context })
    return 0
  }
  const before = await client.request<SessionView>('GET', await sessionPath(ref))
  const ofTask = taskNote(ref, before)
  if (ofTask !== undefined) note(ofTask)
  const after = await lastEvent(client, before.id)
  let session = await client.request<SessionView>('POST', `/sessions/${before.id}/pause`, {})
  if (!hasEnded(session)) {
    // A person may keep the terminal for hours.
    if (detach || session.taken_over) {
      out(json ? JSON.stringify(session, null, 2) : pausingLine(session))
      return 0
    }
    note(pausingLine(session))
    const ended = await waitUntilOver(client, { session: session.id, after })
    if (!ended) {
      note('The session will pause all the same.')
      return INTERRUPTED
    }
    session = ended
  }
  if (json) out(JSON.stringify(session, null, 2))
  else for (const line of pausedLines(session, before)) out(line)
  return EXIT_CODES[session.status] ?? 0
}

/** Says whose pause follows where a task was named. */
function taskNote(ref: string, session: SessionView): string | undefined {
  const isSession = [session.id, session.id.slice(2), session.name].some(own => own.startsWith(ref))
  return isSession ? undefined : `Task ${neutral(ref)} is the work of session ${nameOf(session)}.`
}

/** The exit code after Ctrl+C. */
const INTERRUPTED = 130

/** Exit codes for a session that waits for a person or failed before it could pause. Any other state is as wanted. */
const EXIT_CODES: Partial<Record<SessionView['status'], number>> = { waiting_input: 3, error: 1 }

/** Waits until the agent is gone. A session that met its limit before it could pause is kept from going on by itself. */
async function waitUntilOver(
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

/** Says what a session still waits for before it pauses. */
export function pausingLine(session: SessionView): string {
  const { id, asks, taken_over } = session
  if (taken_over)
    return `A person has the terminal of ${nameOf(session)}: it pauses when it is handed back.\nHand it back with: pcc handback ${id}`
  const when = asks.length > 0 ? `when it has its answer (pcc attach ${id})` : 'after the tool in flight'
  return `Session ${nameOf(session)} pauses ${when}.`
}

/** Says how the pause ended. */
export function pausedLines(session: SessionView, before: SessionView): string[] {
  const resumeHint = `Go on with: ${resumeCommand(session)}`
  switch (session.status) {
    case 'paused':
      if (before.status === 'paused' && before.resumes_at === null)
        return [`Session is paused already: ${nameOf(session)}`, resumeHint]
      if (before.status === 'rate_limited')
        return [`Session paused: ${nameOf(session)}`, 'It does not go on by itself when the limit resets.', resumeHint]
      return [`Session paused: ${nameOf(session)}`, resumeHint]
    case 'completed':
      return [`Session was complete before it could pause: ${nameOf(session)}`]
    case 'waiting_input':
      return [`Session waits for your answer, and does nothing until then: ${nameOf(session)}`, 'See: pcc pending']
    case 'stopped':
      return [`Session was stopped before it could pause: ${nameOf(session)}`, resumeHint]
    default:
      return [`Session failed before it could pause: ${nameOf(session)}`, ...reasonLines(session)]
  }
}

function reasonLines({ reason }: SessionView): string[] {
  return reason === null ? [] : neutral(reason).split('\n')
}
