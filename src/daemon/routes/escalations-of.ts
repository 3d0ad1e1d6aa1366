import { systemClock } from '../../base/clock.ts'
import { type HumanEscalations, openEscalations } from '../../human/escalations.ts'
import type { World } from '../world.ts'

/** What waits for a person, over the daemon's store: it keeps nothing of its own. */
export function escalationsOf({ store }: World): HumanEscalations {
  return openEscalations({ store, clock: systemClock })
}
