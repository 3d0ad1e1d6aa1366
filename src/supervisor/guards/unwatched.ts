import type { Run } from '../run.ts'
import { trip } from './trip.ts'

/** The last terminal of a session has gone: an agent that may not work alone stops after the tool in flight. */
export function stopUnwatched(run: Run | undefined): void {
  if (!run || run.heldEnough || run.row.state === 'ended') return
  const reason = `${run.row.agent} does not ask about every call, so it does not work alone, and nobody watches any more`
  const next = `Stay with it: pcc resume ${run.id}; or allow it by name: pcc config set agents.unattended ${run.row.agent} (a command line gets its name in [agents.custom.<name>])`
  trip(run, { guard: 'unwatched', reason, next })
}
