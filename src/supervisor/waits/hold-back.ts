import type { Session } from '../../domain/session.ts'
import type { Run } from '../run.ts'

/**
 * The account was shut under a live session: not one more model call. An agent that has done nothing yet, or only waits to
 * try again, is ended; one that is at work stops after the tool in flight, which loses nothing.
 */
export function holdBack(run: Run): void {
  if (run.over || run.pausing !== undefined) return
  run.pausing = 'gate'
  const { session } = run
  if (!session) return // it looks at `pausing` before its agent hears a word
  stop(run, session).catch(error => run.log.warn({ error }, 'could not be held back'))
}

async function stop(run: Run, session: Session): Promise<void> {
  if (run.trying) await session.interrupt()
  else if (session.withhold) await session.withhold()
  else if (run.answered) await session.pause()
  else await session[Symbol.asyncDispose]()
}
