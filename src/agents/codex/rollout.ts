import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { sizeOf, TranscriptReader } from '../wire/transcript.ts'
import { wantsOut } from './messages/escalation.ts'

/** Codex writes a call down before it asks about it; on a crowded machine that needs a moment. */
const WRITTEN_MS = 15_000
const LOOK_MS = 20

const Written = z.looseObject({
  payload: z.looseObject({ type: z.literal('function_call'), call_id: z.string(), arguments: z.string() }),
})

/**
 * Codex's own record of a conversation that is resumed. Only the call as the model made it says that it is to run outside of the sandbox;
 * in a conversation that is begun Codex tells us that, in one that is resumed it stands in the record alone.
 */
export class Rollout {
  readonly #reader: TranscriptReader
  readonly #wantsOut = new Map<string, boolean>()

  constructor(path: string) {
    this.#reader = new TranscriptReader({ path, offset: sizeOf(path) })
  }

  /** A call of which nobody finds out in time is taken for one that wants to leave. */
  async isUnfenced(callId: string, signal: AbortSignal, writtenMs = WRITTEN_MS): Promise<boolean> {
    for (const until = Date.now() + writtenMs; !signal.aborted; ) {
      this.#read()
      const found = this.#wantsOut.get(callId)
      if (found !== undefined) return found
      if (Date.now() > until) break
      await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined)
    }
    return true
  }

  #read(): void {
    for (const line of this.#reader.read()) {
      const call = Written.safeParse(line).data?.payload
      if (call) this.#wantsOut.set(call.call_id, wantsOut(call.arguments))
    }
  }
}
