import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError, messageOf } from '../../../base/errors.ts'
import { sessionMarker } from '../../../base/process/marker.ts'
import { findMarked } from '../../../base/process/sweep.ts'
import { inspectFile } from '../../../store/database/sqlite-file.ts'
import { checkIntegrity } from '../../../store/integrity/check.ts'
import { MIGRATIONS } from '../../../store/migrations/all.ts'
import { duration } from '../../render/format.ts'
import { type Check, type Finding, ok, type Patient, problem, warning } from '../finding.ts'

const MB = 1024 * 1024
/** Clocks are put right by some seconds all the time. */
const BEHIND_MS = 5 * 60_000

const REPAIR = 'Rebuild what can be read with: pcc doctor --repair (the damaged file is kept)'

export const checkStore: Check = async patient => {
  const { database } = patient.places
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

async function brokenStore(file: string): Promise<Finding | undefined> {
  try {
    await inspectFile(file, MIGRATIONS.length)
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
function clock({ places, now }: Patient, newest: number | undefined): Finding {
  const ahead = now - (newest ?? now)
  if (-ahead > BEHIND_MS) {
    const says = `it is ${duration(-ahead)} behind the newest thing that was written`
    return problem('clock', says, 'Set the clock; waits and deadlines are counted by it.')
  }
  const doubt = doubted(join(places.run, 'clock-doubted'))
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
async function leftovers({ places, client, silent }: Patient): Promise<Finding[]> {
  if (client || silent) return []
  const markers = read(places.database, db => db.prepare('select marker from sessions where marker is not null').all())
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
