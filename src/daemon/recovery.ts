import { statSync } from 'node:fs'
import { TmuxSessionFolder } from '../agents/tmux/session-folder.ts'
import type { AppPaths } from '../base/app-paths.ts'
import { crashPoint } from '../base/crash-point.ts'
import { AppError, messageOf } from '../base/errors.ts'
import { type Marker, sessionMarker } from '../base/process/marker.ts'
import { findCarriedMarkers } from '../base/process/process-table.ts'
import {
  type FoundProcess,
  findOrphansIn,
  type SweepResult,
  sweepDirectory,
  sweepMarked,
  sweepTree,
} from '../base/process/sweep.ts'
import type { EventBody } from '../domain/event.ts'
import { checkIntegrity, copyAside } from '../store/sqlite-file.ts'
import type { SessionRow } from '../store/tables.ts'
import { isAliveInTerminal } from '../supervisor/session/terminal.ts'
import { WarmMarkers } from '../supervisor/session/warm-processes.ts'
import { commandMarkers } from '../workspace/command/run-command.ts'
import { removeBaseCheckouts } from '../workspace/verify/regression.ts'
import type { DaemonContext } from './context.ts'

/** A check reads the whole file: some 5 ms for each 10 MB. Of a larger one damage is found when it is met, or by `pcc doctor`. */
const CHECKED_BYTES = 100 * 1024 * 1024

/**
 * Refuses a damaged store before anything is written to it, and copies it aside: what can be read of it now must not be less
 * after the next try. What is no database of ours is left to whoever opens it.
 */
export function refuseDamagedStore({ database }: AppPaths): void {
  const size = statSync(database, { throwIfNoEntry: false })?.size ?? 0
  if (size === 0 || size > CHECKED_BYTES) return
  const [problem] = checkIntegrity(database)
  if (problem === undefined || /file is not a database|unable to open/.test(problem)) return
  throw new AppError('store_damaged', { file: database, problem: `${problem}; ${aside(database)}` })
}

function aside(file: string): string {
  try {
    return `a copy is kept in ${copyAside(file, Date.now())}`
  } catch (error) {
    return `it could not be copied aside: ${messageOf(error)}`
  }
}

/**
 * What an earlier daemon left: its processes are ended, then its sessions are taken away from it. Nothing comes back where it
 * had ended cleanly.
 */
export async function recoverSessions(daemon: DaemonContext): Promise<EventBody<'daemon.recovered'> | undefined> {
  const { swept, stuck } = await sweepLeftovers(daemon)
  const { goesOn, waits } = await daemon.supervisor.recover(stuck)
  const found = { swept, goes_on: goesOn, waits }
  const wasClean = goesOn + waits + swept.marker + swept.tree + swept.directory + swept.left === 0
  if (wasClean) return undefined
  await daemon.store.append([{ actor: 'daemon', subject: 'daemon', kind: 'daemon.recovered', body: found }])
  daemon.log.warn(found, 'an earlier daemon did not end cleanly')
  return found
}

export interface SweptLeftovers {
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
export async function sweepLeftovers(
  daemon: Pick<DaemonContext, 'store' | 'bootId' | 'log' | 'paths'>,
): Promise<SweptLeftovers> {
  const { store, bootId, log } = daemon
  crashPoint('recover.before-sweep')
  const rows = (await leftBy(await store.sessions.list(), bootId)).map(row => ({
    ...row,
    marker: sessionMarker(row.marker),
  }))
  const keepers = [new WarmMarkers(daemon.paths.run), commandMarkers(daemon.paths.run)]
  const waiting = keepers.flatMap(keeper => keeper.all().map(value => ({ keeper, marker: sessionMarker(value) })))
  // Two looks at the process table for all of them: guardians rarely leave anything, and each look reads every process.
  const carried = findCarriedMarkers([...[...rows, ...waiting].map(({ marker }) => marker)])
  const orphans = await findOrphansIn(rows.map(directoryOf))
  const swept = { marker: 0, tree: 0, directory: 0, left: 0 }
  const stuck = new Set<string>()
  for (const row of rows) {
    const found = await sweepOne(row, { carried, orphans: orphans.get(directoryOf(row)) ?? [] }, daemon)
    for (const way of ['marker', 'tree', 'directory'] as const) swept[way] += found[way].killed.length
    const left = Object.values(found).flatMap(each => each.left)
    swept.left += left.length
    if (left.length === 0) continue
    stuck.add(row.id)
    log.warn({ session: row.id, left }, 'processes could not be ended')
  }
  for (const { keeper, marker } of waiting) {
    const { killed, left } = await sweepWithoutRow(marker, carried, daemon)
    swept.marker += killed
    swept.left += left
    if (left === 0) keeper.forget(marker.value)
  }
  await removeBaseCheckouts(daemon.paths.run)
  const gone = rows.filter(({ id }) => !stuck.has(id))
  await store.transaction(async tx => {
    for (const { id } of gone) await store.sessions.update(id, NO_PROCESS, tx)
  })
  for (const { id, options } of gone) if (options.host === 'tmux') new TmuxSessionFolder(daemon.paths.run, id).remove()
  crashPoint('recover.after-sweep')
  return { swept, stuck }
}

/** Sessions that may have left something; an agent that goes on in its own terminal is no leftover. */
async function leftBy(all: SessionRow[], bootId: string): Promise<(SessionRow & { marker: string })[]> {
  const marked = all.filter(
    (row): row is SessionRow & { marker: string } => row.marker !== null && row.owner !== bootId,
  )
  const kept = await Promise.all(marked.map(isAliveInTerminal))
  return marked.filter((_, index) => !kept[index])
}

/** What was started for a session that has no row yet, or for a project. */
async function sweepWithoutRow(marker: Marker, carried: ReadonlySet<Marker>, { log }: Pick<DaemonContext, 'log'>) {
  const { killed, left } = carried.has(marker) ? await sweepMarked(marker) : NOTHING
  if (left.length > 0) log.warn({ left }, 'processes that no session has could not be ended')
  return { killed: killed.length, left: left.length }
}

const NO_PROCESS = { marker: null, agent_pid: null, agent_started: null }
const NOTHING: SweepResult = { killed: [], left: [] }

type Marked = Omit<SessionRow, 'marker'> & { marker: Marker }

/** The whole worktree, or the project. */
function directoryOf({ project, options }: Pick<SessionRow, 'project' | 'options'>): string {
  return options.place?.top ?? project
}

interface Traces {
  carried: ReadonlySet<Marker>
  /** Those without a parent where it works. */
  orphans: FoundProcess[]
}

async function sweepOne(row: Marked, { carried, orphans }: Traces, { log }: Pick<DaemonContext, 'log'>) {
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
