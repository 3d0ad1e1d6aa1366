import type { Command } from 'commander'
import type { SessionView } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { type Client, openClient } from '../connection/client.ts'
import { findRun, sessionPath } from '../connection/connection.ts'
import { type CommandContext, contextOf, ExitCode, isInteractive } from '../context.ts'
import { canBeResumed, resumesByItself, runLiveView } from '../live/watch.ts'
import { eventLines } from '../render/event-lines.ts'
import { isOver } from '../render/format.ts'
import { attachHeader } from '../render/session-page.ts'
import { closingLines, exitCodeFor, interruptedLines } from '../render/summary.ts'
import { resumeEnvironment } from '../session-env.ts'

/** How much of what happened before is shown, so that one knows where one came in. */
const BEFORE = 20

/** `pcc attach`: the live view of a session that is there already. */
export function addAttachCommand(program: Command): void {
  program
    .command('attach')
    .description('Watch a session live and answer what it asks.')
    .argument('<session>', 'id, unique beginning of an id, or name; also of a run or a task')
    .option('--events', 'with a terminal of its own (--host tmux): show what happens in place of the terminal')
    .option('--json', 'print events as JSON lines')
    .action(async (ref: string, { events }: { events?: boolean }, command: Command) => {
      throw new ExitCode(await attach(ref, await contextOf(command), { events: events === true }))
    })
}

/** Shows a session live, whatever it is doing, until it is over or the person leaves. Returns the exit code. */
export async function attach(ref: string, context: CommandContext, { events: asEvents = true } = {}): Promise<number> {
  const { terminal, json, verbose, quiet } = context
  const out = quiet && !json ? () => {} : context.out
  const client = await openClient(context.paths, context)
  const run = await findRun(ref, client)
  if (run) return (await import('./run/control.ts')).watchRun(run, { client, context })
  const { id, ...found } = await client.request<SessionView>('GET', await sessionPath(ref))
  if (found.host === 'tmux' && !asEvents && !isOver(found) && isInteractive(context)) {
    const left = await (await import('../live/tmux-window.ts')).enterTerminal({ ...found, id }, context, client)
    if (left !== undefined) return left
  }
  const path = `/sessions/${id}/events`
  const { events } = await client.request<{ events: StoredEvent[] }>('GET', `${path}?tail=${BEFORE}`)
  // Looked at after its events: what is asked in between is then either open here or still to come.
  const session = await client.request<SessionView>('GET', `/sessions/${id}`)
  const draw = eventLines({ terminal, project: session.project, agent: session.agent, verbose, reasonElsewhere: true })
  const asked = await openAsksOf(client, session)
  // What is to be answered here is shown when its turn comes; otherwise where it happened, or at the end if that is long ago.
  const answers = isInteractive(context)
  const isOpen = ({ body }: StoredEvent) => 'ask_id' in body && asked.some(({ ask }) => ask.ask_id === body.ask_id)
  const before = events.filter(event => !answers || !isOpen(event))
  const lines = json
    ? events.map(event => JSON.stringify(event))
    : [...attachHeader(session, terminal), ...before.flatMap(draw)]
  for (const line of lines) out(line)
  const drawOpen = eventLines({
    terminal,
    project: session.project,
    agent: session.agent,
    verbose,
    reasonElsewhere: true,
    answeredHere: answers,
  })
  const open = asked.map(({ ask, callId, wanted, event }) => {
    wanted.forEach(drawOpen)
    return { ask, callId, event, lines: drawOpen(event) }
  })
  const unseen = open.filter(({ event }) => !events.some(({ id }) => id === event.id))
  const parked = isOver(session) && session.asks.length > 0
  if (!json && !answers) unseen.flatMap(one => one.lines).forEach(out)
  const resumesAt = isOver(session) && resumesByItself(events.findLast(isTurningPoint)) ? session.resumes_at : null
  const rests = answers && isOver(session) && canBeResumed(events.findLast(isTurningPoint))
  if (isOver(session) && resumesAt === null && !rests && !(parked && answers)) {
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
    stays: answers,
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
type Wanted = Extract<StoredEvent, { kind: 'tool.requested' }>

/** What is open, with the events that asked it: they know the call by which we learn that it is settled, and its input. */
async function openAsksOf(client: Client, session: SessionView) {
  if (session.asks.length === 0) return []
  const kinds = 'tool.requested,permission.asked,question.asked,question.parked,permission.parked'
  const path = `/sessions/${session.id}/events?kinds=${kinds}`
  const { events } = await client.request<{ events: (AskEvent | Wanted)[] }>('GET', path)
  return session.asks.flatMap(ask => {
    const event = events.findLast((one): one is AskEvent => 'ask_id' in one.body && one.body.ask_id === ask.ask_id)
    if (!event) return []
    const { call_id } = event.body
    const wanted = events.filter(one => one.kind === 'tool.requested' && one.body.call_id === call_id)
    return [{ ask, callId: call_id, wanted, event }]
  })
}
