import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'

/** As many pages as there can be. */
const NO_CAP = 4_294_967_294
/** Where a transaction begins, or a table is made without one. */
const BEGINNING = /^(begin|create)\b/i

/**
 * Once this module is loaded, SQLite takes its disk for full as long as the file exists that `PCC_FULL_WHILE` names, on machines too
 * where nobody may mount a small one. A database that may not grow fails just as it does on a full disk.
 */
const { exec, prepare } = DatabaseSync.prototype

function cap(database: DatabaseSync): void {
  const file = process.env['PCC_FULL_WHILE']
  // A cap below the present size means the present size.
  if (file !== undefined) exec.call(database, `pragma max_page_count = ${existsSync(file) ? 1 : NO_CAP}`)
}

DatabaseSync.prototype.exec = function (this: DatabaseSync, text) {
  if (BEGINNING.test(text)) cap(this)
  return exec.call(this, text)
}

DatabaseSync.prototype.prepare = function (this: DatabaseSync, text, ...more) {
  const statement = prepare.call(this, text, ...more)
  if (!BEGINNING.test(text)) return statement
  const run = statement.run.bind(statement)
  // Only statements without parameters begin anything.
  statement.run = () => {
    cap(this)
    return run()
  }
  return statement
}

/** The environment of a process whose disk is full while `file` exists. */
export function fullDiskEnv(file: string): Record<string, string> {
  return { PCC_FULL_WHILE: file, NODE_OPTIONS: `--import=${pathToFileURL(import.meta.filename)}` }
}
