import type { Named } from '../messages/request-of.ts'

/** What we do for an agent is asked like what it does by itself. */
export interface Asking {
  /** Resolves when it may happen, in this folder or in that of the session; rejects with the reason when not. */
  may(call: Named, signal: AbortSignal, cwd?: string): Promise<void>
}
