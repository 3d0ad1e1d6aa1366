import { statSync } from 'node:fs'
import { AppError, messageOf } from '../../base/errors.ts'
import type { Places } from '../../base/places.ts'
import { checkIntegrity } from '../../store/integrity/check.ts'
import { copyAside } from '../../store/integrity/copy-aside.ts'

/** A check reads the whole file: some 5 ms for each 10 MB. Of a larger one damage is found when it is met, or by `pcc doctor`. */
const CHECKED_BYTES = 100 * 1024 * 1024

/**
 * Refuses a damaged store before anything is written to it, and copies it aside: what can be read of it now must not be less
 * after the next try. What is no database of ours is left to whoever opens it.
 */
export function refuseDamaged({ database }: Places): void {
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
