import { closeSync, openSync, writeSync } from 'node:fs'
import type { Failure, Request } from '../domain/session.ts'
import type { Asked } from './turns/asked.ts'

/** What we put between the vendor's messages, so that a replay can ask the same things and compare the answers. */
export type Note =
  | { pcc: 'open'; agent: string; resumed: boolean }
  /** What a resumed conversation had spent before, as the vendor told it. */
  | { pcc: 'past'; spent: unknown }
  | { pcc: 'prompt'; text: string }
  | { pcc: 'pause' }
  | { pcc: 'interrupt' }
  /** A call wants to happen; the answer follows as an `ask`. */
  | { pcc: 'call' | 'gave-up'; request: Request }
  | ({ pcc: 'ask' } & Asked)
  /** Closed by its owner, or gone by itself: parked, crashed or never started. */
  | { pcc: 'ended'; by: 'owner' | 'agent'; failure?: Failure | undefined }

export interface Recorder {
  message(message: unknown): void
  note(note: Note): void
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
