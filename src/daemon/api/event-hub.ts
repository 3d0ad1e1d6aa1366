import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { AppError } from '../../base/errors.ts'
import type { EventKind, StoredEvent } from '../../domain/event.ts'
import { projectOfSubject } from '../../store/events.ts'
import type { Store } from '../../store/store.ts'

/** What a client wants to hear of. */
export interface StreamFilter {
  project?: string | undefined
  subject?: string | undefined
  /** Whether a kind is wanted. */
  isWanted?: ((kind: EventKind) => boolean) | undefined
}

export interface StreamRequest extends StreamFilter {
  response: ServerResponse
  /** The last event that the client has; undefined for events from now on. */
  after: number | undefined
  /** Asked again while the stream is open: false ends it, because the key does not count any more. */
  isWelcome(): Promise<boolean>
}

export interface EventHubOptions {
  store: Store
  maxStreams: number
  /** Aborted when the daemon ends: what is stored by then is still sent. */
  closing: AbortSignal
  heartbeatMs?: number
  drainMs?: number
  failed(error: unknown): void
}

/** A client that has not taken this much is closed. It resumes with `Last-Event-ID` and reads the rest from the store. */
const MOST_BEHIND_BYTES = 1_000_000
/** How long a client that catches up may take for what it was sent. */
const DRAIN_MS = 20_000
/** Slow enough to cost nothing, fast enough that a dead connection is noticed within a minute. */
const HEARTBEAT_MS = 20_000
/** Events read at once for a client that is behind. */
const PAGE = 500
/** Subjects whose project is remembered. */
const MOST_SUBJECTS = 10_000

interface Stream extends StreamRequest {
  /** The last event that was sent or passed over. */
  at: number
  ended: PromiseWithResolvers<void>
}

/**
 * Sends events to any number of clients. The store is followed once for all of them and each event is made into text once. A client
 * that joins behind reads what it missed from the store, at its own pace, until it is where the others are. While nobody listens,
 * nothing runs. Memory is bounded by what the sockets hold: a client that does not read is closed.
 */
export class EventHub {
  readonly #options: EventHubOptions
  /** Clients that are where `#last` is. */
  readonly #live = new Set<Stream>()
  readonly #all = new Set<Stream>()
  readonly #projects = new Map<string, string | null>()
  /** The last event that was handed to the live clients. */
  #last = 0
  #following: { ready: Promise<void>; stop: AbortController } | undefined
  #heartbeat: NodeJS.Timeout | undefined

  constructor(options: EventHubOptions) {
    this.#options = options
  }

  get open(): number {
    return this.#all.size
  }

  /** Throws `too_many_streams` if no more may be open. */
  refuseTooMany(): void {
    if (this.#all.size >= this.#options.maxStreams) throw new AppError('too_many_streams', { open: this.#all.size })
  }

  /** Serves a client until it disconnects, is too slow, or the daemon ends. */
  async serve(request: StreamRequest): Promise<void> {
    const { response } = request
    const stream: Stream = { ...request, at: 0, ended: Promise.withResolvers() }
    this.#all.add(stream)
    const end = () => this.#end(stream)
    response.once('close', end).once('error', end)
    try {
      await this.#follow()
      stream.at = request.after ?? this.#last
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' })
      response.write(': hello\n\n')
      await this.#catchUp(stream)
      await stream.ended.promise
    } finally {
      end()
      response.destroy()
    }
  }

  #end(stream: Stream): void {
    this.#live.delete(stream)
    stream.ended.resolve()
    if (!this.#all.delete(stream) || this.#all.size > 0) return
    this.#following?.stop.abort()
    this.#following = undefined
    clearInterval(this.#heartbeat)
  }

  /** Follows the store while there is somebody to tell. */
  #follow(): Promise<void> {
    if (this.#following) return this.#following.ready
    const { promise: ready, resolve } = Promise.withResolvers<void>()
    const stop = new AbortController()
    this.#following = { ready, stop }
    this.#heartbeat = setInterval(() => this.#beat(), this.#options.heartbeatMs ?? HEARTBEAT_MS).unref()
    void this.#run(stop.signal, resolve).catch(error => {
      this.#options.failed(error)
      for (const stream of [...this.#all]) this.#end(stream)
      resolve()
    })
    return ready
  }

  async #run(stopped: AbortSignal, ready: () => void): Promise<void> {
    const { store, closing } = this.#options
    const [newest] = await store.events({ tail: 1 })
    this.#last = newest?.id ?? 0
    ready()
    const signal = AbortSignal.any([stopped, closing])
    for await (const event of store.follow(this.#last, { signal })) await this.#tell(event)
    if (stopped.aborted) return
    while (closing.aborted) {
      const rest = await store.events({ after: this.#last, limit: PAGE })
      for (const event of rest) await this.#tell(event)
      if (rest.length < PAGE) break
    }
    for (const stream of [...this.#all]) stream.response.end(() => this.#end(stream))
  }

  async #tell(event: StoredEvent): Promise<void> {
    const needsProject = this.#live.values().some(({ project }) => project !== undefined)
    const project = needsProject ? await this.#projectOf(event.subject) : null
    this.#last = event.id
    let text: string | undefined
    for (const stream of this.#live) {
      if (event.id <= stream.at) continue
      stream.at = event.id
      if (!isWanted(event, project, stream)) continue
      text ??= formatEvent(event)
      stream.response.write(text)
      if (stream.response.writableLength > MOST_BEHIND_BYTES) this.#end(stream)
    }
  }

  /** Sends what the client missed, then lets it join the others. Nothing is awaited between the last check and joining. */
  async #catchUp(stream: Stream): Promise<void> {
    while (this.#all.has(stream) && stream.at < this.#last) {
      const before = this.#last
      const page = await this.#options.store.events({ subject: stream.subject, after: stream.at, limit: PAGE })
      for (const event of page) {
        stream.at = event.id
        const project = stream.project === undefined ? null : await this.#projectOf(event.subject)
        if (!isWanted(event, project, stream)) continue
        if (!stream.response.write(formatEvent(event)) && !(await drains(stream.response, this.#options.drainMs)))
          return this.#end(stream)
      }
      if (page.length < PAGE) stream.at = Math.max(stream.at, before)
    }
    if (this.#all.has(stream)) this.#live.add(stream)
  }

  #beat(): void {
    for (const stream of this.#live) {
      stream.response.write(': still here\n\n')
      if (stream.response.writableLength > MOST_BEHIND_BYTES) this.#end(stream)
      else
        void stream.isWelcome().then(
          isWelcome => isWelcome || this.#end(stream),
          () => this.#end(stream),
        )
    }
  }

  /** The project that the subject of an event belongs to; null if it belongs to none. */
  async #projectOf(subject: string): Promise<string | null> {
    const known = this.#projects.get(subject)
    if (known !== undefined) return known
    const project = (await projectOfSubject(this.#options.store, subject)) ?? null
    if (this.#projects.size >= MOST_SUBJECTS) this.#projects.clear()
    // What has no row may get one in a moment.
    if (project !== null) this.#projects.set(subject, project)
    return project
  }
}

function isWanted({ kind, subject }: StoredEvent, project: string | null, filter: StreamFilter): boolean {
  if (filter.subject !== undefined && filter.subject !== subject) return false
  if (filter.project !== undefined && filter.project !== project) return false
  return filter.isWanted?.(kind) ?? true
}

export function formatEvent(event: StoredEvent): string {
  return `id: ${event.id}\nevent: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`
}

/** Whether the client took what it was sent within the time. */
async function drains(response: ServerResponse, withinMs = DRAIN_MS): Promise<boolean> {
  if (response.destroyed) return false
  const over = new AbortController()
  const signal = AbortSignal.any([over.signal, AbortSignal.timeout(withinMs)])
  const drained = once(response, 'drain', { signal }).then(() => true)
  const closed = once(response, 'close', { signal }).then(() => false)
  try {
    return await Promise.race([drained, closed])
  } catch {
    return false // it took too long
  } finally {
    over.abort()
  }
}
