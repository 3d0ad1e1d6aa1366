import { SeatFolder } from '../../agents/tmux/seat.ts'
import { crashPoint } from '../../base/crash-point.ts'
import { type Marker, sessionMarker } from '../../base/process/marker.ts'
import { carriedAmong } from '../../base/process/process-table.ts'
import {
  type FoundProcess,
  orphansIn,
  type Swept,
  sweepDirectory,
  sweepMarked,
  sweepTree,
} from '../../base/process/sweep.ts'
import type { EventBody } from '../../domain/event.ts'
import type { SessionRow } from '../../store/tables.ts'
import { outlives } from '../../supervisor/hosted/outlives.ts'
import { WarmMarkers } from '../../supervisor/warm/warm-markers.ts'
import { commandMarkers } from '../../workspace/command/markers.ts'
import { clearBases } from '../../workspace/verify/base/base-checkout.ts'
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
  const rows = (await leftBy(await store.sessions.list(), bootId)).map(row => ({
    ...row,
    marker: sessionMarker(row.marker),
  }))
  const keepers = [new WarmMarkers(world.places.run), commandMarkers(world.places.run)]
  const waiting = keepers.flatMap(keeper => keeper.all().map(value => ({ keeper, marker: sessionMarker(value) })))
  // Two looks at the process table for all of them: guardians rarely leave anything, and each look reads every process.
  const carried = carriedAmong([...[...rows, ...waiting].map(({ marker }) => marker)])
  const orphans = await orphansIn(rows.map(groundOf))
  const swept = { marker: 0, tree: 0, directory: 0, left: 0 }
  const stuck = new Set<string>()
  for (const row of rows) {
    const found = await sweepOne(row, { carried, orphans: orphans.get(groundOf(row)) ?? [] }, world)
    for (const way of ['marker', 'tree', 'directory'] as const) swept[way] += found[way].killed.length
    const left = Object.values(found).flatMap(each => each.left)
    swept.left += left.length
    if (left.length === 0) continue
    stuck.add(row.id)
    log.warn({ session: row.id, left }, 'processes could not be ended')
  }
  for (const { keeper, marker } of waiting) {
    const { killed, left } = await sweepWithoutRow(marker, carried, world)
    swept.marker += killed
    swept.left += left
    if (left === 0) keeper.forget(marker.value)
  }
  await clearBases(world.places.run)
  const gone = rows.filter(({ id }) => !stuck.has(id))
  await store.transaction(async tx => {
    for (const { id } of gone) await store.sessions.update(id, NO_PROCESS, tx)
  })
  for (const { id, options } of gone) if (options.host === 'tmux') new SeatFolder(world.places.run, id).remove()
  crashPoint('recover.after-sweep')
  return { swept, stuck }
}

/** Sessions that may have left something; an agent that goes on in its own terminal is no leftover. */
async function leftBy(all: SessionRow[], bootId: string): Promise<(SessionRow & { marker: string })[]> {
  const marked = all.filter(
    (row): row is SessionRow & { marker: string } => row.marker !== null && row.owner !== bootId,
  )
  const kept = await Promise.all(marked.map(outlives))
  return marked.filter((_, index) => !kept[index])
}

/** What was started for a session that has no row yet, or for a project. */
async function sweepWithoutRow(marker: Marker, carried: ReadonlySet<Marker>, { log }: Pick<World, 'log'>) {
  const { killed, left } = carried.has(marker) ? await sweepMarked(marker) : NOTHING
  if (left.length > 0) log.warn({ left }, 'processes that no session has could not be ended')
  return { killed: killed.length, left: left.length }
}

const NO_PROCESS = { marker: null, agent_pid: null, agent_started: null }
const NOTHING: Swept = { killed: [], left: [] }

type Marked = Omit<SessionRow, 'marker'> & { marker: Marker }

/** The whole worktree, or the project. */
function groundOf({ project, options }: Pick<SessionRow, 'project' | 'options'>): string {
  return options.place?.top ?? project
}

interface Traces {
  carried: ReadonlySet<Marker>
  /** Those without a parent where it works. */
  orphans: FoundProcess[]
}

async function sweepOne(row: Marked, { carried, orphans }: Traces, { log }: Pick<World, 'log'>) {
  const { agent_pid: pid, agent_started: startTime, options } = row
  const marker = carried.has(row.marker) ? await sweepMarked(row.marker) : NOTHING
  const tree = pid === null || startTime === null ? NOTHING : await sweepTree({ pid, startTime })
  if (orphans.length === 0) return { marker, tree, directory: NOTHING }
  if (options.place) {
    return { marker, tree, directory: await sweepDirectory(options.place.top) }
  }
  log.info({ session: row.id, orphans }, 'processes without a parent work in its project')
  return { marker, tree, directory: NOTHING }
}
