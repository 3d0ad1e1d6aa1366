import type { Command } from 'commander'
import type { SessionView } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { type Client, openClient } from '../connection/client.ts'
import { findRun, sessionPath } from '../connection/connection.ts'
import { type CommandContext, commandContext } from '../context.ts'
import { eventLines } from '../render/event-lines.ts'
import { hasEnded } from '../render/format.ts'
import { interruptedLines } from '../render/summary.ts'
import { isHookRefusal } from '../render/tool-lines.ts'

interface LogsOptions {
  tail: number
  follow?: boolean
  level: Level
}

/** Parses the options as they were typed. Returns `undefined` when one is invalid and commander must explain it. */
export function readLogsOptions({
  tail = '50',
  level = 'info',
  follow,
}: {
  tail: string | undefined
  level: string | undefined
  follow: boolean
}): LogsOptions | undefined {
  const known = LEVELS.find(each => each === level)
  return known && /^\d{1,9}$/.test(tail) ? { tail: Number(tail), level: known, follow } : undefined
}

/** `pcc logs`: what happened in a session, from its stored events. */
export async function addLogsCommand(program: Command): Promise<void> {
  const { countOption } = await import('../options.ts')
  program
    .command('logs')
    .description('Show what happened in a session')
    .argument('<session>', 'id, unique beginning of an id, or name; also of a run or a task')
    .option('--tail <n>', 'the last n entries', countOption, 50)
    .option('-f, --follow', 'keep printing events as they happen')
    .addOption(program.createOption('--level <level>', 'this level and above').choices(LEVELS).default('info'))
    .option('--json', 'print events as JSON lines')
    .action(async (ref: string, options: LogsOptions, command: Command) => {
      const context = await commandContext(command)
      await showLogs(ref, options, context, await openClient(context.paths, context))
    })
}

/** Shows the last events of a session, or of a run, and with `follow` those that come. */
export async function showLogs(
  ref: string,
  { tail, follow, level }: LogsOptions,
  context: CommandContext,
  client: Client,
): Promise<void> {
  const { terminal, json, out } = context
  const run = await findRun(ref, client, `?attempts=${tail}`)
  if (run) return (await import('./run/control.ts')).logRun(run, { client, context, follow: follow === true })
  const session = await client.request<SessionView>('GET', await sessionPath(ref))
  const isDebug = level === 'debug'
  const draw = eventLines({
    terminal,
    project: session.project,
    agent: session.agent,
    verbose: isDebug || context.verbose,
    whole: isDebug,
  })
  const passes = levelFilter(level)
  // Every event is drawn, even one that is not shown: how a later event is drawn depends on earlier ones.
  const show = (event: StoredEvent, isShown: boolean) => {
    const lines = draw(event)
    if (isShown) for (const line of json ? [JSON.stringify(event)] : lines) out(line)
  }
  const events = await readLastEvents(client, session.id, { tail, level })
  const matching = events.filter(passes)
  const shown = new Set(tail ? matching.slice(-tail) : [])
  for (const event of events) show(event, shown.has(event))
  if (!json) interruptedLines(session, terminal).forEach(out)
  if (!follow || hasEnded(session)) return
  const { followSession } = await import('../live/follow.ts')
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

/** The most events that the daemon returns at once. */
const MAX_EVENTS = 100_000

/** Asks for more events until enough have the level: only an event's body says how important it is. */
async function readLastEvents(client: Client, id: string, { tail, level }: { tail: number; level: Level }) {
  for (let count = Math.max(tail, 1) * 4; ; count *= 4) {
    count = Math.min(count, MAX_EVENTS)
    const path = `/sessions/${id}/events?tail=${count}`
    const { events } = await client.request<{ events: StoredEvent[] }>('GET', path)
    const matching = events.filter(levelFilter(level))
    if (matching.length >= tail || events.length < count || count === MAX_EVENTS) return events
  }
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const
type Level = (typeof LEVELS)[number]

/** How important an event is to a person who reads logs. */
function levelOf(event: StoredEvent, refused: Set<string>): Level {
  switch (event.kind) {
    case 'agent.thought':
    case 'tool.requested':
    case 'usage.reported':
    case 'turn.ended':
    case 'agent.compacted':
      return 'debug'
    case 'tool.finished':
      // A refusal is shown when it is decided, and is not an error.
      if (event.body.ok || refused.has(event.body.call_id)) return 'debug'
      return isHookRefusal(event.body.output) ? 'warn' : 'error'
    case 'permission.decided':
      return event.body.verdict === 'deny' ? 'warn' : 'info'
    case 'permission.asked':
    case 'question.asked':
    case 'question.parked':
    case 'permission.parked':
    case 'session.noted':
    case 'speaker.refused':
    case 'agent.retried':
    case 'agent.changed':
    case 'limit.warned':
    case 'webhook.given_up':
    case 'limit.hit':
    case 'budget.warned':
    case 'budget.spent':
    case 'guard.tripped':
    case 'task.blocked':
    case 'task.failed':
    case 'task.waiting':
      return 'warn'
    case 'session.ended':
      return event.body.status === 'error' ? 'error' : 'info'
    default:
      return 'info'
  }
}

/** Returns a filter for events of a level or above. It must be given the events in order. */
export function levelFilter(level: Level): (event: StoredEvent) => boolean {
  const refused = new Set<string>()
  return event => {
    if (event.kind === 'permission.decided' && event.body.verdict === 'deny') refused.add(event.body.call_id)
    return LEVELS.indexOf(levelOf(event, refused)) >= LEVELS.indexOf(level)
  }
}
