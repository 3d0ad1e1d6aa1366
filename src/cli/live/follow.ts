import { setTimeout as sleep } from 'node:timers/promises'
import { AppError, messageOf } from '../../base/errors.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { RunDetail } from '../../domain/run.ts'
import type { DaemonConnection } from '../connection/connection.ts'

export interface SessionFollow {
  session: string
  after: number
  /** Counts as a person at a terminal while the stream is open. */
  attach: boolean
  signal: AbortSignal
}

/** The parent process restarts a daemon within a second or two; a busy machine takes longer. */
const RETRIES = 40
const RETRY_MS = 250

/** Yields the events of a session as they happen. A cut stream is resumed; a daemon that does not come back is an error. */
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

/** The id of a session's newest event. */
export async function lastEvent(client: DaemonConnection, session: string): Promise<number> {
  const { events } = await client.request<{ events: StoredEvent[] }>('GET', `/sessions/${session}/events?tail=1`)
  return events.at(-1)?.id ?? 0
}

export interface PollOptions {
  client: DaemonConnection
  signal: AbortSignal
  /** Whether an event is a reason to poll. */
  isTelling(event: StoredEvent): boolean
  /** Whether it is one to poll at once, however short ago the last poll was. */
  isUrgent?(event: StoredEvent): boolean
  /** Polls again after this time even if nothing happened. */
  everyMs: number
  /** The least time between two polls: a hundred events within it cause one poll. */
  apartMs: number
  /** Polls once. `over` ends the polling; `missed` (no answer) is tried again sooner. */
  look(): Promise<'seen' | 'missed' | 'over'>
}

/** Polls at once, after every relevant event and at intervals, until the signal is aborted or `look` returns `over`. */
export async function pollOnEvents(options: PollOptions): Promise<void> {
  const { signal, everyMs, apartMs, look } = options
  const over = new AbortController()
  const ended = AbortSignal.any([signal, over.signal])
  let wake = () => {}
  let hurry = () => {}
  const onEvent = (event: StoredEvent) => {
    if (options.isUrgent?.(event)) hurry()
    if (options.isTelling(event)) wake()
  }
  const listening = listenForEvents({ ...options, signal: ended }, onEvent)
  try {
    while (!ended.aborted) {
      const urgent = new AbortController()
      hurry = () => urgent.abort()
      const nextEvent = new Promise<void>(resolve => {
        wake = resolve
      })
      const outcome = await look()
      if (outcome === 'over') return
      await pause(outcome === 'missed' ? apartMs * 4 : apartMs, AbortSignal.any([ended, urgent.signal]))
      const woken = new AbortController()
      if (outcome === 'seen') await Promise.race([nextEvent, pause(everyMs, AbortSignal.any([ended, woken.signal]))])
      woken.abort()
    }
  } finally {
    over.abort()
    await listening
  }
}

async function listenForEvents(
  { client, signal, apartMs }: Pick<PollOptions, 'client' | 'signal' | 'apartMs'>,
  onEvent: (event: StoredEvent) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const event of client.stream('/events?from=now', { after: 0, signal })) onEvent(event)
    } catch {
      // The next poll reports that the daemon is gone.
    }
    await pause(apartMs * 4, signal)
  }
}

/** Sleeps for a time, or until the signal is aborted. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}

export interface RunFeed {
  client: DaemonConnection
  run: string
  signal: AbortSignal
  /** Whether to poll on each step of an agent too, and not only when the state of a task changes. */
  detailed: boolean
  show(now: RunDetail): void
  /** The daemon does not answer; it is polled again. */
  onLost(problem: string): void
}

/** After this many failed polls in a row the daemon counts as gone. */
const MOST_MISSED = 20

/** Shows a run as it changes until it has ended, and returns it then; `undefined` when the signal was aborted first. */
export async function followRun(feed: RunFeed): Promise<RunDetail | undefined> {
  const { client, run, signal, detailed, show, onLost } = feed
  let missed = 0
  let ended: RunDetail | undefined
  const poll = async () => {
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
      if (missed > MOST_MISSED) throw new AppError('daemon_gone', { id: run })
      if (!signal.aborted) onLost(messageOf(error))
      return 'missed'
    }
  }
  const isTelling = ({ kind }: StoredEvent) => !IGNORED.test(kind) && (detailed || !AGENT_STEP.test(kind))
  const isUrgent = ({ kind, subject }: StoredEvent) => kind === 'run.ended' && subject === run
  // Every five seconds even without events, because clocks and quota change without any.
  await pollOnEvents({ client, signal, isTelling, isUrgent, everyMs: 5_000, apartMs: 120, look: poll })
  return ended
}

/** Any other event, of any session, is a reason to poll: what a run waits for often happens elsewhere. */
const IGNORED = /^(usage\.reported|agent\.thought)$/
/** Each task has tens of these events, and every poll reads the whole run. */
const AGENT_STEP = /^(agent|tool|turn|plan)\.|^permission\.decided$/
