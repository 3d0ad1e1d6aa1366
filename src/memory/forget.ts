import { type MemoryReader, type MemoryRecord, mayReadMemory } from '../domain/memory.ts'
import type { MemoryBroker } from './broker.ts'
import { eraseForgotten, type ForgottenRecord, finishForgetting, noteForgetting } from './forgotten.ts'
import { itemIdsOf } from './learn/apply-record.ts'
import { readLine } from './lines.ts'

/**
 * Forgets records for good: their lines are cut out of the log, what rests on them is derived again, and no index, no free page and no log of
 * SQLite holds a word of them once `erase` has come to its end. Costs what those records cost, however long the log is. Returns the ids of those that were there.
 *
 * What is forgotten is noted first. A process that is killed in the middle leaves the note, and the next one to write ends the work.
 */
export function forget(memory: MemoryBroker, ids: readonly string[]): string[] {
  const wanted = [...new Set(ids)]
  if (wanted.length === 0) return []
  return memory.exclusive(parts => {
    const { file, segments, upgrades } = parts
    const records = wanted.flatMap((id): ForgottenRecord[] => {
      const place = file.row<{ name: string; at: number; time: number }>(
        'select s.name, ids.at, ids.time from ids join segments s on s.id = ids.segment where ids.id = ?',
        id,
      )
      if (!place) return []
      const read = readLine(segments.lineAt(place.name, place.at) ?? '', upgrades)
      // What was shown is counted, and says nothing of its own.
      const items = 'record' in read && read.record.kind !== 'recall' ? itemIdsOf(read.record) : []
      return [{ id, segment: place.name, at: place.at, time: place.time, items }]
    })
    if (records.length === 0) return []
    noteForgetting(memory.folder, records)
    finishForgetting(memory.folder, parts)
    return records.map(({ id }) => id)
  })
}

/** Erases what is left of forgotten records on the disk, for about `withinMs`. Returns false while there is more to do. */
export function erase(memory: MemoryBroker, { withinMs }: { withinMs: number }): boolean {
  const until = performance.now() + withinMs
  for (;;) {
    if (memory.exclusive(eraseForgotten)) return true
    if (performance.now() >= until) return false
  }
}

/** The ids of the records that an item rests on, or that of a record; as far as a reader may see them. */
export function recordsBehind(memory: MemoryBroker, id: string, reader: MemoryReader): MemoryRecord[] {
  const ids = memory.inspect(({ file }) => [id, ...file.recordsOf(id)])
  return ids.flatMap(each => memory.record(each, reader) ?? []).filter(record => mayReadMemory(record, reader))
}

/** The ids of all records that `isMeant` picks. Reads the whole log, and keeps nobody from writing. */
export function findRecords(memory: MemoryBroker, isMeant: (record: MemoryRecord) => boolean): string[] {
  const { segments, upgrades } = memory.inspect(parts => parts)
  return segments.list().flatMap(({ name }) =>
    [...segments.read(name)].flatMap(({ text }) => {
      const read = text === '' ? undefined : readLine(text, upgrades)
      return read && 'record' in read && isMeant(read.record) ? [read.record.id] : []
    }),
  )
}
