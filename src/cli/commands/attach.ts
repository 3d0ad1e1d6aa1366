import type { Command } from 'commander'
import type { SessionView } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { type Client, openClient } from '../connection/client.ts'
import { findRun, sessionPath } from '../connection/connection.ts'
import { type CommandContext, commandContext, ExitCode, isInteractive } from '../context.ts'
import { canBeResumed, resumesByItself, runLiveView } from '../live/watch.ts'
import { eventLines } from '../render/event-lines.ts'
import { hasEnded } from '../render/format.ts'
import { attachHeader } from '../render/session-page.ts'
import { closingLines, exitCodeFor, interruptedLines } from '../render/summary.ts'
import { resumeEnvironment } from '../session-env.ts'

/** How many past events are shown first, for context. */
const PAST_EVENTS = 20

/** `pcc attach`: the live view of an existing session. */
export function addAttachCommand(program: Command): void {
  program
    .command('attach')
    .description('Watch a session live and answer what it asks')
    .argument('<session>', 'id, unique beginning of an id, or name; also of a run or a task')
    .option('--events', 'for a session in its own terminal (--host tmux): show its events instead of that terminal')
    .option('--json', 'print events as JSON lines')
    .action(async (ref: string, { events }: { events?: boolean }, command: Command) => {
      throw new ExitCode(await attach(ref, await commandContext(command), { events: events === true }))
    })
}

/** Shows a session live, in whatever state it is, until it ends or the person leaves. Returns the exit code. */
export async function attach(
  ref: string,
  context: CommandContext,
  { events: asEvents }: { events: boolean },
): Promise<number> {
  const { terminal, json, verbose, quiet } = context
  const out = quiet && !json ? () => {} : context.out
  const client = await openClient(context.paths, context)
  const run = await findRun(ref, client)
  if (run) return (await import('./run/control.ts')).watchRun(run, { client, context })
  const { id, ...rest } = await client.request<SessionView>('GET', await sessionPath(ref))
  if (rest.host === 'tmux' && !asEvents && !hasEnded(rest) && isInteractive(context)) {
    const exitCode = await (await import('../live/tmux-window.ts')).enterTerminal({ ...rest, id }, context, client)
    if (exitCode !== undefined) return exitCode
  }
  const path = `/sessions/${id}/events`
  const { events } = await client.request<{ events: StoredEvent[] }>('GET', `${path}?tail=${PAST_EVENTS}`)
  // The session is read after its events: an ask raised in between is then either open here or still in the stream.
  const session = await client.request<SessionView>('GET', `/sessions/${id}`)
  const draw = eventLines({ terminal, project: session.project, agent: session.agent, verbose, reasonElsewhere: true })
  const openAsks = await readOpenAsks(client, session)
  // An ask that is answered here is shown when its turn comes. Otherwise it is shown where it happened, or at the end if
  // its event is older than those shown.
  const canAnswer = isInteractive(context)
  const isOpen = ({ body }: StoredEvent) => 'ask_id' in body && openAsks.some(({ ask }) => ask.ask_id === body.ask_id)
  const past = events.filter(event => !canAnswer || !isOpen(event))
  const lines = json
    ? events.map(event => JSON.stringify(event))
    : [...attachHeader(session, terminal), ...past.flatMap(draw)]
  for (const line of lines) out(line)
  const drawOpen = eventLines({
    terminal,
    project: session.project,
    agent: session.agent,
    verbose,
    reasonElsewhere: true,
    answeredHere: canAnswer,
  })
  const open = openAsks.map(({ ask, callId, requests, event }) => {
    requests.forEach(drawOpen)
    return { ask, callId, event, lines: drawOpen(event) }
  })
  const unseen = open.filter(({ event }) => !events.some(({ id }) => id === event.id))
  const isParked = hasEnded(session) && session.asks.length > 0
  if (!json && !canAnswer) unseen.flatMap(({ lines: askLines }) => askLines).forEach(out)
  const resumesAt = hasEnded(session) && resumesByItself(events.findLast(isTurningPoint)) ? session.resumes_at : null
  const rests = canAnswer && hasEnded(session) && canBeResumed(events.findLast(isTurningPoint))
  if (hasEnded(session) && resumesAt === null && !rests && !(isParked && canAnswer)) {
    if (!json) interruptedLines({ ...session, reason: null }, terminal).forEach(out)
    if (!json) (await closingLines(client, session, { id: session.id, terminal })).forEach(out)
    return exitCodeFor(session)
  }
  if (!json) out('')
  const env = await resumeEnvironment({ paths: context.paths, env: context.env, project: session.project })
  return runLiveView({
    client,
    session,
    context,
    after: events.at(-1)?.id ?? 0,
    open,
    env,
    resumesAt: resumesAt ?? undefined,
    stays: canAnswer,
    rests,
  })
}

function isTurningPoint({ kind }: StoredEvent): boolean {
  return kind === 'session.ended' || kind === 'session.resumed'
}

type AskEvent = Extract<
  StoredEvent,
  { kind: 'permission.asked' | 'question.asked' | 'question.parked' | 'permission.parked' }
>
type ToolRequestEvent = Extract<StoredEvent, { kind: 'tool.requested' }>

/** The open asks, each with the event that raised it and the tool request: they hold the call id, which tells when the ask is settled, and the input. */
async function readOpenAsks(client: Client, session: SessionView) {
  if (session.asks.length === 0) return []
  const kinds = 'tool.requested,permission.asked,question.asked,question.parked,permission.parked'
  const path = `/sessions/${session.id}/events?kinds=${kinds}`
  const { events } = await client.request<{ events: (AskEvent | ToolRequestEvent)[] }>('GET', path)
  return session.asks.flatMap(ask => {
    const event = events.findLast((each): each is AskEvent => 'ask_id' in each.body && each.body.ask_id === ask.ask_id)
    if (!event) return []
    const { call_id } = event.body
    const requests = events.filter(({ kind, body }) => kind === 'tool.requested' && body.call_id === call_id)
    return [{ ask, callId: call_id, requests, event }]
  })
}
