import type { EventBody } from '../../domain/event.ts'
import type { World } from '../world.ts'
import { sweepLeftovers } from './sweep-leftovers.ts'

/**
 * What an earlier daemon left: its processes are ended, then its sessions are taken away from it. Nothing comes back where it
 * had ended cleanly.
 */
export async function recoverSessions(world: World): Promise<EventBody<'daemon.recovered'> | undefined> {
  const { swept, stuck } = await sweepLeftovers(world)
  const { goesOn, waits } = await world.supervisor.recover(stuck)
  const found = { swept, goes_on: goesOn, waits }
  const wasClean = goesOn + waits + swept.marker + swept.tree + swept.directory + swept.left === 0
  if (wasClean) return undefined
  await world.store.append([{ actor: 'daemon', subject: 'daemon', kind: 'daemon.recovered', body: found }])
  world.log.warn(found, 'an earlier daemon did not end cleanly')
  return found
}
