import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { crashPoint } from '../base/crash-point.ts'
import { replaceEntry } from '../base/files.ts'
import { isObject, parseJson } from '../base/json.ts'
import type { MemoryFiles } from './derive.ts'
import { readLine } from './lines.ts'
import type { MemoryFile } from './memory-file.ts'
import { memoryOutbox } from './outbox.ts'
import { Segments } from './segments.ts'
import { eraseRemoved } from './text-index.ts'

/** The ids of what was forgotten, for good: whoever writes the same record again, from an outbox, a copy or the events, stores nothing. */
const FORGOTTEN = 'forgotten.jsonl'
/** What is being forgotten. While it exists, whoever writes next ends that. */
const UNDER_WAY = 'forgetting.json'

/** A record that is being forgotten: where it is, when it was made, and the items that rest on it. */
export interface ForgottenRecord {
  id: string
  segment: string
  at: number
  time: number
  items: string[]
}

/** Notes what is to be forgotten. From now on it is forgotten for good, whoever is killed. */
export function noteForgetting(folder: string, records: readonly ForgottenRecord[]): void {
  replaceEntry(join(folder, UNDER_WAY), JSON.stringify(records))
  crashPoint('memory.after-forget-note')
}

/** Whether somebody began to forget something and has not ended it. */
export function isForgetting(folder: string): boolean {
  return existsSync(join(folder, UNDER_WAY))
}

/**
 * Ends what somebody began to forget: takes the lines out of the log and what rests on them out of the derived file. The same again
 * changes nothing. What the index of words still holds is erased by `eraseForgotten`.
 */
export function finishForgetting(folder: string, parts: MemoryFiles): void {
  const note = join(folder, UNDER_WAY)
  const listed = parseJson(readFileSync(note, 'utf8'))
  const records = (Array.isArray(listed) ? listed : []).filter(isObject) as unknown as ForgottenRecord[]
  const lines = records.map(({ id }) => `${JSON.stringify({ id })}\n`)
  appendFileSync(join(folder, FORGOTTEN), lines.join(''), { mode: 0o600 })
  for (const record of records) cutOut(parts.segments, record)
  cutOdd(parts, records)
  cutCopies(folder, records)
  memoryOutbox(folder).removeRead()
  parts.file.transaction(() => forgetDerived(parts, records))
  crashPoint('memory.before-forgotten')
  rmSync(note)
}

/** The line may be elsewhere if another process has written the segment anew. */
function cutOut(segments: Segments, { id, segment, at }: Pick<ForgottenRecord, 'id' | 'segment' | 'at'>): void {
  if (segments.blank(segment, at, id)) return
  for (const line of segments.read(segment)) if (speaksOf(line.text, id)) segments.blank(segment, line.at, id)
}

/** Lines that are damaged or doubled, and what a killed writer left at the end of a segment. */
function cutOdd({ file, segments }: MemoryFiles, records: readonly ForgottenRecord[]): void {
  const odd = file.rows<{ name: string; at: number }>(
    'select s.name, odd.at from odd join segments s on s.id = odd.segment',
  )
  const ids = records.map(({ id }) => id)
  for (const { name, at } of odd) {
    const text = segments.lineAt(name, at) ?? ''
    const id = ids.find(each => speaksOf(text, each))
    if (id !== undefined) segments.blank(name, at, id)
  }
  const torn = segments.list().flatMap(segment => {
    const isMeant = records.some(record => record.segment.startsWith(`${segment.key}.`))
    const at = isMeant ? segments.tornAt(segment) : undefined
    return at === undefined ? [] : [{ name: segment.name, at }]
  })
  for (const { name, at } of torn) for (const id of ids) segments.blank(name, at, id)
}

/** A migration keeps the segments as they were. What was written later is not in them. */
function cutCopies(folder: string, records: readonly ForgottenRecord[]): void {
  const ids = new Set(records.map(({ id }) => id))
  const oldest = Math.min(...records.map(({ time }) => time))
  for (const name of readdirSync(folder).filter(each => /^log-before-\d+$/.test(each))) {
    const copies = new Segments(join(folder, name))
    for (const copy of copies.list()) {
      if (statSync(join(folder, name, copy.name)).mtimeMs < oldest) continue
      copies.rewrite(copy.name, line => ![...ids].some(id => speaksOf(line, id)))
    }
  }
}

function forgetDerived({ file, segments, upgrades }: MemoryFiles, records: readonly ForgottenRecord[]): void {
  for (const { id } of records) {
    markForgotten(file, id)
    file.run('delete from deferred where id = ?', id)
  }
  for (const item of new Set(records.flatMap(({ items }) => items))) {
    const places = file
      .recordsOf(item)
      .flatMap(id =>
        file.rows<{ name: string; number: number; at: number }>(
          'select s.name, s.number, ids.at from ids join segments s on s.id = ids.segment where ids.id = ?',
          id,
        ),
      )
    const left = places
      .toSorted((a, b) => a.number - b.number || a.at - b.at)
      .map(({ name, at }) => readLine(segments.lineAt(name, at) ?? '', upgrades))
    file.deriveAgain(
      item,
      left.flatMap(read => ('record' in read ? [read.record] : [])),
    )
  }
  file.writeMeta('erasing', 'begin')
}

function markForgotten(file: MemoryFile, id: string): void {
  file.run(
    'insert into ids values (?, null, null, null, null) on conflict (id) do update set segment = null, at = null, kind = null, time = null',
    id,
  )
}

/**
 * Erases what the files of the index still hold of what was forgotten, a little at a time. Returns false while there is more to do, or another process
 * reads what is to be erased.
 */
export function eraseForgotten({ file }: Pick<MemoryFiles, 'file'>): boolean {
  const state = file.readMeta('erasing')
  if (state === undefined) return true
  if (state !== 'checkpoint') {
    file.transaction(() => {
      const isOver = eraseRemoved(file, { isFirst: state === 'begin' })
      file.writeMeta('erasing', isOver ? 'checkpoint' : 'merge')
    })
    return false
  }
  // The log of SQLite holds pages as they were. It is emptied last, because the steps above have written to it.
  if (file.row<{ busy: number }>('pragma wal_checkpoint(truncate)')?.busy !== 0) return false
  file.transaction(() => file.run('delete from meta where name = ?', 'erasing'))
  return true
}

/** Notes the ids of all that was ever forgotten, as far as the file does not know them. Inside of a transaction. */
export function readForgotten(folder: string, file: MemoryFile): void {
  const path = join(folder, FORGOTTEN)
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const known = Number(file.readMeta('forgotten') ?? 0)
  const from = known <= size ? known : 0
  if (size === from) return
  const bytes = Buffer.alloc(size - from)
  const opened = openSync(path, 'r')
  try {
    readSync(opened, bytes, 0, bytes.length, from)
  } finally {
    closeSync(opened)
  }
  for (const line of bytes.toString().split('\n')) {
    const read = parseJson(line)
    if (isObject(read) && typeof read['id'] === 'string') markForgotten(file, read['id'])
  }
  // A line that another process is about to end is read again.
  file.writeMeta('forgotten', String(from + bytes.lastIndexOf(10) + 1))
}

/** A record begins with its id, and so does the part of a line that a killed writer left. */
function speaksOf(line: string, id: string): boolean {
  return line.startsWith(`{"id":"${id}"`)
}
