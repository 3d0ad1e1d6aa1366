import { setTimeout as sleep } from 'node:timers/promises'
import type { Session } from '../../domain/session.ts'
import type { GuardTrip, LiveSession, SessionContext } from './context.ts'

/** Interrupts an agent, and closes it where it does not end its turn for that. `done` resolves at the end of the session. */
export async function endAgent(live: LiveSession, done: Promise<void>): Promise<void> {
  const session = live.agent.session
  if (!session) return
  const patience = new AbortController()
  const interrupted = session.interrupt().then(
    () => done,
    () => undefined, // an agent that cannot be interrupted is closed
  )
  await Promise.race([interrupted, sleep(INTERRUPT_MS, undefined, { signal: patience.signal }).catch(() => {})])
  patience.abort()
  if (live.agent.session === session) await session[Symbol.asyncDispose]()
}

/** An interrupt takes about 10 ms; an agent that takes this long hangs. */
const INTERRUPT_MS = 3_000

export interface WatchedContext extends SessionContext {
  /** Resolves when the session has ended. */
  gone: PromiseWithResolvers<void>
}

/** Like `endAgent`, but nobody waits for it: the caller goes on to check other agents. */
export function endInBackground({ live, gone }: WatchedContext): void {
  endAgent(live, gone.promise).catch(error => live.log.warn({ error }, 'could not be ended'))
}

/**
 * Holds back a live session whose account was closed: it may make no further model call. An agent that has done nothing yet,
 * or only waits to retry, is ended; one that is at work stops after the tool in flight, which loses nothing.
 */
export function pauseForGate(live: LiveSession): void {
  if (live.control.over || live.control.pausing !== undefined) return
  live.control.pausing = 'gate'
  const {
    agent: { session },
  } = live
  if (!session) return // `pausing` is checked before its agent gets the first prompt
  stopAtGate(live, session).catch(error => live.log.warn({ error }, 'could not be held back'))
}

async function stopAtGate(live: LiveSession, session: Session): Promise<void> {
  if (live.agent.isRetrying) await session.interrupt()
  else if (session.withhold) await session.withhold()
  else if (live.agent.answered) await session.pause()
  else await session[Symbol.asyncDispose]()
}

/**
 * Stops a session after the tool in flight, which loses nothing. The first request counts: a person who paused or stopped
 * the session, or a closed account, ends it too. True if this call is what stops it.
 */
export function tripGuard(live: LiveSession, why: GuardTrip): boolean {
  if (live.control.over || live.control.stopping !== undefined || live.control.pausing !== undefined) return false
  live.control.tripped = why
  live.control.pausing = 'guard'
  live.log.warn({ guard: why.guard, reason: why.reason }, 'a guard stops the session')
  live.agent.session?.pause().catch(error => live.log.warn({ error }, 'could not be paused'))
  return true
}

/** Stops an agent that may not work unwatched, after the tool in flight, because the last terminal of its session has gone. */
export function stopUnwatched(live: LiveSession | undefined): void {
  if (!live || live.settings.mayRunUnattended || live.row.state === 'ended') return
  const reason = `${live.row.agent} does not ask about every call, so it does not work alone, and nobody watches any more`
  const next = `Stay with it: pcc resume ${live.id}; or allow it by name: pcc config set agents.unattended ${live.row.agent} (a command line gets its name in [agents.custom.<name>])`
  tripGuard(live, { guard: 'unwatched', reason, next })
}
