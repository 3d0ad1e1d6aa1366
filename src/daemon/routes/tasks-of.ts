import { systemClock } from '../../base/clock.ts'
import { openTasks, type Tasks } from '../../tasks/open.ts'
import type { World } from '../world.ts'

/** The tasks over the daemon's store: they keep nothing of their own. */
export function tasksOf({ store }: Pick<World, 'store'>): Tasks {
  return openTasks({ store, clock: systemClock })
}
