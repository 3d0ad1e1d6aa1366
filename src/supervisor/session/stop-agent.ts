import { setTimeout as sleep } from 'node:timers/promises'
import type { Session } from '../../domain/session.ts'
import type { GuardTrip, LiveSession, SessionContext } from './context.ts'

/** Interrupts; an agent that does not end its turn for that is closed under it. `done` is the end of the session. */
export async function endAgent(run: LiveSession, done: Promise<void>): Promise<void> {
  const session = run.session
  if (!session) return
  const patience = new AbortController()
  const interrupted = session.interrupt().then(
    () => done,
    () => undefined, // an agent that cannot be interrupted is closed
  )
  await Promise.race([interrupted, sleep(INTERRUPT_MS, undefined, { signal: patience.signal }).catch(() => {})])
  patience.abort()
  if (run.session === session) await session[Symbol.asyncDispose]()
}

/** An interrupt takes about 10 ms; this is for an agent that hangs. */
const INTERRUPT_MS = 3_000

export interface WatchedContext extends SessionContext {
  /** Resolves when its session has ended. */
  gone: PromiseWithResolvers<void>
}

/** Interrupts an agent, and closes it where it does not end its turn for that. Nobody waits for it: others are looked at. */
export function endInBackground({ run, gone }: WatchedContext): void {
  endAgent(run, gone.promise).catch(error => run.log.warn({ error }, 'could not be ended'))
}

/**
 * The account was shut under a live session: not one more model call. An agent that has done nothing yet, or only waits to
 * try again, is ended; one that is at work stops after the tool in flight, which loses nothing.
 */
export function pauseForGate(run: LiveSession): void {
  if (run.over || run.pausing !== undefined) return
  run.pausing = 'gate'
  const { session } = run
  if (!session) return // it looks at `pausing` before its agent hears a word
  stopAtGate(run, session).catch(error => run.log.warn({ error }, 'could not be held back'))
}

async function stopAtGate(run: LiveSession, session: Session): Promise<void> {
  if (run.trying) await session.interrupt()
  else if (session.withhold) await session.withhold()
  else if (run.answered) await session.pause()
  else await session[Symbol.asyncDispose]()
}

/**
 * Stops a session softly: after the tool in flight, which loses nothing. Whoever asked first keeps the word: a person who
 * pauses or stops it, or an account that was shut, ends it too. True where it was this that stopped it.
 */
export function tripGuard(run: LiveSession, why: GuardTrip): boolean {
  if (run.over || run.stopping !== undefined || run.pausing !== undefined) return false
  run.tripped = why
  run.pausing = 'guard'
  run.log.warn({ guard: why.guard, reason: why.reason }, 'a guard stops the session')
  run.session?.pause().catch(error => run.log.warn({ error }, 'could not be paused'))
  return true
}

/** The last terminal of a session has gone: an agent that may not work alone stops after the tool in flight. */
export function stopUnwatched(run: LiveSession | undefined): void {
  if (!run || run.heldEnough || run.row.state === 'ended') return
  const reason = `${run.row.agent} does not ask about every call, so it does not work alone, and nobody watches any more`
  const next = `Stay with it: pcc resume ${run.id}; or allow it by name: pcc config set agents.unattended ${run.row.agent} (a command line gets its name in [agents.custom.<name>])`
  tripGuard(run, { guard: 'unwatched', reason, next })
}
