import { existsSync, readFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import type { AppPaths } from '../base/app-paths.ts'
import { replaceFile } from '../base/files.ts'
import { LineOutbox } from '../base/line-outbox.ts'
import { redact } from '../base/redact.ts'
import type { MemoryRecord } from '../domain/memory.ts'
import { readLine } from './lines.ts'

/** What hooks learned while another process wrote. */
export function memoryOutbox(folder: string): LineOutbox {
  return new LineOutbox(join(folder, 'outbox'))
}

/** Writes records of a hook for whoever opens the memory next. Secrets are removed before. */
export function postRecords(folder: string, records: readonly MemoryRecord[], hidden: readonly string[] = []): boolean {
  return memoryOutbox(folder).add(records.map(record => redact(record, hidden)))
}

/**
 * The records of lines that hooks wrote. Agents without a sandbox can write there too: whatever a line says, it was a hook that wrote it, with no
 * more authority than an agent has, not in the future, and about one project or session: nothing that all projects or another kind of agent would read. It
 * has none of the ids that pcc gives to what it decides itself.
 */
export function readPosted(lines: readonly string[], now: number): MemoryRecord[] {
  return lines.flatMap(line => {
    const read = line === '' ? undefined : readLine(line)
    if (!read || !('record' in read)) return []
    const { record } = read
    if (record.scope === 'global' || record.scope === 'agent' || /^m-(own|from)-/.test(record.id)) return []
    const authority = record.authority === 'external' ? record.authority : 'agent'
    return [{ ...record, authority, actor: 'hook', time: Math.min(record.time, now) } satisfies MemoryRecord]
  })
}

/** Tells hooks where the memory is. They believe nothing that their environment says: a project's settings may set it. @public */
export function noteFolder({ home, memory }: Pick<AppPaths, 'home' | 'memory'>): void {
  if (folderOfHooks({ home }) !== memory) replaceFile(join(home, 'memory-folder'), memory)
}

/** The memory that a hook writes to; undefined until a daemon has said where it is. @public */
export function folderOfHooks({ home }: Pick<AppPaths, 'home'>): string | undefined {
  const file = join(home, 'memory-folder')
  const folder = existsSync(file) ? readFileSync(file, 'utf8').trim() : ''
  return isAbsolute(folder) ? folder : undefined
}
