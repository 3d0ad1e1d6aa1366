import type { SessionView } from '../../../domain/api.ts'
import type { StoredEvent } from '../../../domain/event.ts'
import { countdown } from '../../render/format.ts'
import type { Screen } from '../screen.ts'

export interface CountdownParts {
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
export function goesOnByItself(event: StoredEvent | undefined): event is WaitingEnd {
  return event?.kind === 'session.ended' && event.body.resumes_at !== undefined
}

/** Whether an event leaves the session where only a person makes it go on, from any terminal. */
export function canBeResumed(event: StoredEvent | undefined): boolean {
  if (event?.kind !== 'session.ended' || goesOnByItself(event)) return false
  return event.body.status === 'paused' || event.body.status === 'rate_limited'
}

type WaitingEnd = Extract<StoredEvent, { kind: 'session.ended' }> & { body: { resumes_at: number } }

/** `Resuming in 12:34`, ticking under what was printed until the session goes on. */
export function openCountdown({ screen, id, look }: CountdownParts): Countdown {
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
      if (goesOnByItself(event)) begin(event.body.resumes_at)
      else if (event.kind === 'session.resumed' || event.kind === 'session.ended') end()
    },
    [Symbol.dispose]: end,
  }
}
