import { closeSync, openSync, writeSync } from 'node:fs'
import type { Answer, Failure, Park, Question, Request, SessionEvent, Verdict } from '../domain/session.ts'

/**
 * The events of one session, for one reader at a time. A reader that stops early loses nothing: the next reader goes on where
 * it stopped. `ended` is the last event and comes once; events pushed after it are dropped. A producer of many events waits for
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

  /** Resolves when fewer than `most` events wait to be read, after `ended`, or on abort. */
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

/** A paragraph that grows longer than this is emitted in parts. */
const MAX_CHARS = 32_000
/** Somebody may be watching: text that arrives slowly is emitted before it is complete. */
const EMIT_AFTER_MS = 5000

/** Joins text that arrives in pieces: one event for each message of the agent. */
export class TextAssembler {
  #kind: TextKind | undefined
  #key = ''
  #text = ''
  #since = 0
  #by: { agentId?: string } = {}
  /** The agent's last message in full: the answer of a turn. */
  #last = ''

  /** Adds a piece. Pending text of another kind or message is emitted first. */
  add(kind: TextKind, text: string, { key, ...by }: { key: string; agentId?: string }): SessionEvent[] {
    const flushed = this.#kind !== kind || this.#key !== key ? this.flush() : []
    if (this.#text === '') this.#since = Date.now()
    if ((flushed.length > 0 || this.#kind !== kind) && kind === 'text') this.#last = ''
    this.#kind = kind
    this.#key = key
    this.#by = by
    this.#text += text
    if (kind === 'text' && by.agentId === undefined) this.#last = (this.#last + text).slice(-MAX_CHARS)
    const isLong = this.#text.length > MAX_CHARS || Date.now() - this.#since > EMIT_AFTER_MS
    return isLong ? [...flushed, ...this.flush({ isWhole: false })] : flushed
  }

  /** Emits the pending text. */
  flush({ isWhole = true }: { isWhole?: boolean } = {}): SessionEvent[] {
    const [kind, text] = [this.#kind, isWhole ? this.#text.trim() : this.#text]
    this.#text = ''
    if (isWhole) this.#kind = undefined
    if (!kind || text === '') return []
    return [{ kind, text: kind === 'thinking' ? withoutEmptyTitle(text) : text, ...this.#by }]
  }

  /** Drops and returns the pending text, which did not come from the model. */
  drop(): string {
    const text = this.#text
    this.#text = ''
    this.#kind = undefined
    return text
  }

  /** Returns the last message and forgets it. */
  takeLast(): string {
    const last = this.#last.trim()
    this.#last = ''
    return last
  }
}

/** Some agents put a title in front of every thought, even an empty one. */
function withoutEmptyTitle(text: string): string {
  return text.replace(/^\*{4}\n/, '')
}

/** An ask about a call of the agent, and the reply. */
export type AskRecord =
  | { kind: 'permission'; request: Request; reply: Verdict | Park }
  | { kind: 'question'; request: Question; reply: Answer | Park }

/** Our own notes between the vendor's messages, so that a replay can ask the same things and compare the answers. */
export type RecorderNote =
  | { pcc: 'open'; agent: string; resumed: boolean }
  /** What a resumed conversation had spent before, as the vendor reports it. */
  | { pcc: 'past'; spent: unknown }
  | { pcc: 'prompt'; text: string }
  | { pcc: 'pause' }
  | { pcc: 'interrupt' }
  /** A call wants to happen; the answer follows as an `ask`. */
  | { pcc: 'call' | 'gave-up'; request: Request }
  | ({ pcc: 'ask' } & AskRecord)
  /** The session was closed by its owner, or the agent went by itself: parked, crashed or never started. */
  | { pcc: 'ended'; by: 'owner' | 'agent'; failure?: Failure | undefined }

export interface Recorder {
  message(message: unknown): void
  note(note: RecorderNote): void
  close(): void
}

/** Appends one JSON object per line, written at once so that a crash loses nothing. A full disk ends the recording, not the session. */
export function openRecorder(file: string | undefined): Recorder {
  if (file === undefined) return { message: () => undefined, note: () => undefined, close: () => undefined }
  let descriptor: number | undefined = openSync(file, 'a', 0o600)
  const close = () => {
    const open = descriptor
    // Cleared before the close: a close that fails, as on a full network disk, has closed the file all the same, and the number may be reused.
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

/** When this many events wait for a slow reader, the agent waits too. */
const EVENTS_WAITING = 1000
/** Only this many lines that are no messages are logged per session. */
const GARBAGE_LOGGED = 10

/** The output of a session: its events for their reader, and everything that went over the pipes for its recording. */
export class SessionOutput {
  readonly events = new EventQueue()
  #recorder: Recorder | undefined

  record(file: string | undefined): void {
    this.#recorder = openRecorder(file)
  }

  note(note: RecorderNote): void {
    this.#recorder?.note(note)
  }

  emit(events: SessionEvent[]): void {
    for (const event of events) this.events.push(event)
  }

  /** The listeners that every connection gets, whatever its protocol. */
  listeners(log: (line: string) => void, gone: AbortSignal) {
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

/** More than a person would read; a log dumped by a tool must not be stored whole. */
const OUTPUT_CHARS = 20_000

/** The beginning of a tool's output, and how much is left out. */
export function capOutput(text: string): string {
  if (text.length <= OUTPUT_CHARS) return text
  return `${text.slice(0, OUTPUT_CHARS)}\n… (${text.length - OUTPUT_CHARS} more characters)`
}
