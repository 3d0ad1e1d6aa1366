import { unreachable } from '../base/errors.ts'
import type { EventOf } from '../domain/event.ts'
import type { Store } from '../store/store.ts'

const STEPS = 10
const LONGEST = 160
const KINDS = ['agent.said', 'tool.finished'] as const

/** What a session did last, one line each, the newest at the end: enough to see where a question comes from. */
export async function lastSteps(store: Pick<Store, 'events'>, session: string): Promise<string[]> {
  const events = await store.events({ subject: session, kinds: [...KINDS], tail: STEPS })
  return events.flatMap(event =>
    event.kind === 'agent.said' || event.kind === 'tool.finished' ? [oneLine(stepOf(event))] : [],
  )
}

function stepOf(event: EventOf<'agent.said'> | EventOf<'tool.finished'>): string {
  switch (event.kind) {
    case 'agent.said':
      return `said: ${event.body.text}`
    case 'tool.finished':
      return `${event.body.ok ? 'did' : 'failed'}: ${event.body.tool} ${event.body.target}`
    default:
      return unreachable(event)
  }
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1).toWellFormed()}…` : line
}
