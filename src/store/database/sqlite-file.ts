import { existsSync } from 'node:fs'
import { mkdir, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError } from '../../base/errors.ts'

/** "pcc1": SQLite keeps it in the file's header, so that another program's database is not taken for ours. */
export const APPLICATION_ID = 0x70636331

/**
 * Looks at the file before SQLite may write to it: opening a database read-write can already change its bytes (journal
 * mode, a checkpoint at close), and one that is newer than this program, or not ours, must stay as it is.
 */
export async function inspectFile(file: string, known: number): Promise<void> {
  const header = await readHeader(file)
  if (!header) return
  if (header.text !== 'SQLite format 3\0') throw foreign(file, 'it is not a SQLite database')
  const { application, schema, changes } = existsSync(`${file}-wal`) ? headerBehindLog(file) : header
  if (application === APPLICATION_ID && schema > known)
    throw new AppError('store_newer', { file, found: schema, known })
  if (application === APPLICATION_ID) return
  const isNew = application === 0 && schema === 0 && changes === 0
  if (!isNew) throw foreign(file, 'it belongs to another program')
}

/** Makes the folder and an empty file that only their owner may read; what is there already keeps its rights. */
export async function createFile(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const handle = await open(file, 'a', 0o600)
  await handle.close()
}

/** The numbers stand at fixed places: https://www.sqlite.org/fileformat.html#the_database_header */
async function readHeader(file: string) {
  const size = await stat(file).then(
    found => (found.isFile() ? found.size : 1),
    () => 0, // there is none yet, or it cannot be reached: then creating it says why
  )
  if (size === 0) return undefined
  await using handle = await open(file, 'r')
  const bytes = Buffer.alloc(100)
  await handle.read(bytes, 0, 100, 0)
  return {
    text: bytes.toString('latin1', 0, 16),
    /** Rises with every table made. */
    changes: bytes.readInt32BE(40),
    /** Number of our newest migration. */
    schema: bytes.readInt32BE(60),
    application: bytes.readInt32BE(68),
  }
}

/** With a write-ahead log beside the file the newest header may be in the log. A read-only connection never folds it in. */
function headerBehindLog(file: string) {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  try {
    const read = (name: string) => Number(database.prepare(`pragma ${name}`).get()?.[name])
    return { changes: read('schema_version'), schema: read('user_version'), application: read('application_id') }
  } finally {
    database.close()
  }
}

function foreign(file: string, problem: string): AppError {
  return new AppError('store_foreign', { file, problem })
}
