import { mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { AppPaths } from '../base/app-paths.ts'
import { AppError, messageOf } from '../base/errors.ts'
import { makePrivate } from '../base/files.ts'
import {
  type MemoryItem,
  type MemoryReader,
  type MemoryRecord,
  mayReadMemory,
  type RecordOf,
} from '../domain/memory.ts'
import { removeDerivedFile } from '../store/derived-file.ts'
import { SQLITE_BUSY, sqliteCode } from '../store/sqlite-errors.ts'
import { appendLines, applyNext, hasMore, type MemoryFiles, readAllIds } from './derive.ts'
import { finishForgetting, isForgetting, readForgotten } from './forgotten.ts'
import type { PolicyValues } from './learn/policy.ts'
import { type Line, readLine, UPGRADES, type Upgrades, writeLine } from './lines.ts'
import { type ItemQuery, MemoryFile, WITHOUT_ITEM } from './memory-file.ts'
import { memoryOutbox, readPosted } from './outbox.ts'
import type { RankedItem } from './rank-items.ts'
import { Segments } from './segments.ts'

/** What became of written records. Those that are stored or were known are on disk: they outlive a kill of every process. */
export interface WriteResult {
  stored: string[]
  /** The same id was stored before, or was forgotten. */
  known: string[]
  refused: { id: string; problem: string }[]
}

export interface BrokerOptions {
  /** The size at which a segment gets no more lines. */
  rotateBytes?: number
  /** How lines of older versions are read. */
  upgrades?: Upgrades
  /** How long to wait, at a standstill, for another process that writes. */
  lockWaitMs?: number
  /** Reads what is derived and waits for nobody; throws if nothing is. */
  onlyReads?: boolean
}

/** The longest that a read waits for what is new to be derived. What is not derived by then is found by a later one. */
const DERIVE_MS = 50
/** More records of one kind are not read at once. */
const MOST_RECORDS = 10_000
/** Longer than anybody holds the lock. */
const LOCK_WAIT_MS = 5_000

/**
 * The one way to write and read memory. Any number of processes may have one on the same folder: one writes at a time.
 *
 * The log is the truth; `memory.db` follows from it and is caught up, or made again, whenever it is behind. `write` puts records into the
 * log and their ids into the file; what follows from them is derived by the next read, or by `catchUp`.
 *
 *     using memory = openMemory(paths)
 *     memory.write([newRecord({ kind: 'fact', … })])
 *     memory.find({ reader, text: 'how are migrations run?', kinds: ['fact'] })
 */
export class MemoryBroker implements Disposable {
  readonly folder: string
  /** False on a disk that cannot be written: memory can still be read. */
  readonly isWritable: boolean
  readonly #segments: Segments
  readonly #upgrades: Upgrades
  readonly #lock: DatabaseSync | undefined
  #file: MemoryFile
  #isLocked = false
  readonly #busyMs: number

  constructor(
    folder: string,
    { rotateBytes, upgrades = UPGRADES, lockWaitMs = LOCK_WAIT_MS, onlyReads = false }: BrokerOptions = {},
  ) {
    refuseForeign(folder)
    this.folder = folder
    this.#upgrades = upgrades
    this.#segments = new Segments(join(folder, 'log'), rotateBytes)
    this.#busyMs = lockWaitMs
    const opened = onlyReads ? openToRead(folder, lockWaitMs) : openFiles(folder, lockWaitMs)
    this.#lock = opened.lock
    this.#file = opened.file
    this.isWritable = opened.lock !== undefined
    try {
      if (this.isWritable) this.#exclusively(() => this.#compare())
    } catch (error) {
      this[Symbol.dispose]()
      throw error
    }
  }

  /**
   * Stores records: each once, by its id. A record that is not valid, too long, or claims more authority than its actor has, is refused;
   * the others are stored. Throws where nothing can be written; then the same call can be made again, and nothing is stored twice.
   */
  write(records: readonly MemoryRecord[], { hidden = [] }: { hidden?: readonly string[] } = {}): WriteResult {
    const result: WriteResult = { stored: [], known: [], refused: [] }
    const byKey = new Map<string, Map<string, Line>>()
    for (const record of records) {
      const line = writeLine(record, hidden)
      if ('problem' in line) result.refused.push({ id: String(record.id), problem: line.problem })
      else byKey.set(line.key, (byKey.get(line.key) ?? new Map<string, Line>()).set(line.id, line))
    }
    if (byKey.size === 0) return result
    this.exclusive(parts =>
      parts.file.transaction(() => {
        for (const [key, lines] of byKey) {
          const { stored, known } = appendLines(parts, key, lines)
          result.stored.push(...stored)
          result.known.push(...known)
        }
      }),
    )
    return result
  }

  /** Items that a reader may see. */
  find(query: ItemQuery): RankedItem[] {
    this.catchUp({ withinMs: DERIVE_MS })
    return this.#current().find(query)
  }

  /** One item; undefined if there is none, or the reader may not see it. */
  item(id: string, reader: MemoryReader): MemoryItem | undefined {
    this.catchUp({ withinMs: DERIVE_MS })
    const item = this.#current().item(id)
    return item && mayReadMemory(item, reader) ? item : undefined
  }

  /** One record of the log. */
  record(id: string, reader: MemoryReader): MemoryRecord | undefined {
    return this.#readAt('ids.id = ?', id).find(record => mayReadMemory(record, reader))
  }

  /** The newest records that make no item, the oldest of them first: what was recalled, how tasks ended, what was moved, changed thresholds. */
  records<Kind extends 'recall' | 'result' | 'move' | 'policy'>(
    kind: Kind,
    reader: MemoryReader,
    { since = Number.MIN_SAFE_INTEGER, most = MOST_RECORDS } = {},
  ): RecordOf<Kind>[] {
    const where = `${WITHOUT_ITEM} and ids.kind = ? and ids.time >= ? order by ids.time desc limit ?`
    const found = this.#readAt(where, kind, since, most)
    return found.toReversed().filter((record): record is RecordOf<Kind> => mayReadMemory(record, reader))
  }

  /** The facts of projects that speak of files, also those whose files have changed; the newest first. */
  factsWithFiles(projects: readonly string[]): MemoryItem[] {
    this.catchUp({ withinMs: DERIVE_MS })
    return this.#current().factsWithFiles(projects)
  }

  /** Thresholds and weights as policy records for everybody have set them. */
  policy(): PolicyValues {
    this.catchUp({ withinMs: DERIVE_MS })
    return this.#current().policy()
  }

  /** Derives what follows from new records, for about `withinMs`. Returns false while there is more to do, or another process writes. */
  catchUp({ withinMs = Number.POSITIVE_INFINITY } = {}): boolean {
    if (!this.isWritable) return true
    const until = performance.now() + withinMs
    const isLarge = withinMs === Number.POSITIVE_INFINITY
    // Another batch is begun if there is time for one as long as the last.
    for (let [begun, took] = [performance.now(), 0]; hasMore(this.#current()); ) {
      if (begun + took >= until) return false
      try {
        this.exclusive(parts => applyNext(parts, { isLarge }))
      } catch (error) {
        if (sqliteCode(error) === SQLITE_BUSY) return false
        throw error
      }
      took = performance.now() - begun
      begun += took
    }
    return true
  }

  /** Stores the next lines that hooks wrote while no daemon was there. Returns false if nothing is left. */
  drainOutbox(): boolean {
    const slice = memoryOutbox(this.folder).next()
    if (!slice) return false
    this.write(readPosted(slice.lines, Date.now()))
    slice.done()
    return true
  }

  /** Throws away all that is derived, and begins to derive it again; `catchUp` does the rest. */
  rebuild(): void {
    this.exclusive(() => this.#startAnew())
  }

  /** Runs while no other process writes, with the log and the derived file. The lock is the kernel's: it ends with the process that holds it. */
  exclusive<T>(work: (parts: MemoryFiles) => T): T {
    return this.#exclusively(() => work(this.#parts(this.#current())))
  }

  /** Runs with the log and the derived file, for reading only. */
  inspect<T>(work: (parts: MemoryFiles) => T): T {
    return work(this.#parts(this.#current()))
  }

  [Symbol.dispose](): void {
    this.#file.close()
    if (this.#lock?.isOpen) this.#lock.close()
  }

  #exclusively<T>(work: () => T): T {
    if (!this.#lock) throw new AppError('memory_unwritable', { folder: this.folder, problem: 'the disk is read-only' })
    if (this.#isLocked) return work()
    try {
      this.#lock.exec('begin immediate')
      this.#isLocked = true
      if (isForgetting(this.folder)) finishForgetting(this.folder, this.#parts(this.#current()))
      return work()
    } catch (error) {
      throw error instanceof AppError ? error : unwritable(this.folder, error)
    } finally {
      if (this.#isLocked) this.#lock.exec('rollback')
      this.#isLocked = false
    }
  }

  #parts(file: MemoryFile): MemoryFiles {
    return { segments: this.#segments, file, upgrades: this.#upgrades }
  }

  /** The derived file; opened again if somebody removed it. */
  #current(): MemoryFile {
    if (!this.isWritable || !this.#file.isLost) return this.#file
    // Under the lock: whoever removes the file also removes what belongs to it, and must not remove ours.
    this.#exclusively(() => {
      this.#file.close()
      this.#file = this.#openFile()
      this.#compare()
    })
    return this.#file
  }

  /** Learns the ids of what others wrote. */
  #compare(): void {
    if (!this.#readIds()) this.#startAnew()
  }

  #openFile(): MemoryFile {
    return new MemoryFile(join(this.folder, 'memory.db'), { busyMs: this.#busyMs })
  }

  #startAnew(): void {
    this.#file.close()
    removeDerivedFile(this.#file.path)
    this.#file = this.#openFile()
    this.#readIds()
  }

  #readIds(): boolean {
    const file = this.#file
    let isOurs = false
    file.transaction(() => {
      readForgotten(this.folder, file)
      isOurs = readAllIds(this.#parts(file))
    })
    return isOurs
  }

  #readAt(where: string, ...values: (string | number)[]): MemoryRecord[] {
    const places = this.#current().rows<{ name: string; at: number }>(
      `select s.name, ids.at from ids join segments s on s.id = ids.segment where ${where}`,
      ...values,
    )
    return places.flatMap(({ name, at }) => {
      const read = readLine(this.#segments.lineAt(name, at) ?? '', this.#upgrades)
      return 'record' in read ? [read.record] : []
    })
  }
}

/** Opens the memory of an installation. The caller disposes it. */
export function openMemory({ memory }: Pick<AppPaths, 'memory'>, options?: BrokerOptions): MemoryBroker {
  return new MemoryBroker(memory, options)
}

/** On a disk that cannot be written there is no lock, and the derived file is read as it is. */
function openFiles(folder: string, lockWaitMs: number): { lock: DatabaseSync | undefined; file: MemoryFile } {
  const path = join(folder, 'memory.db')
  let lock: DatabaseSync | undefined
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const lockFile = join(folder, 'lock.db')
    makePrivate(lockFile)
    lock = new DatabaseSync(lockFile, { timeout: lockWaitMs })
    lock.exec('begin immediate')
    const file = new MemoryFile(path, { busyMs: lockWaitMs })
    lock.exec('rollback')
    return { lock, file }
  } catch (error) {
    lock?.close()
    if (!isReadOnly(error)) throw unwritable(folder, error)
    try {
      return { lock: undefined, file: new MemoryFile(path, { isFixed: true }) }
    } catch {
      throw unwritable(folder, error)
    }
  }
}

function openToRead(folder: string, busyMs: number): { lock: undefined; file: MemoryFile } {
  return { lock: undefined, file: new MemoryFile(join(folder, 'memory.db'), { isOnlyRead: true, busyMs }) }
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
  for (let path = folder; ; path = dirname(path)) {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (!stats && dirname(path) !== path) continue
    // A folder that everybody may make folders in, such as /tmp, is nobody's.
    const isShared = stats !== undefined && (stats.mode & 0o1002) === 0o1002
    const isOurs = stats === undefined || stats.uid === process.getuid?.()
    if (!isOurs && !(isShared && path !== folder)) throw new AppError('memory_foreign', { folder })
    return
  }
}
