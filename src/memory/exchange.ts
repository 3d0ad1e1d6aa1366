import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../base/errors.ts'
import { isObject, parseJson } from '../base/json.ts'
import { IS_OPEN, MEMORY_SCHEMA, type MemoryRecord, recordId } from '../domain/memory.ts'
import type { MemoryBroker, WriteResult } from './broker.ts'
import { readLine } from './lines.ts'

/** All records of the log, one line each. A seal says that this memory wrote it: who changes a line breaks its seal. */
export function* exportLines(memory: MemoryBroker): Generator<string> {
  const key = sealKey(memory.folder)
  const { segments, upgrades } = memory.inspect(parts => parts)
  for (const { name } of segments.list()) {
    for (const { text } of segments.read(name)) {
      const read = text === '' ? undefined : readLine(text, upgrades)
      if (!read || !('record' in read)) continue
      const record = JSON.stringify(read.record)
      yield `{"seal":"${seal(key, record)}","record":${record}}`
    }
  }
}

export interface ImportedRecords extends WriteResult {
  /** Lines that this memory did not write, and that count as text from outside. */
  lowered: number
}

/**
 * Stores exported lines. Those that this memory sealed come back as they were. All others are text from outside, whatever they say of
 * themselves: their authority is `external`, and what would decide something is refused. What was forgotten stays forgotten.
 */
export async function importLines(
  memory: MemoryBroker,
  lines: AsyncIterable<string> | Iterable<string>,
): Promise<ImportedRecords> {
  const key = sealKey(memory.folder)
  const result: ImportedRecords = { stored: [], known: [], refused: [], lowered: 0 }
  let records: MemoryRecord[] = []
  let number = 0
  const store = () => {
    const { stored, known, refused } = memory.write(records)
    for (const id of stored) result.stored.push(id)
    for (const id of known) result.known.push(id)
    result.refused.push(...refused)
    records = []
  }
  for await (const line of lines) {
    number += 1
    if (line.trim() === '') continue
    const value = parseJson(line)
    const text = isObject(value) ? JSON.stringify(value['record'] ?? value) : line
    const read = readLine(text)
    if ('newer' in read)
      throw new AppError('memory_newer', { file: `line ${number}`, found: read.newer, known: MEMORY_SCHEMA })
    if ('problem' in read) {
      result.refused.push({ id: `line ${number}`, problem: read.problem })
      continue
    }
    const isSealed = isObject(value) && hasSeal(key, text, value['seal'])
    if (!isSealed && !IS_OPEN[read.record.kind]) {
      result.refused.push({ id: read.record.id, problem: `a ${read.record.kind} that this memory did not write` })
      continue
    }
    if (!isSealed) result.lowered += 1
    records.push(isSealed ? read.record : makeForeign(read.record, memory))
    if (records.length >= BATCH) store()
  }
  store()
  return result
}

/** However long a file is, so many records are in memory at once. */
const BATCH = 2_000

/**
 * What another memory wrote gets an id of its own: with an id that ours is going to give, the line would keep our record out. One that is stored or was forgotten
 * here keeps its id, by which it is known.
 */
function makeForeign(record: MemoryRecord, memory: MemoryBroker): MemoryRecord {
  const { id } = record
  const isKnown = memory.inspect(({ file }) => file.row('select 1 from ids where id = ?', id)) !== undefined
  return { ...record, id: isKnown ? id : recordId(`import ${id}`, 'from-'), authority: 'external' }
}

function seal(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex')
}

function hasSeal(key: Buffer, text: string, given: unknown): boolean {
  if (typeof given !== 'string') return false
  const expected = Buffer.from(seal(key, text))
  const found = Buffer.from(given)
  return expected.length === found.length && timingSafeEqual(expected, found)
}

function sealKey(folder: string): Buffer {
  const file = join(folder, 'seal.key')
  if (!existsSync(file)) {
    try {
      writeFileSync(file, randomBytes(32), { mode: 0o600, flag: 'wx' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  return readFileSync(file)
}
