import { setTimeout as sleep } from 'node:timers/promises'
import type { Session } from '../../domain/session.ts'
import type { GuardTrip, LiveSession, SessionContext } from './context.ts'

/** Interrupts; an agent that does not end its turn for that is closed under it. `done` is the end of the session. */
export async function endAgent(live: LiveSession, done: Promise<void>): Promise<void> {
  const session = live.session
  if (!session) return
  const patience = new AbortController()
  const interrupted = session.interrupt().then(
    () => done,
    () => undefined, // an agent that cannot be interrupted is closed
  )
  await Promise.race([interrupted, sleep(INTERRUPT_MS, undefined, { signal: patience.signal }).catch(() => {})])
  patience.abort()
  if (live.session === session) await session[Symbol.asyncDispose]()
}

/** An interrupt takes about 10 ms; this is for an agent that hangs. */
const INTERRUPT_MS = 3_000

export interface WatchedContext extends SessionContext {
  /** Resolves when its session has ended. */
  gone: PromiseWithResolvers<void>
}

/** Interrupts an agent, and closes it where it does not end its turn for that. Nobody waits for it: others are looked at. */
export function endInBackground({ live, gone }: WatchedContext): void {
  endAgent(live, gone.promise).catch(error => live.log.warn({ error }, 'could not be ended'))
}

/**
 * The account was shut under a live session: not one more model call. An agent that has done nothing yet, or only waits to
 * try again, is ended; one that is at work stops after the tool in flight, which loses nothing.
 */
export function pauseForGate(live: LiveSession): void {
  if (live.over || live.pausing !== undefined) return
  live.pausing = 'gate'
  const { session } = live
  if (!session) return // it looks at `pausing` before its agent hears a word
  stopAtGate(live, session).catch(error => live.log.warn({ error }, 'could not be held back'))
}

async function stopAtGate(live: LiveSession, session: Session): Promise<void> {
  if (live.isRetrying) await session.interrupt()
  else if (session.withhold) await session.withhold()
  else if (live.answered) await session.pause()
  else await session[Symbol.asyncDispose]()
}

/**
 * Stops a session softly: after the tool in flight, which loses nothing. Whoever asked first keeps the word: a person who
 * pauses or stops it, or an account that was shut, ends it too. True where it was this that stopped it.
 */
export function tripGuard(live: LiveSession, why: GuardTrip): boolean {
  if (live.over || live.stopping !== undefined || live.pausing !== undefined) return false
  live.tripped = why
  live.pausing = 'guard'
  live.log.warn({ guard: why.guard, reason: why.reason }, 'a guard stops the session')
  live.session?.pause().catch(error => live.log.warn({ error }, 'could not be paused'))
  return true
}

/** The last terminal of a session has gone: an agent that may not work alone stops after the tool in flight. */
export function stopUnwatched(live: LiveSession | undefined): void {
  if (!live || live.heldEnough || live.row.state === 'ended') return
  const reason = `${live.row.agent} does not ask about every call, so it does not work alone, and nobody watches any more`
  const next = `Stay with it: pcc resume ${live.id}; or allow it by name: pcc config set agents.unattended ${live.row.agent} (a command line gets its name in [agents.custom.<name>])`
  tripGuard(live, { guard: 'unwatched', reason, next })
}
