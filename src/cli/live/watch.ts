import { neutral } from '../../base/neutral.ts'
import type { SessionView } from '../../domain/api.ts'
import type { EscalationView } from '../../domain/escalation.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { resumesLater } from '../../domain/session-end.ts'
import type { DaemonConnection } from '../connection/connection.ts'
import { type CommandContext, isInteractive } from '../context.ts'
import { eventLines } from '../render/event-lines.ts'
import { commandsToResume, countdown } from '../render/format.ts'
import { keysHint } from '../render/session-page.ts'
import { closingLines, exitCodeFor } from '../render/summary.ts'
import type { Terminal } from '../render/text.ts'
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

/** Often enough that a person who types never counts as absent, without a request for every letter. */
const PRESENT_EVERY_MS = 500

/** Returns a function that reports the person's presence, at most once per interval. */
function throttlePresence(report: () => Promise<unknown>): () => void {
  let reportedAt = 0
  return () => {
    if (Date.now() - reportedAt < PRESENT_EVERY_MS) return
    reportedAt = Date.now()
    report().catch(() => undefined) // an older daemon, or one that is stopping: the answer itself reports the problem
  }
}

/** The exit code after Ctrl+C: the session is not done, so a script must not continue as if it were. */
const DETACHED = 130

/**
 * Runs the live view at this terminal: Ctrl+C leaves it, Ctrl+D stops the session, keys answer asks. When stdin or stdout is
 * not a terminal, events are only shown and nobody counts as attached. Returns the exit code.
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
        onKey: throttlePresence(() => client.request('POST', `/sessions/${session.id}/presence`, {})),
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
  const fetchSession = () => client.request<SessionView>('GET', `/sessions/${session.id}`)
  if (!ended) {
    const current = await fetchSession().catch(() => undefined) // the daemon may be gone; the session is unchanged
    const [command] = current ? commandsToResume(current, null) : []
    const number = await findOpenDecision(session.id, client).catch(() => undefined)
    const still = command ? `stands still. Go on with: ${command}` : `goes on. Attach with: pcc attach ${session.id}`
    const state = number === undefined ? still : `waits for your answer. Give it with: pcc respond ${number}`
    if (json) note(`Detached; session ${state}`)
    else out(`Detached; session ${state}`)
    return current && command ? exitCodeFor(current) : DETACHED
  }
  const final = fetchSession()
  if (context.quiet) screen.print(json ? [] : commandsToResume(await final).map(command => `Go on with: ${command}`))
  else if (!json) screen.print(await closingLines(client, final, { id: session.id, terminal }))
  return exitCodeFor(await final)
}

/** The number of the decision for which a session waits: it is the same while it is asked here and after its session was parked. */
async function findOpenDecision(session: string, client: DaemonConnection): Promise<number | undefined> {
  const { escalations } = await client.request<{ escalations: EscalationView[] }>(
    'GET',
    `/escalations?session=${session}&state=open`,
  )
  return escalations[0]?.number
}

export interface WatchOptions {
  client: DaemonConnection
  session: SessionView
  terminal: Terminal
  screen: Screen
  verbose: boolean
  /** Shows only asks, obstacles and the end. */
  quiet?: boolean
  /** The id of the last event that was already shown. */
  after: number
  /** Answers the asks. Without a person nobody counts as attached and nothing is asked here. */
  person?: Person | undefined
  /** Asks that were open before the watching began. */
  open?: ShownAsk[]
  /** The session already waits for this time, at which it goes on by itself. */
  resumesAt?: number | undefined
  /** Keeps watching while the session stands still, and shows it again when somebody resumes it. */
  stays?: boolean | undefined
  /** The session already stands still. */
  rests?: boolean | undefined
  /** The caller's environment, with which a parked session is started again. */
  env: Record<string, string>
  /** Receives each event; no lines are printed then. */
  raw?: ((event: StoredEvent) => void) | undefined
  /** Aborted to stop watching; the session goes on. */
  signal: AbortSignal
}

/**
 * Shows a session live and puts its asks to the person until the session ends for good. A session that goes on by itself is
 * waited for. Returns `undefined` when the watching ended first.
 */
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
  await using asks = openAskQueue({
    person: person ?? { answer: async () => undefined },
    pin: lines => screen.pin(lines),
    post: async (ask_id, reply) => {
      await client.request('POST', path, { ask_id, ...reply, env: watch.env })
    },
    reportFailure: error =>
      screen.print([terminal.paint('red', `The answer was not taken: ${neutral(String(error))}`)]),
  })
  if (person) for (const asked of watch.open ?? []) asks.put(asked)
  using countdown = openCountdown({
    screen: watch.quiet || raw ? SILENT : screen,
    id: session.id,
    fetchSession: () => client.request<SessionView>('GET', `/sessions/${session.id}`),
  })
  if (watch.resumesAt !== undefined) countdown.begin(watch.resumesAt)
  if (watch.rests) countdown.standStill()
  const follow = { session: session.id, after: watch.after, attach: person !== undefined, signal }
  for await (const event of followSession(client, follow)) {
    const lines = raw ? [] : draw(event)
    // Before the event is printed: the ask that it settles is released first and so stays above it.
    if (person) asks.apply(event, lines)
    if (raw) raw(event)
    else if (watch.quiet ? isEssential(event) : !person || !isAsk(event)) screen.print(lines)
    countdown.apply(event)
    if (event.kind !== 'session.ended' || resumesByItself(event)) continue
    if (person && asks.hasParked()) continue
    if (!watch.stays || !canBeResumed(event)) return event
    countdown.standStill()
  }
  return undefined
}

const SILENT: Pick<Screen, 'print' | 'prompt' | 'ticks'> = { ticks: false, print: () => {}, prompt: () => {} }

/** Asks are shown by the queue of asks when their turn comes. */
function isAsk({ kind }: StoredEvent): boolean {
  return kind === 'permission.asked' || kind === 'question.asked'
}

function isEssential({ kind }: StoredEvent): boolean {
  return kind.endsWith('.parked') || kind === 'limit.hit' || kind === 'session.ended' || kind === 'session.resumed'
}

export interface CountdownDeps {
  /** On a screen that cannot redraw a line, a line is printed for each change. */
  screen: Pick<Screen, 'print' | 'prompt' | 'ticks'>
  id: string
  /** Reads the current state of the session: it may be held by now, or wait for another reset. */
  fetchSession(): Promise<SessionView>
}

/** Shows how long a session still waits before it goes on by itself. */
export interface Countdown extends Disposable {
  /** An end with a resume time starts the countdown; a resumption or another end stops it. */
  apply(event: StoredEvent): void
  /** Starts the countdown for a session that already waits. */
  begin(resumesAt: number): void
  /** Shows that the session stands still until a person resumes it. */
  standStill(): void
}

const TICK_MS = 1_000
/** A session that has not resumed this long after its time waits for something else. */
const LATE_MS = 15_000
/** The resume time is read again after this many ticks. */
const REFRESH_TICKS = 15

/** Whether an event leaves the session waiting for a time at which it goes on by itself. */
export function resumesByItself(event: StoredEvent | undefined): event is WaitingEnd {
  return event?.kind === 'session.ended' && event.body.resumes_at !== undefined
}

/** Whether an event leaves the session in a state that only a person can resume, from any terminal. */
export function canBeResumed(event: StoredEvent | undefined): boolean {
  if (event?.kind !== 'session.ended' || resumesByItself(event)) return false
  return resumesLater(event.body.status)
}

type WaitingEnd = Extract<StoredEvent, { kind: 'session.ended' }> & { body: { resumes_at: number } }

/** Shows `Resuming in 12:34` below the printed lines, ticking until the session goes on. */
export function openCountdown({ screen, id, fetchSession }: CountdownDeps): Countdown {
  let timer: NodeJS.Timeout | undefined
  /** The time at which the session goes on; null while only a person can resume it. */
  let until: number | null = null
  let ticks = 0
  let standsStill = false
  const describe = () => {
    if (standsStill) return `Stands still until: pcc resume ${id} (Ctrl+C leaves)`
    if (until === null) return `It does not go on by itself now. Let it go with: pcc quota release, or pcc resume ${id}`
    const left = until - Date.now()
    if (left > 0) return `Resuming in ${countdown(left)}`
    return left > -LATE_MS ? 'Resuming...' : 'Waits for its turn; why: pcc quota'
  }
  const draw = () => {
    if (screen.ticks) screen.prompt(describe())
  }
  const refresh = async () => {
    const timerBefore = timer
    const { resumes_at, ended_at } = await fetchSession()
    // An event that came meanwhile is newer than this answer.
    if (timer === undefined || timer !== timerBefore || ended_at === null || resumes_at === until) return
    until = resumes_at
    if (!screen.ticks) screen.print([describe()])
    draw()
  }
  const tick = () => {
    ticks++
    draw()
    if (ticks % REFRESH_TICKS === 0) refresh().catch(() => undefined) // the event stream reports a daemon that is gone
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
    standsStill = resumesAt === null
    ticks = 0
    timer = setInterval(tick, TICK_MS)
    if (!screen.ticks) screen.print([describe()])
    draw()
  }
  return {
    begin,
    standStill: () => begin(null),
    apply: event => {
      if (resumesByItself(event)) begin(event.body.resumes_at)
      else if (event.kind === 'session.resumed' || event.kind === 'session.ended') end()
    },
    [Symbol.dispose]: end,
  }
}
