import { randomBytes } from 'node:crypto'
import { crashPoint } from '../base/crash-point.ts'
import { isObject, parseJson } from '../base/json.ts'
import type { MemoryItem, MemoryRecord } from '../domain/memory.ts'
import type { MemoryBroker } from './broker.ts'
import { type MemoryFiles, noteId } from './derive.ts'
import { erase } from './forget.ts'
import { recalibrate } from './learn/importance.ts'
import { readLine } from './lines.ts'

const DAY_MS = 24 * 60 * 60_000
/** A round begins so long after the last one ended. */
const ROUND_MS = DAY_MS
/** Who holds the lease and says nothing for so long has died. */
const LEASE_MS = 60_000
/** A clock that is further ahead of the last record than this may be wrong: nothing is removed because of it. */
const PLAUSIBLE_MS = 7 * DAY_MS

export interface MaintainOptions {
  now: number
  /** `data.episode_retention_days` */
  retentionDays: number
  /** The longest that one call works, apart from one segment that has to be written anew. */
  withinMs?: number
}

/** What one call has done. `isDone`: nothing is left to do until the next round is due. */
export interface MaintainResult {
  isDone: boolean
  removed: number
  recalibrated: number
}

interface Progress {
  phase: 'retention' | 'tiers'
  /** The segment or the item that was looked at last. */
  after: string
}

/**
 * Does a slice of the work that keeps memory small and ordered, at most 50 ms of it: stores what hooks left in the outbox, derives what is new, and
 * once a day removes expired records and calibrates the importance and the tier of every item. It needs no daemon: a hook may call it.
 *
 * One process does it at a time, under a lease that ends with its time. How far it is stands beside what it did, so that the next call, in
 * this process or another, goes on there.
 */
export function maintain(memory: MemoryBroker, { now, retentionDays, withinMs = 50 }: MaintainOptions): MaintainResult {
  const until = performance.now() + withinMs
  const result: MaintainResult = { isDone: false, removed: 0, recalibrated: 0 }
  if (!memory.isWritable) return { ...result, isDone: true }
  while (memory.drainOutbox()) if (performance.now() >= until) return result
  if (!memory.catchUp({ withinMs: until - performance.now() })) return result
  if (!erase(memory, { withinMs: until - performance.now() })) return result
  const owner = memory.exclusive(parts => takeLease(parts, now))
  if (owner === undefined) return { ...result, isDone: true }
  while (performance.now() < until) {
    const isOver = memory.exclusive(parts => doStep(parts, { now, retentionDays, result }))
    if (!isOver) continue
    result.isDone = true
    break
  }
  memory.exclusive(({ file }) => file.transaction(() => file.run('delete from meta where name = ?', 'lease')))
  return result
}

/** Undefined if somebody else is at it, or the next round is not due. */
function takeLease({ file }: MemoryFiles, now: number): string | undefined {
  const last = Number(file.readMeta('maintained_at') ?? 0)
  // A time in the future was written by a wrong clock.
  const isDue = last > now || now - last >= ROUND_MS
  const lease = parseJson(file.readMeta('lease') ?? '')
  const until = isObject(lease) ? Number(lease['until']) : 0
  const isHeld = until > now && until <= now + LEASE_MS
  if (!isDue || isHeld) return undefined
  const owner = randomBytes(6).toString('hex')
  file.transaction(() => file.writeMeta('lease', JSON.stringify({ owner, until: now + LEASE_MS })))
  return owner
}

/** One segment, or a handful of items. Returns true at the end of the round. */
function doStep(parts: MemoryFiles, step: MaintainOptions & { result: MaintainResult }): boolean {
  const { file } = parts
  const found = parseJson(file.readMeta('progress') ?? '')
  const progress = (isObject(found) ? found : { phase: 'retention', after: '' }) as unknown as Progress
  const next =
    progress.phase === 'retention' ? expireSegment(parts, progress, step) : calibrateItems(parts, progress, step)
  file.transaction(() => {
    if (next) file.writeMeta('progress', JSON.stringify(next))
    else {
      file.run('delete from meta where name = ?', 'progress')
      file.writeMeta('maintained_at', String(step.now))
    }
  })
  return next === undefined
}

/**
 * Takes expired records out of the next segment, and the items that rest on nothing newer. A person's facts, procedures and all that is not
 * an event of its own never expire; all records of a session do.
 */
function expireSegment(
  parts: MemoryFiles,
  { after }: Progress,
  { now, retentionDays, result }: MaintainOptions & { result: MaintainResult },
): Progress {
  const { file, segments, upgrades } = parts
  const newest = file.row<{ at: number | null }>('select max(updated_at) as at from items')?.at ?? now
  const before = Math.min(now, newest + PLAUSIBLE_MS) - retentionDays * DAY_MS
  // The ids tell which segments have something that expired: most have nothing, and none is read for that.
  const segment = file.row<{ name: string }>(
    `select min(s.name) as name from ids join segments s on s.id = ids.segment
     where ids.time < ? and s.name > ? and (ids.kind in ('episode', 'recall', 'result') or s.key like 'session%')
     having min(s.name) is not null`,
    ...[before, after],
  )
  if (!segment) return { phase: 'tiers', after: '' }
  const isExpired = (line: string) => {
    // Most lines may be young, and this tells so in a fraction of the time.
    if (Number(/^\{"id":"[\w-]+","time":(\d+)/.exec(line)?.[1]) >= before) return false
    const read = line === '' ? undefined : readLine(line, upgrades)
    return read !== undefined && 'record' in read && expires(read.record) && read.record.time < before
  }
  const next: Progress = { phase: 'retention', after: segment.name }
  if (!segments.has(segment.name)) return next
  // While this is noted, whoever finds that the process was killed derives everything anew.
  file.transaction(() => file.writeMeta('rewriting', segment.name))
  const { removed } = segments.rewrite(segment.name, line => !isExpired(line))
  crashPoint('memory.after-rewrite')
  file.transaction(() => {
    forgetExpired(parts, segment.name)
    const old = `select id from items where (kind = 'episode' or scope = 'session') and updated_at < ?`
    for (const { id } of file.rows<{ id: string }>(old, before)) file.removeItem(id)
    file.run('delete from meta where name = ?', 'rewriting')
  })
  result.removed += removed
  return next
}

function expires({ kind, scope }: MemoryRecord): boolean {
  return scope === 'session' || kind === 'episode' || kind === 'recall' || kind === 'result'
}

/** Notes where the lines of a segment are now. */
function forgetExpired({ file, segments, upgrades }: MemoryFiles, name: string): void {
  const row = file.row<{ id: number }>('select id from segments where name = ?', name)
  if (!row) return
  file.run('delete from ids where segment = ?', row.id)
  file.run('delete from odd where segment = ?', row.id)
  let end = 0
  for (const line of segments.has(name) ? segments.read(name) : []) {
    const read = readLine(line.text, upgrades)
    if ('record' in read) noteId(file, row.id, { at: line.at, record: read.record })
    end = line.next
  }
  if (end === 0) file.run('delete from segments where id = ?', row.id)
  else file.run('update segments set known = ?, applied = ? where id = ?', end, end, row.id)
}

/** Items that are calibrated in one transaction: about a millisecond. */
const HANDFUL = 50
const LEAST_CHANGE = 0.02

function calibrateItems(
  { file }: MemoryFiles,
  { after }: Progress,
  { now, result }: MaintainOptions & { result: MaintainResult },
): Progress | undefined {
  const rows = file.rows<{ id: string; body: string }>(
    'select id, body from items where id > ? order by id limit ?',
    after,
    HANDFUL,
  )
  const policy = file.policy()
  file.transaction(() => {
    for (const { body } of rows) {
      const item = JSON.parse(body) as MemoryItem
      const calibrated = recalibrate(item, { now, policy, use: file.countUses(item.id) })
      // Time alone changes a little of all of them each day, which is not worth writing them.
      const isSame = Math.abs(calibrated.importance - item.importance) < LEAST_CHANGE
      if (calibrated.tier === item.tier && isSame) continue
      file.putItem(calibrated)
      result.recalibrated += 1
    }
  })
  const last = rows.at(-1)
  return last && { phase: 'tiers', after: last.id }
}
