import { scanChanged } from '../../agents/checkpoints/scan.ts'
import type { Clock } from '../../base/clock.ts'
import { sessionMarker } from '../../base/process/marker.ts'
import {
  commandOf,
  findMarkedPids,
  type ProcessUsage,
  rawStartTime,
  readProcessUsage,
  readWakeUps,
  sumProportionalBytes,
  withDescendants,
} from '../../base/process/process-table.ts'
import type { EventBody, StoredEvent } from '../../domain/event.ts'
import type { SessionEvent } from '../../domain/session.ts'
import { workDirectory } from '../../domain/worktree.ts'
import { eventOf, type GuardTrip, type LiveSession, type SessionContext } from '../session/context.ts'
import { record } from '../session/record.ts'
import { endInBackground, tripGuard, type WatchedContext } from '../session/stop-agent.ts'
import type { BreakerFinding } from './breakers.ts'
import { findHog, type Hog, type MemoryStep } from './session-guards.ts'
import { bookNow } from './spending.ts'

/** How often the processes of agents are looked at: memory can grow by a gigabyte a second once it grows. */
const CALM_MS = 5_000
const TENSE_MS = 1_000
/** About once a minute. */
const LOOKS_BETWEEN_MARKS = 12
/** From this share of its cap on an agent is looked at more often. */
const TENSE_SHARE = 0.5
/** A tree that uses less than this share of one processor is idle: an agent that only waits uses half a percent. */
const BUSY_SHARE = 0.05
/** An agent that hears from the model wakes up more often than this, one that hears nothing at most four times a second. */
const LIVELY_PER_SECOND = 7

interface Watched extends WatchedContext {
  last: Look | undefined
  /** Those that carry its marker: without a namespace an orphan is nobody's child, and still the agent's. */
  marked: { pid: number; born: string | undefined }[]
  looks: number
}

interface Look {
  at: number
  cpuMs: number
  wakeUps: number | undefined
}

/**
 * Looks at the processes of all agents together, at one timer, which runs only while there is an agent: for memory, for
 * signs of life that no event tells of, and to book the time.
 */
export class GuardWatch {
  readonly #clock: Clock
  readonly #watched = new Map<LiveSession, Watched>()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Watches one until it is disposed of. */
  watch(context: SessionContext): Disposable {
    this.#watched.set(context.live, {
      ...context,
      gone: Promise.withResolvers(),
      last: undefined,
      marked: [],
      looks: 0,
    })
    if (!this.#timer) this.#arm(CALM_MS)
    return { [Symbol.dispose]: () => this.#leave(context.live) }
  }

  /** Looks now. */
  poke(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  #leave(live: LiveSession): void {
    this.#watched.get(live)?.gone.resolve()
    this.#watched.delete(live)
    if (this.#watched.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #arm(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.poke(), ms).unref()
  }

  async #look(): Promise<void> {
    const hasProcess = [...this.#watched.keys()].some(({ session }) => session?.pid !== undefined)
    const all = hasProcess ? readProcessUsage() : []
    let isTense = false
    for (const watched of [...this.#watched.values()]) {
      try {
        if (await lookAt(watched, { all, now: this.#clock.now() })) isTense = true
      } catch (error) {
        watched.live.log.warn({ error }, 'its processes could not be looked at')
      }
    }
    if (this.#watched.size > 0) this.#arm(isTense ? TENSE_MS : CALM_MS)
  }
}

/** True where it wants to be looked at again soon. */
async function lookAt(watched: Watched, { all, now }: { all: ProcessUsage[]; now: number }): Promise<boolean> {
  const { live } = watched
  await bookNow(watched)
  const pid = live.session?.pid
  if (pid !== undefined && watched.looks++ % LOOKS_BETWEEN_MARKS === 0) watched.marked = markedOf(watched)
  // A number may belong to somebody else by now.
  const orphans = watched.marked.filter(({ pid, born }) => born !== undefined && rawStartTime(pid) === born)
  const tree = pid === undefined ? [] : treeOf([pid, ...orphans.map(each => each.pid)], all)
  const isSeen = tree.length > 0
  if (isSeen && isLively(watched, tree, pid ?? 0)) live.guards.activity.seen(now)
  await applyStallGuard(watched, { stopped: tree.some(({ stopped }) => stopped), now })
  if (!isSeen) return false
  const cap = live.guards.settings.maxMemoryBytes
  const resident = tree.reduce((sum, each) => sum + each.residentBytes, 0)
  const bytes = resident <= cap ? resident : sumProportionalBytes(tree)
  await applyMemoryCap(watched, { bytes, tree, all, agent: pid ?? 0, now })
  return bytes > cap * TENSE_SHARE
}

/** Dear: the environment of every process is read. */
function markedOf({ live }: Watched): Watched['marked'] {
  const { marker } = live.row
  const pids = marker === null ? [] : findMarkedPids(sessionMarker(marker)).filter(pid => pid !== process.pid)
  return pids.map(pid => ({ pid, born: rawStartTime(pid) }))
}

function treeOf(roots: number[], all: ProcessUsage[]): ProcessUsage[] {
  const inside = new Set(withDescendants(roots, all))
  return all.filter(each => inside.has(each.pid))
}

/** Whether its processes have done something since the last look: worked, or heard from the model. */
function isLively(watched: Watched, tree: ProcessUsage[], pid: number): boolean {
  const { last } = watched
  const at = performance.now()
  const cpuMs = tree.reduce((sum, each) => sum + each.cpuMs, 0)
  const own = tree.find(each => each.pid === pid)?.group
  const counts = tree.filter(({ group }) => group === own).map(each => readWakeUps(each.pid) ?? 0)
  const wakeUps = Math.max(...counts, 0)
  watched.last = { at, cpuMs, wakeUps }
  if (!last || at - last.at < TENSE_MS / 2) return false
  const elapsedMs = at - last.at
  const isBusy = (cpuMs - last.cpuMs) / elapsedMs >= BUSY_SHARE
  return isBusy || ((wakeUps - (last.wakeUps ?? 0)) / elapsedMs) * 1000 >= LIVELY_PER_SECOND
}

export interface MemoryLook {
  /** What the tree uses in all. */
  bytes: number
  tree: ProcessUsage[]
  all: ProcessUsage[]
  agent: number
  now: number
}

/** Takes an agent back under its cap: softly first, then the tool that grows, then all of it. */
async function applyMemoryCap(context: WatchedContext, { bytes, tree, all, agent, now }: MemoryLook): Promise<void> {
  const { live } = context
  const { memory, settings } = live.guards
  const hog =
    bytes > settings.maxMemoryBytes ? findHog(tree, { agent, all, capBytes: settings.maxMemoryBytes }) : undefined
  const step = memory.look(bytes, { now, hasHog: hog !== undefined })
  if (step === undefined || live.over) return
  const reason = `The agent uses ${inGb(bytes)} of memory with all that it started, ${inGb(settings.maxMemoryBytes)} are allowed (agents.max_memory_mb)${mostOf(hog)}`
  const event = eventOf(live, 'guard.tripped', { guard: 'memory', did: MEMORY_ACTIONS[step], reason }, 'daemon')
  await record(live, context.deps, { events: [event], patch: {} })
  const next = `See what needs so much, or raise the cap: pcc config set agents.max_memory_mb ${Math.ceil((settings.maxMemoryBytes * 2) / 1_048_576)}; then: pcc resume ${live.id}`
  tripGuard(live, { guard: 'memory', reason, next })
  await takeMemoryStep(step, context, hog)
}

async function takeMemoryStep(step: MemoryStep, context: WatchedContext, hog: Hog | undefined): Promise<void> {
  if (step === 'kill_hog' && hog) kill(hog.group)
  // One that cannot be interrupted (a person has its terminal) is ended with the next step.
  if (step === 'interrupt') await context.live.session?.interrupt().catch(() => undefined)
  if (step === 'end') endInBackground(context)
}

/** Gone in this instant: the next look says so. */
function kill(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // nothing is left of it
  }
}

const MEMORY_ACTIONS: Record<MemoryStep, EventBody<'guard.tripped'>['did']> = {
  pause: 'paused',
  kill_hog: 'killed',
  interrupt: 'interrupted',
  end: 'killed',
}

function mostOf(hog: Hog | undefined): string {
  const [first] = hog?.pids ?? []
  if (!hog || first === undefined) return ''
  const command = commandOf(first).replace(/\s+/g, ' ').slice(0, 120)
  return `; most of it, ${inGb(hog.bytes)}, is: ${command}`
}

function inGb(bytes: number): string {
  return bytes < 1_000_000_000 ? `${Math.round(bytes / 1_048_576)} MB` : `${(bytes / 1_073_741_824).toFixed(1)} GB`
}

/** A second stall within this time is no accident any more. */
const AGAIN_MS = 6 * 3_600_000
const SOON_MS = 1_000

/**
 * Ends an agent that hangs. What it did stands in its conversation, so the first time it goes on by itself; the second time a
 * person is asked.
 */
async function applyStallGuard(
  context: WatchedContext,
  { stopped, now }: { stopped: boolean; now: number },
): Promise<void> {
  const { live, deps } = context
  const { activity, settings } = live.guards
  const waits = live.row.state === 'asking' || live.row.state === 'queued' || live.session?.takenOver === true
  if (waits) activity.seen(now)
  const sees = process.platform === 'linux'
  if (live.over || live.stopping !== undefined) return
  if (!activity.isHung(now, { waits, stopped, sees, stallMs: settings.stallMs })) return
  const silentMs = now - activity.aliveAt
  activity.seen(now) // once is enough
  const isFirst = !(await stalledBefore(context, now))
  const reason = `The agent hangs: no sign of life for ${Math.round(silentMs / 60_000)} minutes${doing(stopped, activity.toolsInFlight)}`
  const event = eventOf(live, 'guard.tripped', { guard: 'stall', did: 'interrupted', reason }, 'daemon')
  await record(live, deps, { events: [event], patch: {} })
  const next = isFirst
    ? 'It is tried once more by itself'
    : `It hung before; look at it with: pcc logs ${live.id}, and go on with: pcc resume ${live.id}`
  tripGuard(live, { guard: 'stall', reason, next, resumesAt: isFirst ? deps.clock.now() + SOON_MS : undefined })
  endInBackground(context)
}

function doing(stopped: boolean, tools: number): string {
  if (stopped) return ', and a process of it was stopped (SIGSTOP)'
  return tools > 0 ? ' in a tool' : ''
}

/** Since a person last made it go on. */
async function stalledBefore({ live, deps }: SessionContext, now: number): Promise<boolean> {
  const kinds: StoredEvent['kind'][] = ['guard.tripped', 'session.resumed']
  const events = await deps.store.events({ subject: live.id, kinds, tail: LOOKED_BACK })
  const resumed = events.findLastIndex(({ kind, actor }) => kind === 'session.resumed' && actor === 'human')
  return events
    .slice(resumed + 1)
    .some(event => event.kind === 'guard.tripped' && event.body.guard === 'stall' && event.time > now - AGAIN_MS)
}

const LOOKED_BACK = 50

/** Lets the guards hear an event, and does what they make of it. */
export async function applyGuards(event: SessionEvent, context: SessionContext): Promise<void> {
  const { live, deps } = context
  const now = deps.clock.now()
  live.guards.activity.heard(event, now)
  for (const found of live.guards.breakers.heard(event, now)) await applyFinding(found, context)
}

async function applyFinding(found: BreakerFinding, { live, deps }: SessionContext): Promise<void> {
  if (live.pausing !== undefined || live.stopping !== undefined) return
  const { guard, reason } = found
  const did = 'did' in found ? found.did : 'paused'
  // A command may have changed what no call tells of: it is looked at before anything is stopped.
  if (guard === 'progress' && (await hasChanged(live))) return live.guards.breakers.changed()
  const event = eventOf(live, 'guard.tripped', { guard, did, reason }, 'daemon')
  await record(live, deps, { events: [event], patch: {} })
  if (did === 'paused') tripGuard(live, breakerTrip(guard, reason, live))
}

/** What a breaker says to the person. */
function breakerTrip(guard: BreakerFinding['guard'], reason: string, { id }: LiveSession): GuardTrip {
  return { guard, reason, next: `Look at it with: pcc logs ${id}; go on, with a fresh allowance: pcc resume ${id}` }
}

async function hasChanged(live: LiveSession): Promise<boolean> {
  const since = live.guards.changesSeenAt
  live.guards.changesSeenAt = Date.now()
  const { files } = await scanChanged({ project: workDirectory(live.row), since, limits: SCAN_LIMITS })
  return files.length > 0
}

/** A look that nobody notices; what lies deeper than that was not found, and the session is stopped. */
const SCAN_LIMITS = { entries: 20_000, found: 1, ms: 500 }
