import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { AppPaths } from '../../base/app-paths.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { shortId } from '../../base/ids.ts'
import { sessionMarker } from '../../base/process/marker.ts'
import { findMarked } from '../../base/process/sweep.ts'
import { programVersion } from '../../base/program.ts'
import { takeLock } from '../../daemon/lock.ts'
import { type Death, readDeaths, readVerdict } from '../../daemon/parent-process.ts'
import { makeDirectories } from '../../daemon/startup.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { SCHEMA } from '../../store/migrations.ts'
import { type RebuildResult, rebuildStore } from '../../store/rebuild.ts'
import { checkIntegrity, inspectFile } from '../../store/sqlite-file.ts'
import { findClient } from '../connection/client.ts'
import { counted, duration } from '../render/format.ts'
import {
  checkFiles,
  checkPrograms,
  checkSettings,
  type DoctorCheck,
  type DoctorContext,
  type DoctorFinding,
  ok,
  problem,
  warning,
} from './doctor-checks.ts'

const DAY_MS = 24 * 60 * 60_000

export const checkDaemon: DoctorCheck = patient => [...running(patient), ...crashes(patient), ...stalls(patient)]

function running({ client, silent }: DoctorContext): DoctorFinding[] {
  if (silent) return [problem('daemon', silent.message, silent.next)]
  if (!client) return [ok('daemon', 'it is not running; the first command that needs it starts it')]
  const { pid, started_at, version, kept_by, watchdog_seconds, disk } = client.health
  const findings = [
    ok('daemon', `it runs (pid ${pid}) for ${duration(Date.now() - started_at)}, ${KEEPERS[kept_by ?? 'nobody']}`),
  ]
  if (kept_by === 'nobody')
    findings.push(
      warning('daemon', 'nobody starts it again if it dies', 'Start it anew, under its parent: pcc daemon restart'),
    )
  if (version !== programVersion())
    findings.push(warning('daemon', `it is version ${version}, this is pcc ${programVersion()}`, 'pcc daemon restart'))
  if (watchdog_seconds !== undefined)
    findings.push(
      ok('watchdog', `ends a daemon that stands still for ${watchdog_seconds} s, from the first session on`),
    )
  if (disk !== undefined) findings.push(problem('disk', disk, 'Free some space; what waits for it goes on by itself.'))
  return findings
}

const KEEPERS = {
  parent: 'kept by its parent',
  systemd: 'kept by systemd',
  launchd: 'kept by launchd',
  nobody: 'on its own',
}

/** A parent that gave up is a problem while no daemon runs, and news for a day after. */
function crashes({ paths, client, now }: DoctorContext): DoctorFinding[] {
  const verdict = readVerdict(paths)
  if (verdict && (!client || now - verdict.at < DAY_MS)) {
    const how =
      verdict.why === 'refused' ? 'refused to start again' : `died ${counted(verdict.deaths, 'time')} in a row`
    const says = `the daemon ${how} (the last time with ${codeInWords(verdict.code)}) and was given up ${duration(now - verdict.at)} ago`
    const mend = 'See: pcc daemon logs, and logs/stderr.log beside it. Then: pcc daemon start'
    return [client ? warning('crashes', says, mend) : problem('crashes', says, mend)]
  }
  const recent = readDeaths(paths).filter(({ at }) => now - at < DAY_MS)
  const last = recent.at(-1)
  if (!last) return [ok('crashes', 'none in the last day')]
  return [warning('crashes', crashText(recent, last, now), 'See: pcc daemon logs')]
}

function crashText(recent: Death[], last: Death, now: number): string {
  return `the daemon died ${counted(recent.length, 'time')} in the last day and was started again; the last time ${duration(now - last.at)} ago, with ${codeInWords(last.code)}`
}

/** 128 and more is a signal, as in every shell. */
function codeInWords(code: number): string {
  if (code === 134) return 'SIGABRT: it aborted, or its watchdog ended it'
  if (code === 137) return 'SIGKILL: somebody or the system killed it, perhaps for want of memory'
  return code > 128 ? `signal ${code - 128}` : `exit code ${code}`
}

/** What the watchdog wrote before it ended a daemon. */
function stalls({ paths, now }: DoctorContext): DoctorFinding[] {
  const files = globSync('stall-*.json', { cwd: paths.logs }).toSorted()
  const last = files.at(-1)
  if (last === undefined) return []
  const file = join(paths.logs, last)
  const page = pageIn(file)
  if (!page || now - Date.parse(page.at) > 7 * DAY_MS) return []
  return [warning('watchdog', `${page.what}, in ${page.stack?.[0] ?? 'an unknown place'}`, `Report it with: ${file}`)]
}

function pageIn(file: string): { at: string; what: string; stack?: string[] } | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as { at: string; what: string; stack?: string[] }
  } catch {
    return undefined // it was being written when the disk was full
  }
}

const MB = 1024 * 1024
/** Clocks are put right by some seconds all the time. */
const BEHIND_MS = 5 * 60_000

const REPAIR = 'Rebuild what can be read with: pcc doctor --repair (the damaged file is kept)'

const checkStore: DoctorCheck = async patient => {
  const { database } = patient.paths
  if (!existsSync(database)) return [ok('store', 'there is none yet'), clock(patient, undefined)]
  const broken = await brokenStore(database)
  if (broken) return [broken]
  const size = Math.ceil(statSync(database).size / MB)
  return [
    ok('store', `${database} (${size} MB) is sound`),
    clock(patient, newestEvent(database)),
    ...(await leftovers(patient)),
  ]
}

async function brokenStore(file: string): Promise<DoctorFinding | undefined> {
  try {
    await inspectFile(file, SCHEMA)
  } catch (error) {
    const isNewer = error instanceof AppError && error.code === 'store_newer'
    return problem(
      'store',
      messageOf(error),
      isNewer ? (error as AppError).next : `If it is yours and was damaged: ${REPAIR}`,
    )
  }
  const [first, ...others] = checkIntegrity(file, { thorough: true })
  if (first === undefined) return undefined
  const more = others.length > 0 ? ` (and ${others.length} more)` : ''
  return problem('store', `${file} is damaged: ${first}${more}`, REPAIR)
}

/** The clock against what was written by it before. */
function clock({ paths, now }: DoctorContext, newest: number | undefined): DoctorFinding {
  const ahead = now - (newest ?? now)
  if (-ahead > BEHIND_MS) {
    const says = `it is ${duration(-ahead)} behind the newest thing that was written`
    return problem('clock', says, 'Set the clock; waits and deadlines are counted by it.')
  }
  const doubt = doubted(join(paths.run, 'clock-doubted'))
  if (doubt !== undefined) {
    const says = `it was far ahead of the last thing written on ${new Date(doubt).toISOString()}; nothing is removed for its age`
    return warning(
      'clock',
      says,
      'If the date is right there is nothing to do: it is believed a day later. If not, set it.',
    )
  }
  return ok('clock', new Date(now).toISOString())
}

function doubted(file: string): number | undefined {
  if (!existsSync(file)) return undefined
  return Number(readFileSync(file, 'utf8')) || undefined
}

/** What an earlier daemon should have taken along; while one runs they are its own. */
async function leftovers({ paths, client, silent }: DoctorContext): Promise<DoctorFinding[]> {
  if (client || silent) return []
  const markers = read(paths.database, db => db.prepare('select marker from sessions where marker is not null').all())
  const left = (await Promise.all(markers.map(({ marker }) => findMarked(sessionMarker(String(marker)))))).flat()
  if (left.length === 0) return [ok('leftovers', 'no process of an agent is left')]
  const pids = left.map(({ pid }) => pid).join(', ')
  return [problem('leftovers', `processes of agents are left: ${pids}`, 'The next daemon ends them: pcc daemon start')]
}

function newestEvent(file: string): number | undefined {
  const row = read(file, db => db.prepare('select time from events order by id desc limit 1').get())
  return row === undefined ? undefined : Number(row['time'])
}

function read<T>(file: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
  try {
    return work(db)
  } finally {
    db.close()
  }
}

const CHECKS: Record<string, DoctorCheck> = {
  programs: checkPrograms,
  config: checkSettings,
  files: checkFiles,
  store: checkStore,
  daemon: checkDaemon,
}

/** Looks at everything. A check that fails is a finding of its own; none of them keeps the others from being made. */
export async function examine(paths: AppPaths, env: Record<string, string | undefined>): Promise<DoctorFinding[]> {
  const config = await loadConfig({ paths, env }).then(
    loaded => loaded.config,
    () => undefined, // told by the check of the settings
  )
  const { client, silent } = await findClient(paths).then(
    found => ({ client: found, silent: undefined }),
    error => ({ client: undefined, silent: isSilent(error) ? error : undefined }),
  )
  const patient: DoctorContext = { paths, env, now: Date.now(), config, client, silent }
  const findings = await Promise.all(Object.entries(CHECKS).map(([area, check]) => made(area, check, patient)))
  return findings.flat()
}

async function made(area: string, check: DoctorCheck, patient: DoctorContext): Promise<DoctorFinding[]> {
  try {
    return await check(patient)
  } catch (error) {
    return [problem(area, `it could not be checked: ${messageOf(error)}`, 'Mend that first, then look again.')]
  }
}

function isSilent(error: unknown): error is AppError {
  return error instanceof AppError && error.code === 'daemon_silent'
}

/**
 * Rebuilds a damaged store; nothing where it is in order. It holds the daemon's own lock, so no daemon runs or starts
 * meanwhile. A store of a newer pcc is sound, and stays untouched.
 */
export async function repair(paths: AppPaths): Promise<RebuildResult | undefined> {
  makeDirectories(paths)
  await using _lock = await takeLock(paths, shortId('boot'))
  if (!existsSync(paths.database) || (await isSound(paths.database))) return undefined
  return rebuildStore(paths.database, Date.now())
}

async function isSound(file: string): Promise<boolean> {
  try {
    await inspectFile(file, SCHEMA)
  } catch (error) {
    if (error instanceof AppError && error.code === 'store_newer' && checkIntegrity(file).length === 0) throw error
    return false
  }
  return checkIntegrity(file, { thorough: true }).length === 0
}
