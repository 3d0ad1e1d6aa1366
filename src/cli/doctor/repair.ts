import { existsSync } from 'node:fs'
import { AppError } from '../../base/errors.ts'
import { shortId } from '../../base/ids.ts'
import type { Places } from '../../base/places.ts'
import { makeDirectories } from '../../daemon/start/directories.ts'
import { takeLock } from '../../daemon/start/lock.ts'
import { inspectFile } from '../../store/database/sqlite-file.ts'
import { checkIntegrity } from '../../store/integrity/check.ts'
import { type Rebuilt, rebuildStore } from '../../store/integrity/rebuild.ts'
import { MIGRATIONS } from '../../store/migrations/all.ts'

/**
 * Rebuilds a damaged store; nothing where it is in order. It holds the daemon's own lock, so no daemon runs or starts
 * meanwhile. A store of a newer pcc is sound, and stays untouched.
 */
export async function repair(places: Places): Promise<Rebuilt | undefined> {
  makeDirectories(places)
  await using _lock = await takeLock(places, shortId('boot'))
  if (!existsSync(places.database) || (await isSound(places.database))) return undefined
  return rebuildStore(places.database, Date.now())
}

async function isSound(file: string): Promise<boolean> {
  try {
    await inspectFile(file, MIGRATIONS.length)
  } catch (error) {
    if (error instanceof AppError && error.code === 'store_newer' && checkIntegrity(file).length === 0) throw error
    return false
  }
  return checkIntegrity(file, { thorough: true }).length === 0
}
