import type { Command } from 'commander'
import type { SessionView } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { type Client, openClient } from '../client.ts'
import { type Context, contextOf, ExitCode } from '../context.ts'
import { closingLines, exitOf, isOver } from '../live/closing.ts'
import { isInteractive, runView } from '../live/run-view.ts'
import { eventLines } from '../render/event-lines.ts'
import { attachHeader } from '../render/header.ts'
import { sessionEnvironment } from '../session-env.ts'

/** How much of what happened before is shown, so that one knows where one came in. */
const BEFORE = 20

/** `pcc attach`: the live view of a session that is there already. */
export function addAttachCommand(program: Command): void {
  program
    .command('attach')
    .description('Watch a session live and answer what it asks.')
    .argument('<session>', 'id, unique beginning of an id, or name')
    .option('--json', 'print events as JSON lines')
    .action(async (ref: string, _options: unknown, command: Command) => {
      throw new ExitCode(await attach(ref, await contextOf(command)))
    })
}

async function attach(ref: string, context: Context): Promise<number> {
  const { terminal, out, json, verbose } = context
  const client = await openClient(context.places, context)
  const session = await client.request<SessionView>('GET', `/sessions/${encodeURIComponent(ref)}`)
  const path = `/sessions/${session.id}/events`
  const { events } = await client.request<{ events: StoredEvent[] }>('GET', `${path}?tail=${BEFORE}`)
  const draw = eventLines({ terminal, project: session.project, verbose })
  const lines = json
    ? events.map(event => JSON.stringify(event))
    : [...attachHeader(session, terminal), ...events.flatMap(draw)]
  for (const line of lines) out(line)
  const open = await openAsksOf(client, session)
  const unseen = open.flatMap(({ asked }) => asked).filter(event => !events.some(({ id }) => id === event.id))
  const parked = isOver(session) && session.asks.length > 0
  if (!json) unseen.flatMap(draw).forEach(out)
  if (isOver(session) && !(parked && isInteractive(context))) {
    if (!json) (await closingLines(client, session, terminal)).forEach(out)
    return exitOf(session)
  }
  if (!json) out('')
  const env = await sessionEnvironment(context.places, context.env)
  return runView({ client, session, context, after: events.at(-1)?.id ?? 0, open, env })
}

type Asked = Extract<StoredEvent, { kind: 'permission.asked' | 'question.asked' | 'question.parked' }>
type Wanted = Extract<StoredEvent, { kind: 'tool.requested' }>

/** What is open, with the events that asked it: they know the call by which we learn that it is settled, and its input. */
async function openAsksOf(client: Client, session: SessionView) {
  if (session.asks.length === 0) return []
  const kinds = 'tool.requested,permission.asked,question.asked,question.parked'
  const path = `/sessions/${session.id}/events?kinds=${kinds}`
  const { events } = await client.request<{ events: (Asked | Wanted)[] }>('GET', path)
  return session.asks.flatMap(ask => {
    const event = events.findLast((one): one is Asked => 'ask_id' in one.body && one.body.ask_id === ask.ask_id)
    if (!event) return []
    const { call_id } = event.body
    const wanted = events.filter(one => one.kind === 'tool.requested' && one.body.call_id === call_id)
    return [{ ask, callId: call_id, asked: [...wanted, event] }]
  })
}
