import { setImmediate as nextTick } from 'node:timers/promises'
import type { EventKind, StoredEvent } from '../../domain/event.ts'
import type { Store } from '../../store/store.ts'

/** Rows read at once: a night may have hundreds of thousands, and the daemon has agents to answer meanwhile. */
const PAGE = 500
/** Times rise with the ids, but for a clock that was put right. */
const CLOCKS_DIFFER_MS = 3_600_000

export interface EventsIn {
  /** Of the time itself, in order. */
  within: StoredEvent[]
  /** What tasks and sessions did after it: by that it is known how they stood at its end. */
  later: StoredEvent[]
}

/** Reads back from the newest event until the time is passed, so that years of history cost nothing. What nobody counts is left behind. */
export async function eventsIn(
  { since, until }: { since: number; until: number },
  kinds: readonly EventKind[],
  store: Pick<Store, 'events'>,
): Promise<EventsIn> {
  const within: StoredEvent[][] = []
  const later: StoredEvent[][] = []
  for (let before: number | undefined; ; ) {
    const page = await store.events({ kinds: [...kinds], tail: PAGE, before })
    within.push(page.filter(({ time }) => time >= since && time < until).map(slim))
    later.push(page.filter(({ time, kind }) => time >= until && /^(task|session)\./.test(kind)))
    if (page.length < PAGE || page.every(({ time }) => time < since - CLOCKS_DIFFER_MS)) break
    before = page[0]?.id
    await nextTick()
  }
  return { within: within.reverse().flat(), later: later.reverse().flat() }
}

/** Outputs of tools and last words would hold a hundred times the memory of all the rest. */
function slim(event: StoredEvent): StoredEvent {
  if (event.kind === 'tool.finished') return { ...event, body: { ...event.body, output: '' } }
  return event.kind === 'turn.ended' ? { ...event, body: { ...event.body, text: '' } } : event
}
