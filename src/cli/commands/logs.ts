import { type Command, InvalidArgumentError, Option } from 'commander'
import type { SessionView } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { type Client, openClient } from '../client.ts'
import { type Context, contextOf } from '../context.ts'
import { isOver } from '../live/closing.ts'
import { followSession } from '../live/follow.ts'
import { eventLines } from '../render/event-lines.ts'
import { isAtLeast, LEVELS, type Level } from '../render/levels.ts'

interface LogsOptions {
  tail: number
  follow?: boolean
  level: Level
}

/** `pcc logs`: what happened in a session, from its stored events. */
export function addLogsCommand(program: Command): void {
  program
    .command('logs')
    .description('Show what happened in a session.')
    .argument('<session>', 'id, unique beginning of an id, or name')
    .option('--tail <n>', 'the last n entries', count, 50)
    .option('-f, --follow', 'go on as things happen')
    .addOption(new Option('--level <level>', 'this level and above').choices(LEVELS).default('info'))
    .option('--json', 'print events as JSON lines')
    .action(async (ref: string, options: LogsOptions, command: Command) => {
      await logs(ref, options, await contextOf(command))
    })
}

async function logs(ref: string, { tail, follow, level }: LogsOptions, context: Context): Promise<void> {
  const { terminal, json, out } = context
  const client = await openClient(context.places, context)
  const session = await client.request<SessionView>('GET', `/sessions/${encodeURIComponent(ref)}`)
  const draw = eventLines({ terminal, project: session.project, verbose: level === 'debug' || context.verbose })
  const show = (event: StoredEvent) => {
    if (!isAtLeast(event, level)) return
    for (const line of json ? [JSON.stringify(event)] : draw(event)) out(line)
  }
  const { events, last } = await lastEvents(client, session.id, { tail, level })
  events.forEach(show)
  if (!follow || isOver(session)) return
  const leave = new AbortController()
  process.once('SIGINT', () => leave.abort())
  for await (const event of followSession(client, {
    session: session.id,
    after: last,
    attach: false,
    signal: leave.signal,
  })) {
    show(event)
    if (event.kind === 'session.ended') return
  }
}

/** What the daemon gives at once. */
const MOST = 100_000

/** Asks for more until there are enough of the level: how important an event is, only its body says. */
async function lastEvents(client: Client, id: string, { tail, level }: { tail: number; level: Level }) {
  for (let asked = Math.max(tail, 1) * 4; ; asked *= 4) {
    asked = Math.min(asked, MOST)
    const path = `/sessions/${id}/events?tail=${asked}`
    const { events } = await client.request<{ events: StoredEvent[] }>('GET', path)
    const matching = events.filter(event => isAtLeast(event, level))
    const last = events.at(-1)?.id ?? 0
    if (matching.length >= tail || events.length < asked || asked === MOST)
      return { events: tail ? matching.slice(-tail) : [], last }
  }
}

function count(value: string): number {
  if (!/^\d{1,7}$/.test(value)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(value)
}
