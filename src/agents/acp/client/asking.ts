import type { Named } from '../messages/request-of.ts'

/** What we do for an agent is asked like what it does by itself. */
export interface Asking {
  /** Resolves when it may happen; rejects with the reason when not. */
  may(call: Named, signal: AbortSignal): Promise<void>
}
