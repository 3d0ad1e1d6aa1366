import type { SessionView } from '../../domain/api.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { DaemonConnection } from '../connection/connection.ts'
import { type CommandContext, isInteractive } from '../context.ts'
import { eventLines } from '../render/event-lines.ts'
import { commandsToResume, countdown } from '../render/format.ts'
import { keysHint } from '../render/session-page.ts'
import { closingLines, exitCodeFor } from '../render/summary.ts'
import { neutral, type Terminal } from '../render/text.ts'
import { openAskQueue, type Person, type ShownAsk } from './asks.ts'
import { followSession } from './follow.ts'
import { openKeyboard, openScreen, type Screen } from './terminal.ts'
import { terminalPerson } from './terminal-person.ts'

export interface LiveViewOptions {
  client: DaemonConnection
  session: SessionView
  context: CommandContext
  after: number
  open?: ShownAsk[]
  resumesAt?: number | undefined
  stays?: boolean
  rests?: boolean
  env: Record<string, string>
}

/** Often enough that nobody who types is taken for absent, and not for every letter. */
const PRESENT_EVERY_MS = 500

/** Tells now and then that somebody is there. */
function presence(tell: () => Promise<unknown>): () => void {
  let told = 0
  return () => {
    if (Date.now() - told < PRESENT_EVERY_MS) return
    told = Date.now()
    tell().catch(() => undefined) // an older daemon, or one that is going: the answer itself tells what is wrong
  }
}

/** Left with Ctrl+C: the session is not done, so a script must not go on as if it were. */
const DETACHED = 130

/**
 * The live view at this terminal: Ctrl+C leaves it, Ctrl+D stops the session, asks are answered by keys. Where either end
 * is not a terminal the events are only shown and nobody counts as attached. Returns the exit code.
 */
export async function runLiveView(view: LiveViewOptions): Promise<number> {
  const { client, session, context, after, open, resumesAt, stays, rests, env } = view
  const { terminal, json, out, note } = context
  const screen = openScreen(process.stdout)
  const leave = new AbortController()
  let stopping = false
  const stop = () => {
    if (stopping) return leave.abort()
    stopping = true
    screen.print(['Stopping the session...'])
    client
      .request('POST', `/sessions/${session.id}/stop`, {})
      .catch(error => screen.print([`Cannot stop it: ${error.message}`]))
  }
  const interactive = isInteractive(context)
  using keyboard = interactive
    ? openKeyboard(process.stdin, {
        onInterrupt: () => leave.abort(),
        onEnd: stop,
        onKey: presence(() => client.request('POST', `/sessions/${session.id}/presence`, {})),
      })
    : undefined
  const onSignal = () => leave.abort()
  process.once('SIGINT', onSignal)
  if (interactive && !context.quiet) screen.print(keysHint(terminal))
  const ended = await watchSession({
    client,
    session,
    terminal,
    screen,
    verbose: context.verbose,
    quiet: context.quiet,
    after,
    env,
    resumesAt,
    stays,
    rests,
    ...(open && { open }),
    person: keyboard && terminalPerson(keyboard, screen, terminal),
    raw: json ? event => out(JSON.stringify(event)) : undefined,
    signal: leave.signal,
  })
  process.off('SIGINT', onSignal)
  const look = () => client.request<SessionView>('GET', `/sessions/${session.id}`)
  if (!ended) {
    const left = await look().catch(() => undefined) // the daemon may be gone; the session is as it was
    const [command] = left ? commandsToResume(left, null) : []
    const words = command ? `stands still. Go on with: ${command}` : `goes on. Attach with: pcc attach ${session.id}`
    if (json) note(`Detached; session ${words}`)
    else out(`Detached; session ${words}`)
    return left && command ? exitCodeFor(left) : DETACHED
  }
  const asked = look()
  if (context.quiet) screen.print(json ? [] : commandsToResume(await asked).map(command => `Go on with: ${command}`))
  else if (!json) screen.print(await closingLines(client, asked, { id: session.id, terminal }))
  return exitCodeFor(await asked)
}

export interface WatchOptions {
  client: DaemonConnection
  session: SessionView
  terminal: Terminal
  screen: Screen
  verbose: boolean
  /** Only what is asked, what stands in the way, and how it ended. */
  quiet?: boolean
  /** The last event that was already shown. */
  after: number
  /** Who answers; without one nobody counts as attached, and nothing is asked here. */
  person?: Person | undefined
  /** Asked before we came. */
  open?: ShownAsk[]
  /** It waits for this time already, and then goes on by itself. */
  resumesAt?: number | undefined
  /** Stays while the session stands still, and goes on showing it when somebody resumes it. */
  stays?: boolean | undefined
  /** It stands still already. */
  rests?: boolean | undefined
  /** The caller's environment: a parked session is started again with it. */
  env: Record<string, string>
  /** Instead of lines: what to do with each event. */
  raw?: ((event: StoredEvent) => void) | undefined
  /** Raised to stop watching; the session goes on. */
  signal: AbortSignal
}

/** Shows a session live and puts its asks to the person, until it ends for good: one that goes on by itself is waited for. `undefined`: the watching ended first. */
export async function watchSession(
  watch: WatchOptions,
): Promise<Extract<StoredEvent, { kind: 'session.ended' }> | undefined> {
  const { client, session, terminal, screen, person, signal, raw } = watch
  const path = `/sessions/${session.id}/answers`
  const draw = eventLines({
    terminal,
    project: session.project,
    agent: session.agent,
    verbose: watch.verbose,
    reasonElsewhere: !watch.quiet,
    attended: person !== undefined,
  })
  await using desk = openAskQueue({
    person: person ?? { answer: async () => undefined },
    pin: lines => screen.pin(lines),
    post: async (ask_id, reply) => {
      await client.request('POST', path, { ask_id, by: 'human', ...reply, env: watch.env })
    },
    tell: error => screen.print([terminal.paint('red', `The answer was not taken: ${neutral(String(error))}`)]),
  })
  if (person) for (const asked of watch.open ?? []) desk.put(asked)
  using countdown = openCountdown({
    screen: watch.quiet || raw ? SILENT : screen,
    id: session.id,
    look: () => client.request<SessionView>('GET', `/sessions/${session.id}`),
  })
  if (watch.resumesAt !== undefined) countdown.begin(watch.resumesAt)
  if (watch.rests) countdown.rest()
  const follow = { session: session.id, after: watch.after, attach: person !== undefined, signal }
  for await (const event of followSession(client, follow)) {
    const lines = raw ? [] : draw(event)
    // Before it is printed: what is settled by it is let go first and so stands above.
    if (person) desk.see(event, lines)
    if (raw) raw(event)
    else if (watch.quiet ? isEssential(event) : !person || !isAsk(event)) screen.print(lines)
    countdown.see(event)
    if (event.kind !== 'session.ended' || resumesByItself(event)) continue
    if (person && desk.waits()) continue
    if (!watch.stays || !canBeResumed(event)) return event
    countdown.rest()
  }
  return undefined
}

const SILENT: Pick<Screen, 'print' | 'prompt' | 'ticks'> = { ticks: false, print: () => {}, prompt: () => {} }

/** Shown by the desk, when its turn comes. */
function isAsk({ kind }: StoredEvent): boolean {
  return kind === 'permission.asked' || kind === 'question.asked'
}

function isEssential({ kind }: StoredEvent): boolean {
  return kind.endsWith('.parked') || kind === 'limit.hit' || kind === 'session.ended' || kind === 'session.resumed'
}

export interface CountdownDeps {
  /** Where no line can tick in place, one is printed for each change. */
  screen: Pick<Screen, 'print' | 'prompt' | 'ticks'>
  id: string
  /** The session as it is now: it may be held, or wait for another reset. */
  look(): Promise<SessionView>
}

/** A session that waits to go on by itself, as the person sees it. */
export interface Countdown extends Disposable {
  /** An ending with a time begins it, whatever else happens ends it. */
  see(event: StoredEvent): void
  /** Waits until then already. */
  begin(resumesAt: number): void
  /** Stands still until a person makes it go on. */
  rest(): void
}

const TICK_MS = 1_000
/** Nobody waits that long for a place without a reason. */
const LATE_MS = 15_000
/** How often the time is asked for again. */
const LOOK_TICKS = 15

/** Whether an event leaves the session waiting for a time at which it goes on by itself. */
export function resumesByItself(event: StoredEvent | undefined): event is WaitingEnd {
  return event?.kind === 'session.ended' && event.body.resumes_at !== undefined
}

/** Whether an event leaves the session where only a person makes it go on, from any terminal. */
export function canBeResumed(event: StoredEvent | undefined): boolean {
  if (event?.kind !== 'session.ended' || resumesByItself(event)) return false
  return event.body.status === 'paused' || event.body.status === 'rate_limited'
}

type WaitingEnd = Extract<StoredEvent, { kind: 'session.ended' }> & { body: { resumes_at: number } }

/** `Resuming in 12:34`, ticking under what was printed until the session goes on. */
export function openCountdown({ screen, id, look }: CountdownDeps): Countdown {
  let timer: NodeJS.Timeout | undefined
  /** The time it goes on; null while only a person makes it. */
  let until: number | null = null
  let passed = 0
  let resting = false
  const words = () => {
    if (resting) return `Stands still until: pcc resume ${id} (Ctrl+C leaves)`
    if (until === null) return `It does not go on by itself now. Let it go with: pcc quota release, or pcc resume ${id}`
    const left = until - Date.now()
    if (left > 0) return `Resuming in ${countdown(left)}`
    return left > -LATE_MS ? 'Resuming...' : 'Waits for its turn; why: pcc quota'
  }
  const draw = () => {
    if (screen.ticks) screen.prompt(words())
  }
  const learn = async () => {
    const shown = timer
    const { resumes_at, ended_at } = await look()
    // What came meanwhile is newer than this answer.
    if (timer === undefined || timer !== shown || ended_at === null || resumes_at === until) return
    until = resumes_at
    if (!screen.ticks) screen.print([words()])
    draw()
  }
  const tick = () => {
    passed++
    draw()
    if (passed % LOOK_TICKS === 0) learn().catch(() => undefined) // the stream tells when the daemon is gone
  }
  const end = () => {
    if (timer === undefined) return
    clearInterval(timer)
    timer = undefined
    if (screen.ticks) screen.prompt(undefined)
  }
  const begin = (resumesAt: number | null) => {
    end()
    until = resumesAt
    resting = resumesAt === null
    passed = 0
    timer = setInterval(tick, TICK_MS)
    if (!screen.ticks) screen.print([words()])
    draw()
  }
  return {
    begin,
    rest: () => begin(null),
    see: event => {
      if (resumesByItself(event)) begin(event.body.resumes_at)
      else if (event.kind === 'session.resumed' || event.kind === 'session.ended') end()
    },
    [Symbol.dispose]: end,
  }
}
