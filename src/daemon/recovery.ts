import { statSync } from 'node:fs'
import { sweepEndpoints } from '../agents/own-tools-server.ts'
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
import { clearScratch } from '../base/sandbox/home.ts'
import { removeLeftPlanted } from '../base/sandbox/planted.ts'
import type { EventBody } from '../domain/event.ts'
import { checkIntegrity, copyAside } from '../store/sqlite-file.ts'
import type { SessionRow } from '../store/tables.ts'
import { NO_PROCESS } from '../supervisor/session/settle.ts'
import { isAliveInTerminal } from '../supervisor/session/terminal.ts'
import { WarmMarkers } from '../supervisor/session/warm-processes.ts'
import { scratchFolder } from '../workspace/command/plan-sandbox.ts'
import { commandMarkers } from '../workspace/command/run-command.ts'
import { removeBaseCheckouts } from '../workspace/verify/regression.ts'
import type { DaemonContext } from './context.ts'

/**
 * The largest store that is checked at the start. A check reads the whole file, at about 5 ms per 10 MB. Damage in a larger
 * store is found by the first query that reads it, or by `pcc doctor`.
 */
const CHECKED_BYTES = 100 * 1024 * 1024

/**
 * Refuses a damaged store before anything is written to it, and copies it aside, so that what is readable now is not lost by
 * the next attempt. A file that is no database, or cannot be opened, is left for `openStore` to refuse.
 */
export function refuseDamagedStore({ database }: AppPaths): void {
  const size = statSync(database, { throwIfNoEntry: false })?.size ?? 0
  if (size === 0 || size > CHECKED_BYTES) return
  const [problem] = checkIntegrity(database)
  if (problem === undefined || /file is not a database|unable to open/.test(problem)) return
  throw new AppError('store_damaged', { file: database, problem: `${problem}; ${keepCopy(database)}` })
}

/** Copies the file aside and says where, or why that failed. */
function keepCopy(file: string): string {
  try {
    return `a copy is kept in ${copyAside(file, Date.now())}`
  } catch (error) {
    return `it could not be copied aside: ${messageOf(error)}`
  }
}

/**
 * Cleans up after an earlier daemon: ends its processes, then recovers its sessions. Returns undefined if that daemon had
 * ended cleanly.
 */
export async function recoverSessions(daemon: DaemonContext): Promise<EventBody<'daemon.recovered'> | undefined> {
  const { swept, stuck } = await sweepLeftovers(daemon)
  const { goesOn, waits } = await daemon.supervisor.recover(stuck)
  const recovered = { swept, goes_on: goesOn, waits }
  const wasClean = goesOn + waits + swept.marker + swept.tree + swept.directory + swept.left === 0
  if (wasClean) return undefined
  await daemon.store.append([{ actor: 'daemon', subject: 'daemon', kind: 'daemon.recovered', body: recovered }])
  daemon.log.warn(recovered, 'an earlier daemon did not end cleanly')
  return recovered
}

export interface SweptLeftovers {
  swept: EventBody<'daemon.recovered'>['swept']
  /** Sessions with a process that could not be ended: nothing may be started on their conversations. */
  stuck: ReadonlySet<string>
}

/**
 * When a daemon dies, the guardians end its agents. Any process that is left all the same is ended before anything new starts:
 * found by the marker in the session's row, by the recorded process and its tree, and, in directories that only we use, by its
 * working directory. Another process without a parent in a project's directory may be the user's own, so it is only logged.
 */
export async function sweepLeftovers(
  daemon: Pick<DaemonContext, 'store' | 'bootId' | 'log' | 'paths'>,
): Promise<SweptLeftovers> {
  const { store, bootId, log } = daemon
  crashPoint('recover.before-sweep')
  const rows = (await findLeftSessions(await store.sessions.list({ only: 'marked' }), bootId)).map(row => ({
    ...row,
    marker: sessionMarker(row.marker),
  }))
  const markerFiles = [new WarmMarkers(daemon.paths.run), commandMarkers(daemon.paths.run)]
  const rowless = markerFiles.flatMap(markers =>
    markers.all().map(value => ({ markers, marker: sessionMarker(value) })),
  )
  // The process table is scanned twice for all of them together: guardians rarely leave anything, and a scan reads every process.
  const carried = findCarriedMarkers([...[...rows, ...rowless].map(({ marker }) => marker)])
  const orphans = await findOrphansIn(rows.map(directoryOf))
  const swept = { marker: 0, tree: 0, directory: 0, left: 0 }
  const stuck = new Set<string>()
  for (const row of rows) {
    const results = await sweepOne(row, { carried, orphans: orphans.get(directoryOf(row)) ?? [] }, daemon)
    for (const way of ['marker', 'tree', 'directory'] as const) swept[way] += results[way].killed.length
    const left = Object.values(results).flatMap(result => result.left)
    swept.left += left.length
    if (left.length === 0) continue
    stuck.add(row.id)
    log.warn({ session: row.id, left }, 'processes could not be ended')
  }
  for (const { markers, marker } of rowless) {
    const { killed, left } = await sweepWithoutRow(marker, carried, daemon)
    swept.marker += killed
    swept.left += left
    if (left === 0) markers.forget(marker.value)
  }
  await removeBaseCheckouts(daemon.paths.run)
  removeLeftPlanted(scratchFolder(daemon.paths), line => log.warn({}, line))
  await clearScratch(scratchFolder(daemon.paths))
  await sweepEndpoints()
  const gone = rows.filter(({ id }) => !stuck.has(id))
  await store.transaction(async tx => {
    for (const { id } of gone) await store.sessions.update(id, NO_PROCESS, tx)
  })
  for (const { id, options } of gone) {
    if (options.host !== 'tmux') continue
    const folder = new TmuxSessionFolder(daemon.paths.run, id)
    removeLeftPlanted(folder.box, line => log.warn({ session: id }, line))
    folder.remove()
  }
  crashPoint('recover.after-sweep')
  return { swept, stuck }
}

/** Sessions of earlier daemons that may have left processes; an agent that still runs in its own terminal is no leftover. */
async function findLeftSessions(all: SessionRow[], bootId: string): Promise<(SessionRow & { marker: string })[]> {
  const marked = all.filter(
    (row): row is SessionRow & { marker: string } => row.marker !== null && row.owner !== bootId,
  )
  const areAlive = await Promise.all(marked.map(isAliveInTerminal))
  return marked.filter((_, index) => !areAlive[index])
}

/** Ends what was started for a session that has no row yet, or for a project. */
async function sweepWithoutRow(marker: Marker, carried: ReadonlySet<Marker>, { log }: Pick<DaemonContext, 'log'>) {
  const { killed, left } = carried.has(marker) ? await sweepMarked(marker) : NOTHING
  if (left.length > 0) log.warn({ left }, 'processes that belong to no session could not be ended')
  return { killed: killed.length, left: left.length }
}

const NOTHING: SweepResult = { killed: [], left: [] }

type Marked = Omit<SessionRow, 'marker'> & { marker: Marker }

/** The top of the session's worktree, or its project. */
function directoryOf({ project, options }: Pick<SessionRow, 'project' | 'options'>): string {
  return options.place?.top ?? project
}

interface Traces {
  carried: ReadonlySet<Marker>
  /** Processes without a parent in the session's directory. */
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
  log.info({ session: row.id, orphans }, 'processes without a parent run in its project')
  return { marker, tree, directory: NOTHING }
}
