import { randomBytes } from 'node:crypto'
import { DAY_MS } from '../base/clock.ts'
import { crashPoint } from '../base/crash-point.ts'
import { isObject, parseJson } from '../base/json.ts'
import { ITEM_KINDS, type MemoryItem, type MemoryRecord } from '../domain/memory.ts'
import type { MemoryBroker } from './broker.ts'
import { EXPIRING, type MemoryFiles, noteOldest } from './derive.ts'
import { erase } from './forget.ts'
import { recalibrate } from './learn/importance.ts'
import { readLine } from './lines.ts'

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
  phase: 'retention' | 'items' | 'tiers'
  /** The segment or the item that was looked at last. */
  after: string
}

/**
 * Does a slice of the work that keeps memory small and ordered, about 50 ms of it: stores what hooks left in the outbox, derives what is new, and
 * once a day removes expired records and calibrates the importance and the tier of every item. It needs no daemon: a hook may call it.
 *
 * One process does it at a time, under a lease that ends with its time. How far it is stands beside what it did, so that the next call, in
 * this process or another, goes on there.
 */
export function maintain(memory: MemoryBroker, { now, retentionDays, withinMs = 40 }: MaintainOptions): MaintainResult {
  const until = performance.now() + withinMs
  const result: MaintainResult = { isDone: false, removed: 0, recalibrated: 0 }
  if (!memory.isWritable) return { ...result, isDone: true }
  while (memory.drainOutbox()) if (performance.now() >= until) return result
  if (!memory.catchUp({ withinMs: until - performance.now() })) return result
  if (!erase(memory, { withinMs: until - performance.now() })) return result
  const owner = memory.exclusive(parts => takeLease(parts, now))
  if (owner === undefined) return { ...result, isDone: true }
  // A step is begun if there is time for one as long as the last.
  for (let [begun, took] = [performance.now(), 0]; begun + took < until && !result.isDone; ) {
    result.isDone = memory.exclusive(parts => doStep(parts, { now, retentionDays, result }))
    took = performance.now() - begun
    begun += took
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
function doStep(parts: MemoryFiles, step: Step): boolean {
  const { file } = parts
  const found = parseJson(file.readMeta('progress') ?? '')
  const progress = (isObject(found) ? found : { phase: 'retention', after: '' }) as unknown as Progress
  const next = PHASES[progress.phase](parts, progress, step)
  file.transaction(() => {
    if (next) file.writeMeta('progress', JSON.stringify(next))
    else {
      file.run('delete from meta where name = ?', 'progress')
      file.writeMeta('maintained_at', String(step.now))
    }
  })
  return next === undefined
}

type Step = MaintainOptions & { result: MaintainResult }

const PHASES: Record<Progress['phase'], (parts: MemoryFiles, at: Progress, step: Step) => Progress | undefined> = {
  retention: expireSegment,
  items: expireItems,
  tiers: calibrateItems,
}

/**
 * Takes expired records out of the next segment that has some. A person's facts, procedures and all that is not an event of its own never
 * expire; all records of a session do.
 */
function expireSegment(parts: MemoryFiles, { after }: Progress, step: Step): Progress {
  const { file, segments, upgrades } = parts
  const before = expiryTime(parts, step)
  const segment = file.row<{ id: number; name: string }>(
    'select id, name from segments where oldest < ? and name > ? order by name limit 1',
    ...[before, after],
  )
  if (!segment) return { phase: 'items', after: '' }
  const next: Progress = { phase: 'retention', after: segment.name }
  if (!segments.has(segment.name)) return next
  const gone: string[] = []
  const stays = (line: string) => {
    // Most lines may be young, and this tells so in a fraction of the time.
    if (Number(/^\{"id":"[\w-]+","time":(\d+)/.exec(line)?.[1]) >= before) return true
    const read = readLine(line, upgrades)
    if (!('record' in read) || !expires(read.record) || read.record.time >= before) return true
    gone.push(read.record.id)
    return false
  }
  // While this is noted, whoever finds that the process was killed derives everything anew.
  file.transaction(() => file.writeMeta('rewriting', segment.name))
  const { removed } = segments.rewrite(segment.name, stays)
  crashPoint('memory.after-rewrite')
  file.transaction(() => {
    for (const id of gone) file.run('delete from ids where id = ? and segment = ?', id, segment.id)
    notePlaces(parts, segment)
    file.run('delete from meta where name = ?', 'rewriting')
  })
  step.result.removed += removed
  return next
}

/** What is older expires. A clock that is far ahead of the newest item may be wrong, and is not believed. */
function expiryTime({ file }: MemoryFiles, { now, retentionDays }: MaintainOptions): number {
  const newestOf = (kind: string) =>
    // By an index; the newest of all kinds together would be looked for among all items.
    file.row<{ at: number | null }>('select max(updated_at) as at from items where kind = ?', kind)?.at ?? 0
  const newest = Math.max(...ITEM_KINDS.map(newestOf)) || now
  return Math.min(now, newest + PLAUSIBLE_MS) - retentionDays * DAY_MS
}

function expires({ kind, scope }: MemoryRecord): boolean {
  return scope === 'session' || EXPIRING.includes(kind)
}

/** Notes where the lines of a segment are now. */
function notePlaces({ file, segments, upgrades }: MemoryFiles, { id, name }: { id: number; name: string }): void {
  file.run('delete from odd where segment = ?', id)
  let end = 0
  const seen = new Map<string, MemoryRecord>()
  for (const line of segments.has(name) ? segments.read(name) : []) {
    end = line.next
    const read = readLine(line.text, upgrades)
    if (!('record' in read)) continue
    const { record } = read
    const isHere = file.row('select 1 from ids where id = ? and segment = ?', record.id, id) !== undefined
    if (isHere && !seen.has(record.id)) file.run('update ids set at = ? where id = ?', line.at, record.id)
    else file.noteOdd(id, line.at)
    seen.set(record.id, record)
  }
  if (end === 0) file.run('delete from segments where id = ?', id)
  else file.run('update segments set known = ?, applied = ?, oldest = null where id = ?', end, end, id)
  noteOldest(file, id, [...seen.values()])
}

/** Removes items that rest on nothing newer than what expired, a handful at a time. */
function expireItems(parts: MemoryFiles, { after }: Progress, step: Step): Progress {
  const { file } = parts
  const rows = file.rows<{ id: string }>(
    `select id from items where (kind = 'episode' or scope = 'session') and updated_at < ? limit ?`,
    expiryTime(parts, step),
    HANDFUL,
  )
  file.transaction(() => {
    for (const { id } of rows) file.removeItem(id)
  })
  return rows.length === 0 ? { phase: 'tiers', after: '' } : { phase: 'items', after }
}

/** Items that are removed or calibrated in one transaction: about a millisecond. */
const HANDFUL = 50
const LEAST_CHANGE = 0.02

function calibrateItems({ file }: MemoryFiles, { after }: Progress, { now, result }: Step): Progress | undefined {
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
