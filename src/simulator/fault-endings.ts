import { existsSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Step } from './locate.ts'
import { momentMs } from './scenario/moment.ts'

/** Tells whether a fault has ended. */
export interface FaultEndings {
  isOver(step: Step, session: string): boolean
  /** Counts that the fault was shown. */
  shown(step: Step, session: string): void
}

/**
 * `until` with a date and `until_file` need no memory. `times` is counted here, for each session and place, and a relative
 * `until` counts from the start: these two are what a restart of the simulator begins anew.
 */
export function faultEndings({ clock, dir }: { clock: Clock; dir: string }): FaultEndings {
  const started = clock.now()
  const counts = new Map<string, number>()
  const keyOf = (step: Step, session: string) => `${session} ${step.place}`
  return {
    isOver(step, session) {
      const { fault } = step.turn
      if (!fault) return true
      const until = fault.until === undefined ? undefined : momentMs(fault.until, started)
      if (until !== undefined && clock.now() >= until) return true
      if (fault.until_file !== undefined && existsSync(inDir(dir, fault.until_file))) return true
      return fault.times !== undefined && (counts.get(keyOf(step, session)) ?? 0) >= fault.times
    },
    shown(step, session) {
      const key = keyOf(step, session)
      counts.set(key, (counts.get(key) ?? 0) + 1)
    },
  }
}

function inDir(dir: string, file: string): string {
  return isAbsolute(file) ? file : resolve(dir, file)
}
