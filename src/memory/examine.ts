import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { MEMORY_SCHEMA } from '../domain/memory.ts'
import type { MemoryBroker } from './broker.ts'
import type { MemoryFiles } from './derive.ts'
import { readLine } from './lines.ts'
import { memoryOutbox } from './outbox.ts'

/** What is in the log, line by line. */
export interface MemoryAudit {
  folder: string
  writable: boolean
  segments: number
  bytes: number
  records: number
  /** Records by their kind. */
  kinds: Record<string, number>
  /** Lines of each older version, which are read through a conversion; `pcc memory rebuild` writes them anew. */
  older: Record<string, number>
  damaged: { segment: string; at: number; problem: string }[]
  /** Ids that stand in several lines; the first one counts. */
  doubled: number
  items: number
  forgotten: number
  /** Whether hooks have left something that is not stored yet. */
  outbox: boolean
}

/** Reads the whole log, and compares it with what is derived. */
export function auditMemory(memory: MemoryBroker): MemoryAudit {
  memory.catchUp()
  const read = ({ file, segments, upgrades }: MemoryFiles) => {
    const count = (sql: string) => file.row<{ n: number }>(`select count(*) as n from ${sql}`)?.n ?? 0
    const audit: MemoryAudit = {
      ...{ folder: memory.folder, writable: memory.isWritable, segments: 0, bytes: 0, records: 0, doubled: 0 },
      ...{ kinds: {}, older: {}, damaged: [], items: count('items'), forgotten: count('ids where segment is null') },
      outbox: memoryOutbox(memory.folder).hasRows(),
    }
    const seen = new Set<string>()
    for (const { name, size } of segments.list()) {
      audit.segments += 1
      audit.bytes += size
      for (const { text, at } of segments.read(name)) {
        if (text === '') continue
        const line = readLine(text, upgrades)
        if (!('record' in line)) {
          audit.damaged.push({ segment: name, at, problem: 'problem' in line ? line.problem : 'it is newer' })
          continue
        }
        const { id, kind } = line.record
        if (seen.has(id)) audit.doubled += 1
        seen.add(id)
        audit.records += 1
        audit.kinds[kind] = (audit.kinds[kind] ?? 0) + 1
        if (line.from !== undefined) audit.older[line.from] = (audit.older[line.from] ?? 0) + 1
      }
    }
    return audit
  }
  return memory.inspect(read)
}

/**
 * Writes the lines of older versions anew in the version of this program, and keeps the segments as they were in a folder beside the log. What cannot be read stays
 * as it is. Everything derived is made again.
 */
export function migrateLog(memory: MemoryBroker): { converted: number } {
  let converted = 0
  memory.exclusive(({ segments, upgrades }) => {
    for (const { name } of segments.list()) {
      const convert = (text: string): string => {
        const line = text === '' ? undefined : readLine(text, upgrades)
        if (!line || !('record' in line) || line.from === undefined) return text
        converted += 1
        return JSON.stringify(line.record)
      }
      const before = converted
      segments.replace(name, convert, () => {
        if (converted === before) return false
        const copies = join(memory.folder, `log-before-${MEMORY_SCHEMA}`)
        mkdirSync(copies, { recursive: true, mode: 0o700 })
        copyFileSync(join(memory.folder, 'log', name), join(copies, name))
        return true
      })
    }
    memory.rebuild()
  })
  memory.catchUp()
  return { converted }
}
