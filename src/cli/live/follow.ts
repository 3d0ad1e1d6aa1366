import { setTimeout as sleep } from 'node:timers/promises'
import { AppError, messageOf } from '../../base/errors.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { RunDetail } from '../../domain/run.ts'
import type { DaemonConnection } from '../connection/connection.ts'

export interface SessionFollow {
  session: string
  after: number
  /** Counts as a person at a terminal for as long as it is open. */
  attach: boolean
  signal: AbortSignal
}

/** Its parent brings a daemon back within a second or two; a crowded machine takes longer. */
const RETRIES = 40
const RETRY_MS = 250

/** The events of a session as they come. A cut stream is taken up where it was; a daemon that stays away is an error. */
export async function* followSession(
  client: DaemonConnection,
  { session, after, attach, signal }: SessionFollow,
): AsyncGenerator<StoredEvent> {
  const path = `/events?session=${encodeURIComponent(session)}${attach ? '&attach=1' : ''}`
  let last = after
  for (let tries = 0; tries < RETRIES; tries++) {
    try {
      for await (const event of client.stream(path, { after: last, signal })) {
        last = event.id
        tries = 0
        yield event
      }
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof AppError && error.code === 'daemon_unreachable')) throw error
    }
    if (signal.aborted) return
    await sleep(RETRY_MS)
  }
  throw new AppError('daemon_gone', { id: session })
}

/** The id of a session's newest event: what comes after it is news. */
export async function lastEvent(client: DaemonConnection, session: string): Promise<number> {
  const { events } = await client.request<{ events: StoredEvent[] }>('GET', `/sessions/${session}/events?tail=1`)
  return events.at(-1)?.id ?? 0
}

export interface PollOptions {
  client: DaemonConnection
  signal: AbortSignal
  /** Whether an event is a reason to look. */
  isTelling(event: StoredEvent): boolean
  /** Looked again after that long even if nothing happened. */
  everyMs: number
  /** A hundred events within that long are one look. */
  apartMs: number
  /** `over` ends it; `missed` (no answer) is tried again sooner. */
  look(): Promise<'seen' | 'missed' | 'over'>
}

/** Looks at once, whenever an event tells to, and from time to time, until the signal comes or it is over. */
export async function pollOnEvents({ client, signal, isTelling, everyMs, apartMs, look }: PollOptions): Promise<void> {
  const over = new AbortController()
  const both = AbortSignal.any([signal, over.signal])
  let ring = () => {}
  const listening = listenForEvents({ client, signal: both, isTelling, apartMs }, () => ring())
  try {
    while (!both.aborted) {
      const rung = new Promise<void>(resolve => {
        ring = resolve
      })
      const seen = await look()
      if (seen === 'over') return
      await sleepUntil(seen === 'missed' ? apartMs * 4 : apartMs, both)
      const waited = new AbortController()
      if (seen === 'seen') await Promise.race([rung, sleepUntil(everyMs, AbortSignal.any([both, waited.signal]))])
      waited.abort()
    }
  } finally {
    over.abort()
    await listening
  }
}

async function listenForEvents(
  { client, signal, isTelling, apartMs }: Pick<PollOptions, 'client' | 'signal' | 'isTelling' | 'apartMs'>,
  ring: () => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const event of client.stream('/events?from=now', { after: 0, signal })) if (isTelling(event)) ring()
    } catch {
      // The look itself tells that the daemon is gone.
    }
    await sleepUntil(apartMs * 4, signal)
  }
}

async function sleepUntil(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined) // left, or over
}

export interface RunFeed {
  client: DaemonConnection
  run: string
  signal: AbortSignal
  /** Whether what an agent says and does is shown too, and not only what becomes of its task. */
  closely: boolean
  show(now: RunDetail): void
  /** The daemon does not answer; it is asked again. */
  lost(problem: string): void
}

/** Asked in vain so often, one after the other, it stays away. */
const PATIENCE = 20

/** Shows a run as it changes until it has ended, and gives it then; nothing where the signal came first. */
export async function followRun({ client, run, signal, closely, show, lost }: RunFeed): Promise<RunDetail | undefined> {
  let missed = 0
  let ended: RunDetail | undefined
  const look = async () => {
    try {
      const now = await client.request<RunDetail>('GET', `/runs/${run}`)
      missed = 0
      if (signal.aborted) return 'over'
      show(now)
      if (now.state === 'ended') ended = now
      return ended ? 'over' : 'seen'
    } catch (error) {
      missed += 1
      if (!(error instanceof AppError && error.code === 'daemon_unreachable')) throw error
      if (missed > PATIENCE) throw new AppError('daemon_gone', { id: run })
      if (!signal.aborted) lost(messageOf(error))
      return 'missed'
    }
  }
  // Clocks and quota go on although nothing happens.
  const isTelling = ({ kind }: StoredEvent) => !UNSEEN.test(kind) && (closely || !IN_WORK.test(kind))
  await pollOnEvents({ client, signal, isTelling, everyMs: 5_000, apartMs: 120, look })
  return ended
}

/** Whatever else happens to anybody is a reason to look: what a run waits for is often elsewhere. */
const UNSEEN = /^(usage\.reported|agent\.thought)$/
/** Tens of them for each task, and a look reads the whole run. */
const IN_WORK = /^(agent|tool|turn|plan)\.|^permission\.decided$/
