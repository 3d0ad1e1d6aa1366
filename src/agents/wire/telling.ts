import type { SessionEvent } from '../../domain/session.ts'
import { EventQueue } from '../event-queue.ts'
import { type Note, openRecorder, type Recorder } from '../recorder.ts'

/** As many events wait for a slow reader; then the agent waits too. */
const EVENTS_WAITING = 1000
/** A program that writes anything to its output is not put down in the log line by line. */
const GARBAGE_LOGGED = 10

/** What a session tells: its events to whoever reads them, and all that went over the pipes to its recording. */
export class Telling {
  readonly events = new EventQueue()
  #recorder: Recorder | undefined

  record(file: string | undefined): void {
    this.#recorder = openRecorder(file)
  }

  note(note: Note): void {
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
