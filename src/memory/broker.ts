import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { AppPaths } from '../base/app-paths.ts'
import { AppError, messageOf } from '../base/errors.ts'
import { makePrivate } from '../base/files.ts'
import { parseJson } from '../base/json.ts'
import { redact } from '../base/redact.ts'
import {
  AUTHORITIES,
  type Authority,
  MEMORY_SCHEMA,
  type MemoryItem,
  type MemoryReader,
  MemoryRecord,
  mayRead,
  type RecordKind,
  type RecordOf,
} from '../domain/memory.ts'
import { sqliteCode } from '../store/sqlite-errors.ts'
import { type ItemQuery, MemoryFile } from './memory-file.ts'
import type { RankedItem } from './rank-items.ts'
import { MOST_LINE_BYTES, type Segment, Segments, segmentKey } from './segments.ts'

/** What became of written records. Those that are stored or were known are on disk: they outlive a kill of every process. */
export interface WriteResult {
  stored: string[]
  /** The same id was stored before, or was forgotten. */
  known: string[]
  refused: { id: string; problem: string }[]
}

export interface WriteOptions {
  /** Values that must not be written, besides what looks like a secret. */
  hidden?: readonly string[] | undefined
}

/**
 * The one way to write and read memory. Any number of processes may have one on the same folder: one writes at a time.
 *
 * The log is the truth; `memory.db` follows from it and is caught up, or made again, whenever it is behind. `write` puts records into the log and
 * their ids into the file; what follows from them is derived by the next read, or by `catchUp`.
 *
 *     using memory = openMemory(paths)
 *     memory.write([newRecord({ kind: 'fact', … })])
 *     memory.find({ reader, text: 'how are migrations run?', kinds: ['fact'] })
 */
export class MemoryBroker implements Disposable {
  readonly folder: string
  readonly segments: Segments
  /** False on a disk that cannot be written: memory can still be read. */
  readonly isWritable: boolean
  readonly #lock: DatabaseSync | undefined
  #file: MemoryFile
  #depth = 0

  constructor(folder: string, { rotateBytes }: { rotateBytes?: number } = {}) {
    refuseForeign(folder)
    this.folder = folder
    this.segments = new Segments(join(folder, 'log'), rotateBytes === undefined ? {} : { rotateBytes })
    const opened = openFiles(folder)
    this.#lock = opened.lock
    this.#file = opened.file
    this.isWritable = opened.lock !== undefined
    if (this.isWritable) this.#locked(() => this.#lookAtAll())
  }

  /**
   * Stores records: each once, by its id. A record that is not valid, too long, or claims more authority than its actor has, is refused; the
   * others are stored. Throws where nothing can be written; then nothing is stored, and the same call can be made again.
   */
  write(records: readonly MemoryRecord[], { hidden = [] }: WriteOptions = {}): WriteResult {
    const result: WriteResult = { stored: [], known: [], refused: [] }
    const byKey = new Map<string, Map<string, Line>>()
    for (const record of records) {
      const line = lineOf(record, hidden)
      if ('problem' in line) result.refused.push({ id: String(record.id), problem: line.problem })
      else {
        const lines = byKey.get(line.key) ?? new Map<string, Line>()
        byKey.set(line.key, lines.set(line.id, line))
      }
    }
    if (byKey.size > 0) this.#locked(() => this.#append(byKey, result))
    return result
  }

  /** Items that a reader may see. */
  find(query: ItemQuery): RankedItem[] {
    this.catchUp()
    return this.#current().find(query)
  }

  /** One item; undefined if there is none, or the reader may not see it. */
  item(id: string, reader: MemoryReader): MemoryItem | undefined {
    this.catchUp()
    const item = this.#current().item(id)
    return item && mayRead(item, reader) ? item : undefined
  }

  /** One record of the log. */
  record(id: string, reader: MemoryReader): MemoryRecord | undefined {
    const file = this.#current()
    const place = file.row<{ name: string; at: number }>(
      'select s.name, ids.at from ids join segments s on s.id = ids.segment where ids.id = ?',
      id,
    )
    const line = place && this.segments.lineAt(place.name, place.at)
    const parsed = line === undefined ? undefined : readLine(line)
    return parsed && 'record' in parsed && mayRead(parsed.record, reader) ? parsed.record : undefined
  }

  /** Records that make no item, in the order of the log: what was recalled, how tasks ended, what was moved, changed thresholds. */
  records<Kind extends 'recall' | 'result' | 'move' | 'policy'>(kind: Kind, reader: MemoryReader): RecordOf<Kind>[] {
    const places = this.#current().rows<{ name: string; at: number }>(
      'select s.name, ids.at from ids join segments s on s.id = ids.segment where ids.kind = ? order by ids.segment, ids.at',
      kind,
    )
    return places.flatMap(({ name, at }) => {
      const parsed = readLine(this.segments.lineAt(name, at) ?? '')
      return 'record' in parsed && mayRead(parsed.record, reader) ? [parsed.record as RecordOf<Kind>] : []
    })
  }

  /** Thresholds and weights as policy records have set them. */
  policy(): Readonly<Record<string, number>> {
    this.catchUp()
    return this.#current().policy()
  }

  /** Derives what follows from new records, for as long as `withinMs`. Returns false while there is more to do. */
  catchUp({ withinMs = Number.POSITIVE_INFINITY } = {}): boolean {
    const until = performance.now() + withinMs
    for (;;) {
      if (!this.isWritable) return true
      if (!this.#nextToApply()) return true
      this.#locked(() => this.#applyBatch())
      if (performance.now() >= until) return this.#nextToApply() === undefined
    }
  }

  [Symbol.dispose](): void {
    this.#file.close()
    if (this.#lock?.isOpen) this.#lock.close()
  }

  /** Runs while no other process writes. The lock is the kernel's: it ends with the process that holds it. */
  #locked<T>(work: () => T): T {
    if (!this.#lock) throw new AppError('memory_unwritable', { folder: this.folder, problem: 'the disk is read-only' })
    if (this.#depth > 0) return work()
    try {
      this.#lock.exec('begin immediate')
    } catch (error) {
      throw unwritable(this.folder, error)
    }
    this.#depth += 1
    try {
      return work()
    } finally {
      this.#depth -= 1
      this.#lock.exec('rollback')
    }
  }

  /** The derived file; opened again if somebody removed it. */
  #current(): MemoryFile {
    if (!this.isWritable || !this.#file.isLost) return this.#file
    this.#file.close()
    this.#file = new MemoryFile(this.#file.path)
    this.#locked(() => this.#lookAtAll())
    return this.#file
  }

  /** Reads the ids of lines that no file knows: another process may have been killed after it wrote them. */
  #lookAtAll(): void {
    const file = this.#file
    file.transaction(() => {
      for (const segment of this.segments.list()) this.#readIds(file, segment)
    })
  }

  #append(byKey: Map<string, Map<string, Line>>, result: WriteResult): void {
    const file = this.#current()
    file.transaction(() => {
      for (const [key, lines] of byKey) {
        const last = file.row<{ number: number }>('select max(number) as number from segments where key = ?', key)
        const segments = this.segments.from(key, last?.number ?? 1)
        for (const segment of segments) this.#readIds(file, segment)
        const isKnown = (id: string) => file.row('select 1 from ids where id = ?', id) !== undefined
        const fresh = [...lines].filter(([id]) => !isKnown(id))
        result.known.push(...[...lines.keys()].filter(isKnown))
        if (fresh.length === 0) continue
        const added = this.segments.append(
          key,
          segments.at(-1),
          fresh.map(([, { text }]) => text),
        )
        const id = segmentRow(file, { ...added, key })
        let at = added.from
        for (const [record, { text, kind }] of fresh) {
          file.run('insert into ids values (?, ?, ?, ?)', record, id, at, kind)
          at += Buffer.byteLength(text) + 1
        }
        file.run('update segments set known = ? where id = ?', added.to, id)
        result.stored.push(...fresh.map(([record]) => record))
      }
    })
  }

  #readIds(file: MemoryFile, segment: Segment): void {
    const id = segmentRow(file, segment)
    const known = file.row<{ known: number }>('select known from segments where id = ?', id)?.known ?? 0
    if (segment.size <= known) return
    let next = known
    for (const line of this.segments.read(segment.name, known)) {
      const parsed = line.text.trim() === '' ? undefined : readLine(line.text)
      if (parsed && 'newer' in parsed)
        throw new AppError('memory_newer', {
          file: join(this.folder, 'log', segment.name),
          found: parsed.newer,
          known: MEMORY_SCHEMA,
        })
      if (parsed && 'record' in parsed)
        file.run('insert or ignore into ids values (?, ?, ?, ?)', parsed.record.id, id, line.at, parsed.record.kind)
      next = line.next
    }
    file.run('update segments set known = ? where id = ?', next, id)
  }

  #nextToApply(): { id: number; name: string; applied: number; known: number } | undefined {
    return this.#current().row(
      'select id, name, applied, known from segments where applied < known order by id limit 1',
    )
  }

  /** Applies the next lines of one segment. The lines and how far they go are stored together. */
  #applyBatch(): void {
    const file = this.#current()
    file.transaction(() => {
      const segment = this.#nextToApply()
      if (!segment) return
      const records: MemoryRecord[] = []
      let next = segment.applied
      for (const line of this.segments.read(segment.name, segment.applied)) {
        if (line.at >= segment.known || records.length >= BATCH) break
        const parsed = line.text.trim() === '' ? undefined : readLine(line.text)
        if (parsed && 'record' in parsed) records.push(parsed.record)
        else if (parsed && 'problem' in parsed)
          file.run('insert or ignore into damage values (?, ?, ?)', segment.name, line.at, parsed.problem)
        next = line.next
      }
      file.apply(records)
      file.run(
        'update segments set applied = ? where id = ?',
        next === segment.applied ? segment.known : next,
        segment.id,
      )
    })
  }
}

/** Opens the memory of an installation. The caller disposes it. @public */
export function openMemory({ memory }: Pick<AppPaths, 'memory'>): MemoryBroker {
  return new MemoryBroker(memory)
}

/** Records are applied so many at a time: some milliseconds. */
const BATCH = 500
/** As long as an edit of a large segment takes. */
const LOCK_WAIT_MS = 5_000

/** The most authority that a writer can give. A person's answer that the daemon records is the person's. */
const MOST_AUTHORITY: Record<MemoryRecord['actor'], Authority> = {
  person: 'person',
  daemon: 'gate',
  hook: 'gate',
  agent: 'agent',
}

/** Whether one authority is more than another. */
function isHigher(one: Authority, other: Authority): boolean {
  return AUTHORITIES.indexOf(one) < AUTHORITIES.indexOf(other)
}

/** What may be a secret. One look at the whole line is cheap; only a line that has one of these is read word by word. */
const MAYBE_SECRET =
  /sk-|[sr]k_|whsec_|gh[pousr]_|github_pat_|glpat-|xox|npm_|AIza|AKIA|:AA|PRIVATE KEY|bearer|basic|TOKEN|SECRET|PASSWORD|API_?KEY|AUTH/i

interface Line {
  id: string
  kind: RecordKind
  key: string
  text: string
}

/** The line of a record, checked and without secrets, or why it is none. */
function lineOf(given: MemoryRecord, hidden: readonly string[]): Line | { problem: string } {
  const first = JSON.stringify(given)
  const isSuspect = hidden.length > 0 || MAYBE_SECRET.test(first)
  const parsed = MemoryRecord.safeParse(isSuspect ? redact(given, hidden) : given)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return { problem: `${issue?.path.join('.') || 'record'}: ${issue?.message ?? 'not valid'}` }
  }
  const record = parsed.data
  if (isHigher(record.authority, MOST_AUTHORITY[record.actor]))
    return { problem: `authority: ${record.authority} is more than the ${record.actor} has` }
  const text = JSON.stringify(record)
  if (Buffer.byteLength(text) > MOST_LINE_BYTES) return { problem: `it is longer than ${MOST_LINE_BYTES} bytes` }
  return { id: record.id, kind: record.kind, key: segmentKey(record), text }
}

function readLine(text: string): { record: MemoryRecord } | { newer: number } | { problem: string } {
  const value = parseJson(text)
  const version = (value as { schema_version?: unknown } | undefined)?.schema_version
  if (typeof version === 'number' && version > MEMORY_SCHEMA) return { newer: version }
  const parsed = MemoryRecord.safeParse(value)
  if (parsed.success) return { record: parsed.data }
  return { problem: value === undefined ? 'the line is cut short or damaged' : 'it is no record' }
}

function segmentRow(file: MemoryFile, { name, key, number }: Omit<Segment, 'size'>): number {
  const row = file.row<{ id: number }>('select id from segments where name = ?', name)
  return (
    row?.id ??
    file.run('insert into segments (name, key, number, known, applied) values (?, ?, ?, 0, 0)', name, key, number)
  )
}

/** On a disk that cannot be written there is no lock, and the derived file is read as it is. */
function openFiles(folder: string): { lock: DatabaseSync | undefined; file: MemoryFile } {
  const path = join(folder, 'memory.db')
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const lockFile = join(folder, 'lock.db')
    makePrivate(lockFile)
    const lock = new DatabaseSync(lockFile, { timeout: LOCK_WAIT_MS })
    lock.exec('begin immediate')
    try {
      return { lock, file: new MemoryFile(path) }
    } finally {
      lock.exec('rollback')
    }
  } catch (error) {
    if (!isReadOnly(error)) throw unwritable(folder, error)
    try {
      return { lock: undefined, file: new MemoryFile(path, { isFixed: true }) }
    } catch {
      throw unwritable(folder, error)
    }
  }
}

function isReadOnly(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return ['EROFS', 'EACCES', 'EPERM'].includes(code ?? '') || [8, 14].includes(sqliteCode(error) ?? -1)
}

function unwritable(folder: string, error: unknown): AppError {
  return new AppError('memory_unwritable', { folder, problem: messageOf(error) }, error)
}

/** A folder of another user is never used: with `sudo`, it would then hold files that its owner cannot write. */
function refuseForeign(folder: string): void {
  const stats = statSync(folder, { throwIfNoEntry: false })
  if (stats && stats.uid !== process.getuid?.()) throw new AppError('memory_foreign', { folder })
}
