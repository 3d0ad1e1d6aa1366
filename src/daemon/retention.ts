import { existsSync, readFileSync, rmSync } from 'node:fs'
import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as pause } from 'node:timers/promises'
import type { AppPaths } from '../base/app-paths.ts'
import { type Clock, DAY_MS, HOUR_MS, systemClock } from '../base/clock.ts'
import { replaceFile } from '../base/files.ts'
import type { Log } from '../base/log.ts'
import { loadConfig } from '../domain/config/load.ts'
import { isFinal } from '../domain/session-end.ts'
import type { Store } from '../store/store.ts'
import type { SessionRow } from '../store/tables.ts'
import { KEPT_FOLDERS } from '../supervisor/hooks/kept-texts.ts'
import { readWorktreeDeps } from './context.ts'

export interface Retention {
  paths: AppPaths
  env: Record<string, string | undefined>
  store: Store
  log: Log
  clock?: Clock
}

const PRUNE_EVERY_MS = 24 * HOUR_MS

/** Removes expired data now and once a day, by the settings of that moment. Disposing waits for the round that is under way. */
export function startRetention(deps: Retention): AsyncDisposable {
  const stopping = new AbortController()
  const prune = () =>
    pruneOnce(deps, stopping.signal).catch(error => deps.log.warn({ error }, 'could not prune old data'))
  let latest = prune()
  const timer = setInterval(() => {
    latest = prune()
  }, PRUNE_EVERY_MS)
  timer.unref()
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      stopping.abort()
      await latest
    },
  }
}

/** One round of pruning. Nothing is removed while the clock cannot be trusted. */
export async function pruneOnce(deps: Retention, signal: AbortSignal): Promise<void> {
  const { paths, env, store, log, clock = systemClock } = deps
  const now = clock.now()
  const gapMs = await measureGap(now, store)
  if (!isClockTrusted(join(paths.run, 'clock-doubted'), { now, gapMs })) {
    log.warn({ now, gap_ms: gapMs }, 'the clock is far ahead of the last write: nothing is removed for its age')
    return
  }
  const { data, logs } = (await loadConfig({ paths, env })).config
  const checkpoints = await pruneCheckpoints({
    paths,
    store,
    now,
    days: data.checkpoint_retention_days,
    maxMb: data.max_checkpoints_mb,
  })
  const events = await pruneEvents({
    store,
    now,
    signal,
    days: data.event_retention_days,
    maxMb: data.max_events_mb,
  })
  const files = (await pruneLogs(paths.logs, { days: logs.keep_days, now })) + (await pruneHookFiles(paths.run, now))
  const worktrees = await archiveOldWorktrees({ paths, env, store, log, clock, signal })
  const records = await pruneMemory({ paths, retentionDays: data.episode_retention_days, now, signal })
  if (checkpoints + events + files + worktrees + records > 0) {
    log.info({ checkpoints, events, files, worktrees, records }, 'old data removed')
  }
}

/** Removes expired records and calibrates what memory knows, in slices between which other work goes on. Returns how many were removed. */
export async function pruneMemory({
  paths,
  signal,
  ...upkeep
}: {
  paths: Pick<AppPaths, 'memory'>
  retentionDays: number
  now: number
  signal: AbortSignal
}): Promise<number> {
  if (!existsSync(paths.memory)) return 0
  const [{ openMemory }, { maintain }] = await Promise.all([
    import('../memory/broker.ts'),
    import('../memory/maintain.ts'),
  ])
  using memory = openMemory(paths)
  let removed = 0
  for (let isDone = false; !isDone && !signal.aborted; await pause()) {
    const slice = maintain(memory, upkeep)
    removed += slice.removed
    isDone = slice.isDone
  }
  return removed
}

/**
 * The time from the last write that is at least a day old until a day ago. Newer writes prove nothing, because their times may
 * come from the same wrong clock. A daemon that has run for a day by a clock that nobody set needs no proof: the gap is 0.
 */
async function measureGap(now: number, store: Store): Promise<number> {
  const upMs = performance.now()
  const isSteady = Math.abs(now - performance.timeOrigin - upMs) < HOUR_MS
  if (isSteady && upMs >= APART_MS) return 0
  const earlier = now - APART_MS
  return earlier - ((await store.pruning.newestBefore(earlier)) ?? earlier)
}

/** A machine may be off for a week. */
const PLAUSIBLE_MS = 7 * DAY_MS
/** "A day apart", with room for a daily round that comes a little early. */
const APART_MS = 20 * 60 * 60_000

interface ClockEvidence {
  now: number
  /** From the last write that is at least a day old until a day ago. */
  gapMs: number
  /** When the clock was first doubted. */
  doubtedAt: number | undefined
}

/**
 * Whether things may be removed for their age. A clock that was set a year ahead makes everything look old, so a clock that is
 * far ahead of the last write is trusted only if it still is a day later.
 */
export function canTrustClock({ now, gapMs, doubtedAt }: ClockEvidence): boolean {
  if (gapMs <= PLAUSIBLE_MS) return true
  if (doubtedAt === undefined) return false
  const sinceMs = now - doubtedAt
  return sinceMs >= APART_MS && sinceMs <= PLAUSIBLE_MS
}

/** Remembers across restarts that the clock was doubted, so that a second check a day later can trust it. */
function isClockTrusted(file: string, { now, gapMs }: Omit<ClockEvidence, 'doubtedAt'>): boolean {
  const doubtedAt = readDoubt(file)
  const isTrusted = canTrustClock({ now, gapMs, doubtedAt })
  if (isTrusted) rmSync(file, { force: true })
  // An earlier doubt that does not fit the clock of now (it was set once more) is replaced by a new one.
  else if (doubtedAt === undefined || now < doubtedAt || now - doubtedAt > PLAUSIBLE_MS) replaceFile(file, String(now))
  return isTrusted
}

function readDoubt(file: string): number | undefined {
  try {
    const at = Number(readFileSync(file, 'utf8'))
    return at > 0 ? at : undefined
  } catch {
    return undefined // the clock was not doubted
  }
}

const MB = 1024 * 1024

export interface PruneEvents {
  store: Store
  days: number
  maxMb: number
  now: number
  signal: AbortSignal
}

/**
 * Removes events of finished sessions: expired ones, and, while the database is too large, all events of the sessions that
 * finished first. A session that can still resume, has an open escalation, or worked on a feature that is not ready, keeps all
 * its events.
 */
async function pruneEvents({ store, days, maxMb, now, signal }: PruneEvents): Promise<number> {
  const finished = await findFinishedSessions(store)
  const before = now - days * DAY_MS
  let removed = await store.pruning.prune('daemon', before, signal)
  for (const { id } of finished) removed += await store.pruning.prune(id, before, signal)
  for (const { id } of await store.observed.list()) removed += await store.pruning.prune(id, before, signal)
  await store.observed.forgetIds(before)
  for (const { id } of finished) {
    if (signal.aborted || (await store.pruning.usedBytes()) <= maxMb * MB) break
    removed += await store.pruning.prune(id, now, signal)
  }
  if (removed > 0) await store.pruning.giveBack()
  return removed
}

/** Sessions that cannot resume by themselves and wait for nobody, and from which nothing is read any more, in the order in which they ended. */
async function findFinishedSessions(store: Store): Promise<SessionRow[]> {
  const open = new Set((await store.escalations.list({ states: ['open'] })).map(({ session_id }) => session_id))
  // The answers of an interview are read from its events when the spec is written.
  const features = new Set((await store.features.list({ open: true })).map(({ id }) => id))
  const rows = await store.sessions.list()
  return rows
    .filter(row => row.state === 'ended' && isFinal(row.ended_as) && row.resumes_at === null && row.parked === null)
    .filter(({ id, options }) => !open.has(id) && !(options.feature && features.has(options.feature.id)))
    .toSorted((a, b) => (a.ended_at ?? 0) - (b.ended_at ?? 0))
}

export interface PruneCheckpoints {
  paths: AppPaths
  store: Store
  days: number
  maxMb: number
  now: number
}

/** Removes checkpoints by age and by size. A session that can still resume keeps its last one, however old it is. */
async function pruneCheckpoints({ paths, store, days, maxMb, now }: PruneCheckpoints): Promise<number> {
  const { prune } = await import('../agents/checkpoints/save.ts')
  return prune(join(paths.data, 'checkpoints'), {
    days,
    maxBytes: maxMb * MB,
    now,
    keepLast: async id => {
      const row = await store.sessions.get(id)
      return row !== undefined && row.ended_as !== 'completed'
    },
  })
}

export type ArchiveOldWorktrees = Parameters<typeof readWorktreeDeps>[0] & { clock: Clock; signal: AbortSignal }

/** Archives worktrees whose task ended long ago, and removes what was archived or copied long ago. Returns how many. */
export async function archiveOldWorktrees({ clock, signal, ...daemon }: ArchiveOldWorktrees): Promise<number> {
  const [{ removeOld }, { pruneSnapshots }, { forgetOldWork }] = await Promise.all([
    import('../workspace/worktrees/worktrees.ts'),
    import('../workspace/worktrees/snapshot.ts'),
    import('../workspace/merge/restore-work.ts'),
  ])
  const deps = { ...(await readWorktreeDeps(daemon)), clock }
  const days = deps.settings.keep_days
  const worktrees = await removeOld(deps, days, signal)
  const originals = await forgetOldWork(deps, days, signal)
  return worktrees + originals + (await pruneSnapshots(deps.root, clock.now() - days * DAY_MS))
}

/** Our files in the log directory besides the current log: rotated logs and diagnostics. */
const OURS = /^((?:daemon|access|agents)\.log\.\d+|stall-.+\.json|report\..+\.json)$/

/** The most diagnostics that are kept, even if all are new: a restart storm must not fill the disk with them. */
const MOST_DIAGNOSTICS = 20

/** Nobody resumes a conversation after so long, and if somebody does, it begins anew. */
const HOOK_DAYS = 30

async function pruneHookFiles(run: string, now: number): Promise<number> {
  let removed = 0
  for (const folder of KEPT_FOLDERS.map(name => join(run, name)).filter(path => existsSync(path))) {
    for (const file of (await readdir(folder)).map(name => join(folder, name))) {
      const { mtimeMs = now } = (await lstat(file).catch(() => undefined)) ?? {}
      if (mtimeMs >= now - HOOK_DAYS * DAY_MS) continue
      await rm(file, { force: true })
      removed++
    }
  }
  return removed
}

/** Removes expired rotated logs and diagnostics, and returns how many. */
async function pruneLogs(dir: string, { days, now }: { days: number; now: number }): Promise<number> {
  const names = (await readdir(dir)).filter(name => OURS.test(name))
  const files = await Promise.all(
    names.map(async name => ({ name, time: (await lstat(join(dir, name)).catch(() => undefined))?.mtimeMs ?? now })),
  )
  const old = files.filter(({ time }) => time < now - days * DAY_MS)
  const diagnostics = files
    .filter(({ name }) => !/^(daemon|access|agents)\.log/.test(name))
    .toSorted((a, b) => b.time - a.time)
  const expired = new Set([...old, ...diagnostics.slice(MOST_DIAGNOSTICS)].map(({ name }) => name))
  for (const name of expired) await rm(join(dir, name), { force: true })
  return expired.size
}
