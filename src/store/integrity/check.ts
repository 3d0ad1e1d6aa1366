import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { messageOf } from '../../base/errors.ts'

/** Problems that are told; one damaged page can bring hundreds. */
const MOST = 5

/**
 * What is wrong with the structure of a database file; nothing where it is in order or not there. `thorough` also compares
 * every index with its table. Nothing is written.
 */
export function checkIntegrity(file: string, { thorough = false } = {}): string[] {
  if (!existsSync(file)) return []
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
    const rows = database.prepare(`pragma ${thorough ? 'integrity_check' : 'quick_check'}(${MOST})`).all()
    return rows.map(row => String(Object.values(row)[0])).filter(line => line !== 'ok')
  } catch (error) {
    return [messageOf(error)]
  } finally {
    if (database?.isOpen) database.close()
  }
}
