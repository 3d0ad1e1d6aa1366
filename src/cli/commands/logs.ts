import { type Command, InvalidArgumentError, Option } from 'commander'
import type { SessionView } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { type Client, openClient } from '../client.ts'
import { sessionPath } from '../connection/session-path.ts'
import { type Context, contextOf } from '../context.ts'
import { interruptedLines } from '../live/closing.ts'
import { followSession } from '../live/follow.ts'
import { isOver } from '../render/format.ts'
import { LEVELS, type Level, levelFilter } from '../render/levels.ts'
import { eventLines } from '../render/lines/event-lines.ts'
import { runNamed } from '../run/named-run.ts'

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
    .argument('<session>', 'id, unique beginning of an id, or name; also of a run or a task')
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
  const run = await runNamed(ref, client, `?attempts=${tail}`)
  if (run) return (await import('../run/watch-run.ts')).logRun(run, { client, context, follow: follow === true })
  const session = await client.request<SessionView>('GET', await sessionPath(ref))
  const debug = level === 'debug'
  const draw = eventLines({
    terminal,
    project: session.project,
    agent: session.agent,
    verbose: debug || context.verbose,
    whole: debug,
  })
  const passes = levelFilter(level)
  // All of them are drawn, also what is not shown: later ones are drawn by what earlier ones said.
  const show = (event: StoredEvent, wanted: boolean) => {
    const lines = draw(event)
    if (wanted) for (const line of json ? [JSON.stringify(event)] : lines) out(line)
  }
  const events = await lastEvents(client, session.id, { tail, level })
  const matching = events.filter(passes)
  const shown = new Set(tail ? matching.slice(-tail) : [])
  for (const event of events) show(event, shown.has(event))
  if (!json) interruptedLines(session, terminal).forEach(out)
  if (!follow || isOver(session)) return
  const leave = new AbortController()
  process.once('SIGINT', () => leave.abort())
  for await (const event of followSession(client, {
    session: session.id,
    after: events.at(-1)?.id ?? 0,
    attach: false,
    signal: leave.signal,
  })) {
    show(event, passes(event))
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
    const matching = events.filter(levelFilter(level))
    if (matching.length >= tail || events.length < asked || asked === MOST) return events
  }
}

function count(value: string): number {
  if (!/^\d{1,7}$/.test(value)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(value)
}
