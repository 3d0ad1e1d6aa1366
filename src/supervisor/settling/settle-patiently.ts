import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../base/errors.ts'
import type { Ending, Parts, Run } from '../run.ts'
import { settle } from './settle.ts'

/** A disk that is full or a file that is locked is often free again soon; about two minutes in all. */
const WAITS_MS = [250, 1_000, 4_000, 15_000, 30_000, 60_000]
const LONGEST_MS = 60_000

interface Patience {
  ending: Ending
  /** Aborted when there is no time any more: one last try, then the error is thrown. */
  signal: AbortSignal
}

/**
 * Settles a session, again and again while the store fails: an ending that is not written down would show as running. A disk
 * that is full may be so for hours; for it there is no last try but the daemon's end.
 */
export async function settlePatiently(run: Run, parts: Parts, { ending, signal }: Patience): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const waitMs = WAITS_MS[tries] ?? LONGEST_MS
    try {
      return await settle(run, parts, ending)
    } catch (error) {
      const code = error instanceof AppError ? error.code : undefined
      const isLast = tries >= WAITS_MS.length && code !== 'store_unusable'
      if (signal.aborted || isLast || code === 'session_taken_over') throw error
      run.log.error({ error }, 'session could not be settled, trying again')
      await sleep(waitMs, undefined, { signal }).catch(() => undefined)
    }
  }
}
