import type { MemoryRecord } from '../domain/memory.ts'
import type { MemoryBroker } from './broker.ts'
import { finishForgetting, noteForgetting } from './forgotten.ts'
import { readLine } from './lines.ts'

/**
 * Forgets the records that `isMeant` picks, of all scopes: their lines are cut out of the segments, and everything derived is thrown away
 * with its file, so that no index, no free page and no log of SQLite holds a word of them. Returns their ids.
 *
 * The ids are noted first. A process that is killed in the middle leaves the note, and the next one to open the memory ends the work.
 */
export function forget(memory: MemoryBroker, isMeant: (record: MemoryRecord) => boolean): string[] {
  while (memory.drainOutbox()); // a hook may have written of it without the daemon
  return memory.exclusive(({ segments, upgrades }) => {
    const ids: string[] = []
    for (const { name } of segments.list()) {
      for (const { text } of segments.read(name)) {
        const read = text === '' ? undefined : readLine(text, upgrades)
        if (read && 'record' in read && isMeant(read.record)) ids.push(read.record.id)
      }
    }
    if (ids.length === 0) return []
    noteForgetting(memory.folder, ids)
    finishForgetting(memory.folder, segments)
    memory.rebuild()
    return ids
  })
}
