import { messageOf } from '../../base/errors.ts'
import type { Floor } from '../floor.ts'
import type { Ending, Run } from '../run.ts'
import type { Preparation } from '../start/preparation.ts'

/** An ending where another agent may go on. One that cannot be looked at stays what it was: a wait that ends by itself loses nothing. */
export async function handedOn(ending: Ending, run: Run, ready: Preparation, floor: Floor): Promise<Ending> {
  if (ready.failover.order.length < 2) return ending
  try {
    const { endingWithFailover } = await import('./failover.ts')
    return await endingWithFailover(ending, run, ready, floor)
  } catch (error) {
    run.log.warn({ problem: messageOf(error) }, 'could not look for another agent')
    return ending
  }
}
