import type { Places } from '../../base/places.ts'
import { parentFiles } from './parent-files.ts'
import { PARENT_SCRIPT } from './parent-script.ts'

export interface Patience {
  /** A life of so many seconds counts as a good one: deaths are counted anew. */
  healthyS: number
  /** Deaths in a row after which it gives up. */
  most: number
  /** Seconds that a wait of 1 takes. */
  unitS: number
}

/** The waits add up to four minutes: what a restart mends is mended by then. */
const PATIENCE: Patience = { healthyS: 60, most: 10, unitS: 1 }

/** The same command, kept running by the small parent. */
export function underParent(
  command: string[],
  places: Pick<Places, 'run' | 'logs'>,
  { healthyS, most, unitS }: Patience = PATIENCE,
): { command: string; args: string[] } {
  const { history, verdict } = parentFiles(places)
  const words = [history, verdict, String(healthyS), String(most), String(unitS), ...command]
  return { command: '/bin/sh', args: ['-c', PARENT_SCRIPT, 'pcc-parent', ...words] }
}
