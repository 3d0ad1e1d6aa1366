import { join, sep } from 'node:path'
import { crashPoint } from '../../base/crash-point.ts'
import { sessionMarker } from '../../base/process/marker.ts'
import { orphansIn, type Swept, sweepDirectory, sweepMarked, sweepTree } from '../../base/process/sweep.ts'
import type { EventBody } from '../../domain/event.ts'
import type { SessionRow } from '../../store/tables.ts'
import { WarmMarkers } from '../../supervisor/warm/warm-markers.ts'
import type { World } from '../world.ts'

export interface Leftovers {
  swept: EventBody<'daemon.recovered'>['swept']
  /** Sessions of which a process withstood: nothing may be started on their conversations. */
  stuck: ReadonlySet<string>
}

/**
 * An earlier daemon that died should have taken its agents along (their guardians see to it). Whatever is left all the same
 * is ended before anything new is started: by the marker that the session's row has kept, by the recorded process and its
 * tree, and, in directories that are ours alone, by where it works. What else is without a parent in a project's directory
 * may be the person's own: it is only told of.
 */
export async function sweepLeftovers(world: Pick<World, 'store' | 'bootId' | 'log' | 'places'>): Promise<Leftovers> {
  const { store, bootId, log } = world
  crashPoint('recover.before-sweep')
  const swept = { marker: 0, tree: 0, directory: 0, left: 0 }
  const stuck = new Set<string>()
  for (const row of await store.sessions.list()) {
    if (row.marker === null || row.owner === bootId) continue
    const found = await sweepOne(row, world)
    for (const way of ['marker', 'tree', 'directory'] as const) swept[way] += found[way].killed.length
    const left = Object.values(found).flatMap(each => each.left)
    swept.left += left.length
    if (left.length > 0) {
      stuck.add(row.id)
      log.warn({ session: row.id, left }, 'processes could not be ended')
    } else await store.sessions.update(row.id, { marker: null, agent_pid: null, agent_started: null })
  }
  await sweepWarm(world, swept)
  crashPoint('recover.after-sweep')
  return { swept, stuck }
}

/** What was started for a session that has no row yet. */
async function sweepWarm({ places, log }: Pick<World, 'places' | 'log'>, swept: Leftovers['swept']): Promise<void> {
  const markers = new WarmMarkers(places.run)
  for (const marker of markers.all()) {
    const { killed, left } = await sweepMarked(sessionMarker(marker))
    swept.marker += killed.length
    swept.left += left.length
    if (left.length > 0) log.warn({ left }, 'processes that waited for a session could not be ended')
    else markers.forget(marker)
  }
}

const NOTHING: Swept = { killed: [], left: [] }

async function sweepOne(row: SessionRow, { places, log }: Pick<World, 'places' | 'log'>) {
  const { agent_pid: pid, agent_started: startTime, project } = row
  const marker = row.marker === null ? NOTHING : await sweepMarked(sessionMarker(row.marker))
  const tree = pid === null || startTime === null ? NOTHING : await sweepTree({ pid, startTime })
  if (project.startsWith(join(places.home, 'worktrees') + sep)) {
    return { marker, tree, directory: await sweepDirectory(project) }
  }
  const orphans = await orphansIn(project)
  if (orphans.length > 0) log.info({ session: row.id, orphans }, 'processes without a parent work in its project')
  return { marker, tree, directory: NOTHING }
}
