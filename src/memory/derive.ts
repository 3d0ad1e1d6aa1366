import { crashPoint } from '../base/crash-point.ts'
import { AppError } from '../base/errors.ts'
import { MEMORY_SCHEMA, type MemoryRecord } from '../domain/memory.ts'
import { type Line, readLine, type Upgrades } from './lines.ts'
import type { MemoryFile } from './memory-file.ts'
import type { Segment, Segments } from './segments.ts'

/** The log, and the file that follows from it. */
export interface MemoryFiles {
  segments: Segments
  file: MemoryFile
  upgrades: Upgrades
}

/** Records are applied so many at a time: some milliseconds; and so many where nobody waits, which costs less for each. */
const BATCH = 200
const LARGE_BATCH = 5_000

/**
 * Reads the ids of all lines that the file does not know yet: another process may have been killed after it wrote them. Returns false if
 * the file does not follow from these segments: one was removed, or written anew, and whoever did it was killed. Inside of a transaction.
 */
export function readAllIds(parts: MemoryFiles): boolean {
  const { file, segments } = parts
  if (file.readMeta('rewriting') !== undefined) return false
  const found = segments.list()
  const names = new Set(found.map(({ name }) => name))
  const known = file.rows<{ name: string; known: number }>('select name, known from segments')
  if (known.some(({ name }) => !names.has(name))) return false
  const sizes = new Map(known.map(row => [row.name, row.known]))
  if (found.some(({ name, size }) => size < (sizes.get(name) ?? 0))) return false
  for (const segment of found) if (segment.size > (sizes.get(segment.name) ?? 0)) readNewIds(parts, segment)
  return true
}

/** Adds lines to the segments of a key, each id once. Inside of a transaction, and while no other process writes. */
export function appendLines(
  parts: MemoryFiles,
  key: string,
  lines: ReadonlyMap<string, Line>,
): { stored: string[]; known: string[] } {
  const { file, segments } = parts
  const last = file.row<{ number: number | null }>('select max(number) as number from segments where key = ?', key)
  const own = segments.from(key, last?.number ?? 1)
  for (const segment of own) readNewIds(parts, segment)
  const known = [...lines.keys()].filter(id => file.row('select 1 from ids where id = ?', id) !== undefined)
  const skipped = new Set(known)
  const fresh = [...lines.values()].filter(({ id }) => !skipped.has(id))
  if (fresh.length === 0) return { stored: [], known }
  crashPoint('memory.before-append')
  const added = segments.append(
    key,
    own.at(-1),
    fresh.map(({ text }) => text),
  )
  crashPoint('memory.after-append')
  const row = segmentRow(file, { ...added, key })
  const end = file.row<{ known: number }>('select known from segments where id = ?', row)?.known ?? 0
  if (end < added.from) file.noteOdd(row, end) // what a killed writer left before these
  let at = added.from
  for (const { id, kind, time, text } of fresh) {
    file.run('insert into ids values (?, ?, ?, ?, ?)', id, row, at, kind, time)
    at += Buffer.byteLength(text) + 1
  }
  noteOldest(file, row, fresh)
  file.run('update segments set known = ? where id = ?', added.to, row)
  return { stored: fresh.map(({ id }) => id), known }
}

/** The next segment with lines that nothing was derived from. */
function nextToApply(file: MemoryFile): { id: number; name: string; applied: number; known: number } | undefined {
  return file.row('select id, name, applied, known from segments where applied < known order by id limit 1')
}

/** Whether there are records from which nothing was derived yet. */
export function hasMore(file: MemoryFile): boolean {
  return nextToApply(file) !== undefined || file.row('select 1 from deferred limit 1') !== undefined
}

/** Derives what follows from the next lines of one segment. They and how far they go are stored together. */
export function applyNext({ file, segments, upgrades }: MemoryFiles, { isLarge = false } = {}): void {
  file.transaction(() => {
    const segment = nextToApply(file)
    if (!segment) {
      applyDeferred(file)
      return
    }
    const records: MemoryRecord[] = []
    let next = segment.applied
    for (const line of segments.read(segment.name, segment.applied)) {
      if (line.at >= segment.known || records.length >= (isLarge ? LARGE_BATCH : BATCH)) break
      next = line.next
      if (line.text === '') continue
      const read = readLine(line.text, upgrades)
      if ('record' in read) records.push(read.record)
      else file.noteOdd(segment.id, line.at)
    }
    applyInOrder(file, segment.id, records)
    const isEnd = next === segment.applied
    file.run('update segments set applied = ? where id = ?', isEnd ? segment.known : next, segment.id)
    crashPoint('memory.before-derived')
  })
}

/**
 * What is said about an item, and where it was shown, may be in another segment than the item. While other segments are behind, as after a
 * rebuild, such records wait until all items are there: so the same log always gives the same.
 */
function applyInOrder(file: MemoryFile, segment: number, records: readonly MemoryRecord[]): void {
  const isBehind = file.row('select 1 from segments where applied < known and id <> ? limit 1', segment) !== undefined
  const isLate = ({ kind }: MemoryRecord) => isBehind && ['move', 'recall', 'result'].includes(kind)
  file.apply(records.filter(record => !isLate(record)))
  for (const record of records.filter(isLate))
    file.run('insert or ignore into deferred values (?, ?, ?)', record.id, record.time, JSON.stringify(record))
}

function applyDeferred(file: MemoryFile): void {
  const rows = file.rows<{ id: string; body: string }>('select id, body from deferred order by time, id limit ?', BATCH)
  file.apply(rows.map(({ body }) => JSON.parse(body) as MemoryRecord))
  for (const { id } of rows) file.run('delete from deferred where id = ?', id)
}

function readNewIds({ file, segments, upgrades }: MemoryFiles, segment: Segment): void {
  const id = segmentRow(file, segment)
  const known = file.row<{ known: number }>('select known from segments where id = ?', id)?.known ?? 0
  if (segment.size <= known) return
  let next = known
  const found: { kind: string; time: number }[] = []
  for (const line of segments.read(segment.name, known)) {
    const read = line.text === '' ? undefined : readLine(line.text, upgrades)
    if (read && 'newer' in read)
      throw new AppError('memory_newer', { file: segment.name, found: read.newer, known: MEMORY_SCHEMA })
    if (read && 'record' in read) {
      const { record } = read
      noteId(file, id, { at: line.at, record })
      found.push({ kind: record.kind, time: record.time })
    }
    next = line.next
  }
  noteOldest(file, id, found)
  file.run('update segments set known = ? where id = ?', next, id)
}

/** The kinds of records that expire; of a session all do. */
export const EXPIRING = ['episode', 'recall', 'result']

/** Notes the time of the oldest among new records that expire, so that upkeep does not look through all of them for it. */
export function noteOldest(file: MemoryFile, segment: number, added: readonly { kind: string; time: number }[]): void {
  const key = file.row<{ key: string }>('select key from segments where id = ?', segment)?.key ?? ''
  const isOfSession = key.startsWith('session_')
  let oldest: number | undefined
  for (const { kind, time } of added)
    if (time < (oldest ?? Number.POSITIVE_INFINITY) && (isOfSession || EXPIRING.includes(kind))) oldest = time
  if (oldest !== undefined)
    file.run('update segments set oldest = min(coalesce(oldest, ?), ?) where id = ?', oldest, oldest, segment)
}

/** Notes where a record is. The second line with the same id does not count. */
function noteId(file: MemoryFile, segment: number, { at, record }: { at: number; record: MemoryRecord }): void {
  const { id, kind, time } = record
  if (file.row('select 1 from ids where id = ?', id)) file.noteOdd(segment, at)
  else file.run('insert into ids values (?, ?, ?, ?, ?)', id, segment, at, kind, time)
}

function segmentRow(file: MemoryFile, { name, key, number }: Omit<Segment, 'size'>): number {
  const row = file.row<{ id: number }>('select id from segments where name = ?', name)
  if (row) return row.id
  return file.run('insert into segments (name, key, number, known, applied) values (?, ?, ?, 0, 0)', name, key, number)
}
