import type { Wait } from '../../../human/terminals.ts'
import { eventOf } from '../../events/agent-event.ts'
import { record } from '../../record.ts'
import type { Desk } from '../../run.ts'

/**
 * How long something waits at an attached terminal: for the grace, and then without an agent. What cannot be put off (a
 * subagent's call, an input too long to be shown whole) stays, and people hear of it elsewhere by a note in the log.
 */
export function waitAt({ signal, parks }: { signal: AbortSignal; parks: boolean }, { run, parts }: Desk): Wait {
  const graceMs = run.mind.deadlines.grace_seconds * 1000
  if (parks) return { signal, graceMs }
  const unheard = () => {
    const events = [eventOf(run, 'session.noted', { text: UNHEARD, unheard: true }, 'daemon')]
    record(run, parts, { events, patch: {} }).catch(error => run.log.warn({ error }, 'could not note a silence'))
  }
  return { signal, graceMs, unheard }
}

const UNHEARD = 'Nobody at the terminal has answered yet; it can be answered from elsewhere too: pcc pending'
