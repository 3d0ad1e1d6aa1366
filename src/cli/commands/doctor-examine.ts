import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { AppPaths } from '../../base/app-paths.ts'
import { DAY_MS } from '../../base/clock.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { shortId } from '../../base/ids.ts'
import { sessionMarker } from '../../base/process/marker.ts'
import { findMarked } from '../../base/process/sweep.ts'
import { programVersion } from '../../base/program.ts'
import { takeLock } from '../../daemon/lock.ts'
import { type Death, readDeaths, readVerdict } from '../../daemon/parent-process.ts'
import { makeDirectories } from '../../daemon/startup.ts'
import { loadConfig } from '../../domain/config/load.ts'
import type { RebuildResult } from '../../store/rebuild.ts'
import { checkIntegrity, inspectFile, SCHEMA } from '../../store/sqlite-file.ts'
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

export const checkDaemon: DoctorCheck = context => [
  ...checkRunning(context),
  ...checkCrashes(context),
  ...checkStalls(context),
]

function checkRunning({ client, silent }: DoctorContext): DoctorFinding[] {
  if (silent) return [problem('daemon', silent.message, silent.next)]
  if (!client) return [ok('daemon', 'it is not running; the first command that needs it starts it')]
  const { pid, started_at, version, kept_by, watchdog_seconds, disk } = client.health
  const findings = [
    ok('daemon', `it runs (pid ${pid}) for ${duration(Date.now() - started_at)}, ${KEEPER_TEXT[kept_by ?? 'nobody']}`),
  ]
  if (kept_by === 'nobody')
    findings.push(
      warning('daemon', 'nobody starts it again if it dies', 'Restart it under its parent: pcc daemon restart'),
    )
  if (version !== programVersion())
    findings.push(warning('daemon', `it is version ${version}, this is pcc ${programVersion()}`, 'pcc daemon restart'))
  if (watchdog_seconds !== undefined)
    findings.push(ok('watchdog', `ends a daemon that hangs for ${watchdog_seconds} s, from the first session on`))
  if (disk !== undefined)
    findings.push(problem('disk', disk, 'Free some space; work that waits for it goes on by itself.'))
  return findings
}

const KEEPER_TEXT = {
  parent: 'kept by its parent',
  systemd: 'kept by systemd',
  launchd: 'kept by launchd',
  nobody: 'on its own',
}

/** A parent that gave up is a problem while no daemon runs, and a warning for a day after. */
function checkCrashes({ paths, client, now }: DoctorContext): DoctorFinding[] {
  const verdict = readVerdict(paths)
  if (verdict && (!client || now - verdict.at < DAY_MS)) {
    const how =
      verdict.why === 'refused' ? 'refused to start again' : `died ${counted(verdict.deaths, 'time')} in a row`
    const says = `the daemon ${how} (the last time with ${describeExitCode(verdict.code)}) and was given up ${duration(now - verdict.at)} ago`
    const mend = 'See: pcc daemon logs, and logs/stderr.log beside it. Then: pcc daemon start'
    return [client ? warning('crashes', says, mend) : problem('crashes', says, mend)]
  }
  const recent = readDeaths(paths).filter(({ at }) => now - at < DAY_MS)
  const last = recent.at(-1)
  if (!last) return [ok('crashes', 'none in the last day')]
  return [warning('crashes', describeCrashes(recent, last, now), 'See: pcc daemon logs')]
}

function describeCrashes(recent: Death[], last: Death, now: number): string {
  return `the daemon died ${counted(recent.length, 'time')} in the last day and was started again; the last time ${duration(now - last.at)} ago, with ${describeExitCode(last.code)}`
}

/** A code above 128 is a signal, as in every shell. */
function describeExitCode(code: number): string {
  if (code === 134) return 'SIGABRT: it aborted, or its watchdog ended it'
  if (code === 137) return 'SIGKILL: somebody or the system killed it, perhaps for want of memory'
  return code > 128 ? `signal ${code - 128}` : `exit code ${code}`
}

/** Reports what the watchdog wrote before it ended a daemon. */
function checkStalls({ paths, now }: DoctorContext): DoctorFinding[] {
  const names = existsSync(paths.logs) ? readdirSync(paths.logs) : []
  const last = names
    .filter(name => /^stall-.*\.json$/.test(name))
    .toSorted()
    .at(-1)
  if (last === undefined) return []
  const file = join(paths.logs, last)
  const stall = readStall(file)
  if (!stall || now - Date.parse(stall.at) > 7 * DAY_MS) return []
  return [warning('watchdog', `${stall.what}, in ${stall.stack?.[0] ?? 'an unknown place'}`, `Report it with: ${file}`)]
}

function readStall(file: string): { at: string; what: string; stack?: string[] } | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as { at: string; what: string; stack?: string[] }
  } catch {
    return undefined // the file is incomplete: the disk was full when it was written
  }
}

const MB = 1024 * 1024
/** Clocks are corrected by some seconds all the time. */
const MAX_BEHIND_MS = 5 * 60_000

const REPAIR_HINT = 'Rebuild what can be read with: pcc doctor --repair (the damaged file is kept)'

const checkStore: DoctorCheck = async context => {
  const { database } = context.paths
  if (!existsSync(database)) return [ok('store', 'there is none yet'), checkClock(context, undefined)]
  const broken = await findDamage(database)
  if (broken) return [broken]
  const size = Math.ceil(statSync(database).size / MB)
  return [
    ok('store', `${database} (${size} MB) is sound`),
    checkClock(context, readNewestEventTime(database)),
    ...(await checkLeftovers(context)),
  ]
}

async function findDamage(file: string): Promise<DoctorFinding | undefined> {
  try {
    await inspectFile(file, SCHEMA)
  } catch (error) {
    const isNewer = error instanceof AppError && error.code === 'store_newer'
    return problem(
      'store',
      messageOf(error),
      isNewer ? (error as AppError).next : `If it is yours and was damaged: ${REPAIR_HINT}`,
    )
  }
  const [first, ...others] = checkIntegrity(file, { thorough: true })
  if (first === undefined) return undefined
  const more = others.length > 0 ? ` (and ${others.length} more)` : ''
  return problem('store', `${file} is damaged: ${first}${more}`, REPAIR_HINT)
}

/** Compares the clock with the newest event in the store. */
function checkClock({ paths, now }: DoctorContext, newest: number | undefined): DoctorFinding {
  const ahead = now - (newest ?? now)
  if (-ahead > MAX_BEHIND_MS) {
    const says = `it is ${duration(-ahead)} behind the newest thing that was written`
    return problem('clock', says, 'Set the clock; waits and deadlines depend on it.')
  }
  const doubtedAt = readDoubt(join(paths.run, 'clock-doubted'))
  if (doubtedAt !== undefined) {
    const says = `it was far ahead of the last thing written on ${new Date(doubtedAt).toISOString()}; nothing is removed for its age`
    return warning(
      'clock',
      says,
      'If the date is right there is nothing to do: pcc trusts it again after a day. If not, set it.',
    )
  }
  return ok('clock', new Date(now).toISOString())
}

function readDoubt(file: string): number | undefined {
  if (!existsSync(file)) return undefined
  return Number(readFileSync(file, 'utf8')) || undefined
}

/** Looks for agents that an earlier daemon should have ended. While a daemon runs, the agents are its own. */
async function checkLeftovers({ paths, client, silent }: DoctorContext): Promise<DoctorFinding[]> {
  if (client || silent) return []
  const markers = queryStore(paths.database, db =>
    db.prepare('select marker from sessions where marker is not null').all(),
  )
  const left = (await Promise.all(markers.map(({ marker }) => findMarked(sessionMarker(String(marker)))))).flat()
  if (left.length === 0) return [ok('leftovers', 'no process of an agent is left')]
  const pids = left.map(({ pid }) => pid).join(', ')
  return [problem('leftovers', `processes of agents are left: ${pids}`, 'The next daemon ends them: pcc daemon start')]
}

function readNewestEventTime(file: string): number | undefined {
  const row = queryStore(file, db => db.prepare('select time from events order by id desc limit 1').get())
  return row === undefined ? undefined : Number(row['time'])
}

function queryStore<T>(file: string, query: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
  try {
    return query(db)
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

/** Runs every check. A check that throws becomes a finding itself and does not keep the others from running. */
export async function examine(
  paths: AppPaths,
  env: Record<string, string | undefined>,
  { deep }: { deep: boolean },
): Promise<DoctorFinding[]> {
  const [loaded, { client, silent }] = await Promise.all([
    loadConfig({ paths, env, project: null }).catch((error: unknown) => {
      if (error instanceof AppError) return error // reported by `checkSettings`
      throw error
    }),
    findClient(paths).then(
      found => ({ client: found, silent: undefined }),
      error => ({ client: undefined, silent: isSilent(error) ? error : undefined }),
    ),
  ])
  const config = loaded instanceof AppError ? undefined : loaded.config
  const context: DoctorContext = { paths, env, now: Date.now(), deep, loaded, config, client, silent }
  const findings = await Promise.all(Object.entries(CHECKS).map(([area, check]) => runCheck(area, check, context)))
  return findings.flat()
}

async function runCheck(area: string, check: DoctorCheck, context: DoctorContext): Promise<DoctorFinding[]> {
  try {
    return await check(context)
  } catch (error) {
    return [
      problem(area, `it could not be checked: ${messageOf(error)}`, 'Repair that first, then run pcc doctor again.'),
    ]
  }
}

function isSilent(error: unknown): error is AppError {
  return error instanceof AppError && error.code === 'daemon_silent'
}

/**
 * Rebuilds a damaged store; returns `undefined` if the store is in order. It holds the daemon's lock, so no daemon runs
 * or starts meanwhile. A store of a newer pcc counts as sound and stays untouched.
 */
export async function repair(paths: AppPaths): Promise<RebuildResult | undefined> {
  makeDirectories(paths)
  await using _lock = await takeLock(paths, shortId('boot'))
  if (!existsSync(paths.database) || (await isSound(paths.database))) return undefined
  return (await import('../../store/rebuild.ts')).rebuildStore(paths.database, Date.now())
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
