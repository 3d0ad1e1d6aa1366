import { join } from 'node:path'
import { type Clock, systemClock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Places } from '../../base/places.ts'
import { loadConfig } from '../../domain/config/load.ts'
import type { Store } from '../../store/store.ts'
import { believesClock } from './clock-doubt.ts'
import { pruneCheckpoints } from './prune-checkpoints.ts'
import { pruneEvents } from './prune-events.ts'
import { pruneLogs } from './prune-logs.ts'
import { pruneWorktrees } from './prune-worktrees.ts'
import { APART_MS } from './trust-clock.ts'

export interface Retention {
  places: Places
  env: Record<string, string | undefined>
  store: Store
  log: Log
  clock?: Clock
}

const HOUR_MS = 60 * 60_000
const DAY_MS = 24 * HOUR_MS

/** Removes what is older than it is kept, now and once a day, by the settings as they then are. Disposing waits for what is under way. */
export function startRetention(parts: Retention): AsyncDisposable {
  const leaving = new AbortController()
  const once = () => pruneOnce(parts, leaving.signal).catch(error => parts.log.warn({ error }, 'could not be pruned'))
  let latest = once()
  const timer = setInterval(() => {
    latest = once()
  }, DAY_MS)
  timer.unref()
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      leaving.abort()
      await latest
    },
  }
}

/** One round of it. Nothing is removed by a clock that cannot be believed. */
export async function pruneOnce(parts: Retention, signal: AbortSignal): Promise<void> {
  const { places, env, store, log, clock = systemClock } = parts
  const now = clock.now()
  const gapMs = await gapBefore(now, store)
  if (!believesClock(join(places.run, 'clock-doubted'), { now, gapMs })) {
    log.warn({ now, gap_ms: gapMs }, 'the clock is far ahead of the last thing written: nothing is removed for its age')
    return
  }
  const { data, logs } = (await loadConfig({ places, env })).config
  const checkpoints = await pruneCheckpoints({
    places,
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
  const files = await pruneLogs(places.logs, { days: logs.keep_days, now })
  const worktrees = await pruneWorktrees({ places, env, store, log, clock, signal })
  if (checkpoints + events + files + worktrees > 0) {
    log.info({ checkpoints, events, files, worktrees }, 'old things removed')
  }
}

/**
 * From the last thing written to a day ago. What was written of late says nothing, by whichever daemon: it may have its times
 * from the same wrong clock. A daemon that has run for a day by a clock that nobody has set was there itself.
 */
async function gapBefore(now: number, store: Store): Promise<number> {
  const upMs = performance.now()
  const isSteady = Math.abs(now - performance.timeOrigin - upMs) < HOUR_MS
  if (isSteady && upMs >= APART_MS) return 0
  const earlier = now - APART_MS
  return earlier - ((await store.pruning.newestBefore(earlier)) ?? earlier)
}
