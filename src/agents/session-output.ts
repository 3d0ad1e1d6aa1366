import { closeSync, openSync, writeSync } from 'node:fs'
import type { Answer, Failure, Park, Question, Request, SessionEvent, Verdict } from '../domain/session.ts'

/**
 * The events of one session, for one reader at a time. A reader that stops early loses nothing: the next one goes on where
 * it stopped. `ended` is the last event and comes once; whatever is pushed after it is dropped. Whoever pushes much waits for
 * `room`, so that a slow reader costs time and not memory.
 */
export class EventQueue implements AsyncIterable<SessionEvent> {
  readonly #waiting: SessionEvent[] = []
  #wake: (() => void) | undefined
  #taken: (() => void) | undefined
  #over = false

  push(event: SessionEvent): void {
    if (this.#over) return
    this.#over = event.kind === 'ended'
    this.#waiting.push(event)
    this.#wake?.()
  }

  /** Resolves when fewer than so many events wait to be read, or nobody needs to wait any more. */
  async room(most: number, signal: AbortSignal): Promise<void> {
    while (this.#waiting.length >= most && !this.#over && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#taken = resolve
      signal.addEventListener('abort', () => resolve(), { once: true })
      await promise
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<SessionEvent> {
    return { next: () => this.#next() }
  }

  async #next(): Promise<IteratorResult<SessionEvent>> {
    for (;;) {
      const value = this.#waiting.shift()
      if (value) {
        this.#taken?.()
        return { done: false, value }
      }
      if (this.#over) return { done: true, value: undefined }
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
  }
}

type TextKind = 'text' | 'thinking'

/** A paragraph that grows longer than this is told in parts. */
const MAX_CHARS = 32_000
/** Somebody may be watching: what comes slowly is told on the way. */
const EMIT_AFTER_MS = 5000

/** Puts together what arrives in pieces: one event for what the agent says in one go. */
export class TextAssembler {
  #kind: TextKind | undefined
  #key = ''
  #text = ''
  #since = 0
  #by: { agentId?: string } = {}
  /** What it said last, whole: the answer of a turn. */
  #last = ''

  /** Takes a piece; what stood there of another kind or message is told first. */
  add(kind: TextKind, text: string, { key, ...by }: { key: string; agentId?: string }): SessionEvent[] {
    const told = this.#kind !== kind || this.#key !== key ? this.flush() : []
    if (this.#text === '') this.#since = Date.now()
    if (told.length > 0 || this.#kind !== kind) this.#startAnew(kind)
    this.#kind = kind
    this.#key = key
    this.#by = by
    this.#text += text
    if (kind === 'text' && by.agentId === undefined) this.#last = (this.#last + text).slice(-MAX_CHARS)
    const isLong = this.#text.length > MAX_CHARS || Date.now() - this.#since > EMIT_AFTER_MS
    return isLong ? [...told, ...this.flush({ isWhole: false })] : told
  }

  /** Tells what has come together. */
  flush({ isWhole = true }: { isWhole?: boolean } = {}): SessionEvent[] {
    const [kind, text] = [this.#kind, isWhole ? this.#text.trim() : this.#text]
    this.#text = ''
    if (isWhole) this.#kind = undefined
    if (!kind || text === '') return []
    return [{ kind, text: kind === 'thinking' ? withoutEmptyTitle(text) : text, ...this.#by }]
  }

  /** Nobody is told what has come together: it was not the model's. */
  drop(): string {
    const text = this.#text
    this.#text = ''
    this.#kind = undefined
    return text
  }

  /** The last thing that was said, and nothing is remembered of it any more. */
  takeLast(): string {
    const last = this.#last.trim()
    this.#last = ''
    return last
  }

  #startAnew(kind: TextKind): void {
    if (kind === 'text') this.#last = ''
  }
}

/** Gemini CLI puts a title in front of every thought, also when there is none. */
function withoutEmptyTitle(text: string): string {
  return text.replace(/^\*{4}\n/, '')
}

/** What was asked about a call of the agent's, and what came back. */
export type AskRecord =
  | { kind: 'permission'; request: Request; reply: Verdict | Park }
  | { kind: 'question'; request: Question; reply: Answer | Park }

/** What we put between the vendor's messages, so that a replay can ask the same things and compare the answers. */
export type RecorderNote =
  | { pcc: 'open'; agent: string; resumed: boolean }
  /** What a resumed conversation had spent before, as the vendor told it. */
  | { pcc: 'past'; spent: unknown }
  | { pcc: 'prompt'; text: string }
  | { pcc: 'pause' }
  | { pcc: 'interrupt' }
  /** A call wants to happen; the answer follows as an `ask`. */
  | { pcc: 'call' | 'gave-up'; request: Request }
  | ({ pcc: 'ask' } & AskRecord)
  /** Closed by its owner, or gone by itself: parked, crashed or never started. */
  | { pcc: 'ended'; by: 'owner' | 'agent'; failure?: Failure | undefined }

export interface Recorder {
  message(message: unknown): void
  note(note: RecorderNote): void
  close(): void
}

/** Appends one JSON object a line. Written at once, so that a crash loses nothing; a full disk ends the recording, not the session. */
export function openRecorder(file: string | undefined): Recorder {
  if (file === undefined) return { message: () => undefined, note: () => undefined, close: () => undefined }
  let descriptor: number | undefined = openSync(file, 'a', 0o600)
  const close = () => {
    const open = descriptor
    // First of all: a close that fails, as on a full network disk, has closed it all the same, and the number is somebody else's.
    descriptor = undefined
    if (open !== undefined) closeSync(open)
  }
  const line = (value: unknown) => {
    if (descriptor === undefined) return
    try {
      writeSync(descriptor, `${JSON.stringify(value)}\n`)
    } catch {
      close()
    }
  }
  return { message: line, note: line, close }
}

/** As many events wait for a slow reader; then the agent waits too. */
const EVENTS_WAITING = 1000
/** A program that writes anything to its output is not put down in the log line by line. */
const GARBAGE_LOGGED = 10

/** What a session tells: its events to whoever reads them, and all that went over the pipes to its recording. */
export class SessionOutput {
  readonly events = new EventQueue()
  #recorder: Recorder | undefined

  record(file: string | undefined): void {
    this.#recorder = openRecorder(file)
  }

  note(note: RecorderNote): void {
    this.#recorder?.note(note)
  }

  tell(events: SessionEvent[]): void {
    for (const event of events) this.events.push(event)
  }

  /** What is heard on every connection, whatever is spoken there. */
  listening(log: (line: string) => void, gone: AbortSignal) {
    return {
      seen: (message: unknown) => this.#recorder?.message(message),
      garbage: (line: string, count: number) => {
        if (count <= GARBAGE_LOGGED) log(`not a message on stdout: ${line}`)
      },
      room: () => this.events.room(EVENTS_WAITING, gone),
    }
  }

  close(): void {
    this.#recorder?.close()
  }
}
