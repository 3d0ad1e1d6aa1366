import type { ServerError } from '../fixture/daemon-runner.ts'
import type { History } from '../history.ts'
import { hitsOf, isTimeless } from './cuts.ts'
import { bodiesOf } from './events.ts'
import type { Violation } from './violation.ts'

/** A daemon looks every 15 s whether its disk can be written to again (`src/daemon/disk.ts`). */
const LOOKS_MS = 20_000

/** How long a daemon may still say that its disk is full, or that it is about to leave. */
const AFTER_MS = 5_000

/** A daemon that answers that it failed has failed, unless it says just what was done to it. */
export function noServerError(history: History): Violation[] {
  return history.errors
    .filter(error => !isExplained(error, history))
    .map(({ asked, status, code, text }) => ({
      invariant: 'no-surprise',
      text: `${asked} was answered with ${status} ${code}: ${text}`,
    }))
}

function isExplained({ at, code, text }: ServerError, history: History): boolean {
  if (code === 'daemon_stopping') return history.deaths.some(death => death >= at && death <= at + AFTER_MS)
  if (!/disk is full|disk_full/.test(`${code} ${text}`)) return false
  // Events carry the time of the daemon's clock, which says nothing about that of an answer once it was moved.
  return hitsOf(history, 'disk-full').some(({ at: from, until = from }) => {
    if (isTimeless(history)) return at >= from && at <= until + LOOKS_MS
    const freed = bodiesOf(history, 'disk.freed').find(({ time }) => time >= until && time <= until + LOOKS_MS)
    return at >= from && at <= Math.max(until + AFTER_MS, freed?.time ?? 0)
  })
}
