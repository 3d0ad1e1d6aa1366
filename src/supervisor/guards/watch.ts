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
import { findHog, findToolGroups, type Hog, type MemoryStep } from './session-guards.ts'
import { bookNow } from './spending.ts'

/** The intervals of the checks: memory can grow by a gigabyte a second once it grows. */
const NORMAL_CHECK_MS = 5_000
const FAST_CHECK_MS = 1_000
/** About once a minute. */
const CHECKS_PER_MARKER_SCAN = 12
/** Above this share of its memory cap an agent is checked more often. */
const FAST_CHECK_SHARE = 0.5
/** The same for the number of its processes, which can double in milliseconds. */
const MANY_PROCESSES_SHARE = 0.2
/** A tree that uses less than this share of one processor is idle: an agent that only waits uses half a percent. */
const BUSY_SHARE = 0.05
/** Wake-ups per second: an agent that receives from the model wakes up more often than this, one that does not at most four times. */
const LIVELY_WAKE_UPS = 7

interface Watched extends WatchedContext {
  last: Sample | undefined
  /** Processes that carry the agent's marker: without a namespace an orphan is outside the agent's tree, and still belongs to it. */
  marked: { pid: number; born: string | undefined }[]
  checks: number
  /** How many processes the machine had when the marker was last searched for. */
  scannedOf: number
}

interface Sample {
  at: number
  cpuMs: number
  wakeUps: number | undefined
}

/**
 * Checks the processes of all agents on one timer, which runs only while there is an agent: for memory, for signs of life that no
 * event reports, and to book the time.
 */
export class GuardWatch {
  readonly #clock: Clock
  readonly #watched = new Map<LiveSession, Watched>()
  #timer: NodeJS.Timeout | undefined
  #checking: Promise<void> | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Watches a session until the result is disposed. */
  watch(context: SessionContext): Disposable {
    this.#watched.set(context.live, {
      ...context,
      gone: Promise.withResolvers(),
      last: undefined,
      marked: [],
      checks: 0,
      scannedOf: 0,
    })
    if (!this.#timer) this.#arm(NORMAL_CHECK_MS)
    return { [Symbol.dispose]: () => this.#leave(context.live) }
  }

  /** Checks now. */
  poke(): Promise<void> {
    this.#checking ??= this.#checkAll().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
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

  async #checkAll(): Promise<void> {
    const hasProcess = [...this.#watched.keys()].some(({ agent }) => agent.session?.pid !== undefined)
    const all = hasProcess ? readProcessUsage() : []
    let needsFastCheck = false
    for (const watched of [...this.#watched.values()]) {
      try {
        if (await checkProcesses(watched, { all, now: this.#clock.now() })) needsFastCheck = true
      } catch (error) {
        watched.live.log.warn({ error }, 'its processes could not be checked')
      }
    }
    if (this.#watched.size > 0) this.#arm(needsFastCheck ? FAST_CHECK_MS : NORMAL_CHECK_MS)
  }
}

/** Returns true if the agent should be checked again soon. */
async function checkProcesses(watched: Watched, { all, now }: { all: ProcessUsage[]; now: number }): Promise<boolean> {
  const { live } = watched
  await bookNow(watched)
  const pid = live.agent.session?.pid
  const { settings } = live.meters.guards
  const isDue = watched.checks++ % CHECKS_PER_MARKER_SCAN === 0
  if (pid !== undefined && (isDue || all.length - watched.scannedOf > settings.maxProcesses / 4)) {
    watched.marked = findMarked(watched)
    watched.scannedOf = all.length
  }
  // A process id may have been reused by now.
  const orphans = watched.marked.filter(({ pid, born }) => born !== undefined && rawStartTime(pid) === born)
  const tree = pid === undefined ? [] : findTree([pid, ...orphans.map(orphan => orphan.pid)], all)
  const hasTree = tree.length > 0
  if (hasTree && isLively(watched, tree, pid ?? 0)) live.meters.guards.activity.markAlive(now)
  await applyStallGuard(watched, { stopped: tree.some(({ stopped }) => stopped), now })
  if (!hasTree) return false
  await applyProcessCap(watched, { tree, all, agent: pid ?? 0 })
  const cap = settings.maxMemoryBytes
  const resident = tree.reduce((sum, { residentBytes }) => sum + residentBytes, 0)
  const bytes = resident <= cap ? resident : sumProportionalBytes(tree)
  await applyMemoryCap(watched, { bytes, tree, all, agent: pid ?? 0, now })
  return bytes > cap * FAST_CHECK_SHARE || tree.length > settings.maxProcesses * MANY_PROCESSES_SHARE
}

/** Expensive: reads the environment of every process. */
function findMarked({ live }: Watched): Watched['marked'] {
  const { marker } = live.row
  const pids = marker === null ? [] : findMarkedPids(sessionMarker(marker)).filter(pid => pid !== process.pid)
  return pids.map(pid => ({ pid, born: rawStartTime(pid) }))
}

function findTree(roots: number[], all: ProcessUsage[]): ProcessUsage[] {
  const inside = new Set(withDescendants(roots, all))
  return all.filter(({ pid }) => inside.has(pid))
}

/** Whether the agent's processes have done something since the last check: worked, or received from the model. */
function isLively(watched: Watched, tree: ProcessUsage[], pid: number): boolean {
  const { last } = watched
  const at = performance.now()
  const cpuMs = tree.reduce((sum, usage) => sum + usage.cpuMs, 0)
  const own = tree.find(usage => usage.pid === pid)?.group
  const counts = tree.filter(({ group }) => group === own).map(usage => readWakeUps(usage.pid) ?? 0)
  const wakeUps = Math.max(...counts, 0)
  watched.last = { at, cpuMs, wakeUps }
  if (!last || at - last.at < FAST_CHECK_MS / 2) return false
  const elapsedMs = at - last.at
  const isBusy = (cpuMs - last.cpuMs) / elapsedMs >= BUSY_SHARE
  return isBusy || ((wakeUps - (last.wakeUps ?? 0)) / elapsedMs) * 1000 >= LIVELY_WAKE_UPS
}

export interface MemoryUse {
  /** Memory of the whole tree. */
  bytes: number
  tree: ProcessUsage[]
  all: ProcessUsage[]
  agent: number
  now: number
}

/** Brings an agent back under its cap: softly first, then by ending the tool that grows, then by ending the agent. */
async function applyMemoryCap(context: WatchedContext, { bytes, tree, all, agent, now }: MemoryUse): Promise<void> {
  const { live } = context
  const { memory, settings } = live.meters.guards
  const hog =
    bytes > settings.maxMemoryBytes ? findHog(tree, { agent, all, capBytes: settings.maxMemoryBytes }) : undefined
  const step = memory.nextStep(bytes, { now, hasHog: hog !== undefined })
  if (step === undefined || live.control.over) return
  const reason = `The agent uses ${formatBytes(bytes)} of memory with all that it started, ${formatBytes(settings.maxMemoryBytes)} are allowed (agents.max_memory_mb)${describeHog(hog)}`
  const event = eventOf(live, 'guard.tripped', { guard: 'memory', did: MEMORY_ACTIONS[step], reason }, 'daemon')
  await record(live, context.deps, { events: [event], patch: {} })
  const next = `See what needs so much, or raise the cap: pcc config set agents.max_memory_mb ${Math.ceil((settings.maxMemoryBytes * 2) / 1_048_576)}; then: pcc resume ${live.id}`
  tripGuard(live, { guard: 'memory', reason, next })
  await takeMemoryStep(step, context, hog)
}

async function takeMemoryStep(step: MemoryStep, context: WatchedContext, hog: Hog | undefined): Promise<void> {
  if (step === 'kill_hog' && hog) kill(hog.group)
  // An agent that cannot be interrupted (a person has its terminal) is ended by the next step.
  if (step === 'interrupt') await context.live.agent.session?.interrupt().catch(() => undefined)
  if (step === 'end') endInBackground(context)
}

/**
 * Ends the tools of an agent with too many processes at once, and stops the agent after that. An agent that has too many again, or
 * whose processes belong to no tool, is ended with everything that it started.
 */
async function applyProcessCap(
  context: WatchedContext,
  { tree, all, agent }: Pick<MemoryUse, 'tree' | 'all' | 'agent'>,
): Promise<void> {
  const { live, deps } = context
  const cap = live.meters.guards.settings.maxProcesses
  if (tree.length <= cap || live.control.over) return
  const tools = findToolGroups(tree, { agent, all })
  const isSecond = live.control.tripped?.guard === 'processes'
  const largest = tools.toSorted(([, a], [, b]) => b.length - a.length)[0]?.[1] ?? []
  const command = largest[0] ? commandOf(largest[0].pid).replace(/\s+/g, ' ').slice(0, 120) : ''
  const most = command === '' ? '' : `; most of them, ${largest.length}, are: ${command}`
  const reason = `The agent has ${tree.length} processes with all that it started, ${cap} are allowed (agents.max_processes)${most}`
  for (const [group] of tools) kill(group)
  const event = eventOf(live, 'guard.tripped', { guard: 'processes', did: 'killed', reason }, 'daemon')
  await record(live, deps, { events: [event], patch: {} })
  const next = `See what starts so many, or raise the cap: pcc config set agents.max_processes ${cap * 2}; then: pcc resume ${live.id}`
  tripGuard(live, { guard: 'processes', reason, next })
  if (isSecond || tools.length === 0) endInBackground(context)
}

/** Kills a process group at once; the next check shows the result. */
function kill(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // the group is gone already
  }
}

const MEMORY_ACTIONS: Record<MemoryStep, EventBody<'guard.tripped'>['did']> = {
  pause: 'paused',
  kill_hog: 'killed',
  interrupt: 'interrupted',
  end: 'killed',
}

function describeHog(hog: Hog | undefined): string {
  const [first] = hog?.pids ?? []
  if (!hog || first === undefined) return ''
  const command = commandOf(first).replace(/\s+/g, ' ').slice(0, 120)
  return `; most of it, ${formatBytes(hog.bytes)}, is: ${command}`
}

function formatBytes(bytes: number): string {
  return bytes < 1_000_000_000 ? `${Math.round(bytes / 1_048_576)} MB` : `${(bytes / 1_073_741_824).toFixed(1)} GB`
}

/** A second stall within this time is not an accident. */
const REPEATED_STALL_MS = 6 * 3_600_000
const RESUME_MS = 1_000

/**
 * Ends an agent that hangs. Its work is kept in its conversation, so after the first stall it resumes by itself; after the second a
 * person is asked.
 */
async function applyStallGuard(
  context: WatchedContext,
  { stopped, now }: { stopped: boolean; now: number },
): Promise<void> {
  const { live, deps } = context
  const { activity, settings } = live.meters.guards
  const waits = live.row.state === 'asking' || live.row.state === 'queued' || live.agent.session?.takenOver === true
  if (waits) activity.markAlive(now)
  const canSee = process.platform === 'linux'
  if (live.control.over || live.control.stopping !== undefined) return
  if (!activity.isHung(now, { waits, stopped, canSee, stallMs: settings.stallMs })) return
  const silentMs = now - activity.aliveAt
  activity.markAlive(now) // so that the stall is reported once
  const isFirst = !(await hasStalledBefore(context, now))
  const reason = `The agent hangs: no sign of life for ${Math.round(silentMs / 60_000)} minutes${describeActivity(stopped, activity.toolsInFlight)}`
  const event = eventOf(live, 'guard.tripped', { guard: 'stall', did: 'interrupted', reason }, 'daemon')
  await record(live, deps, { events: [event], patch: {} })
  const next = isFirst
    ? 'It is tried once more by itself'
    : `It hung before; look at it with: pcc logs ${live.id}, and go on with: pcc resume ${live.id}`
  tripGuard(live, { guard: 'stall', reason, next, resumesAt: isFirst ? deps.clock.now() + RESUME_MS : undefined })
  endInBackground(context)
}

function describeActivity(stopped: boolean, tools: number): string {
  if (stopped) return ', and a process of it was stopped (SIGSTOP)'
  return tools > 0 ? ' in a tool' : ''
}

/** Whether the session has stalled since a person last resumed it. */
async function hasStalledBefore({ live, deps }: SessionContext, now: number): Promise<boolean> {
  const kinds: StoredEvent['kind'][] = ['guard.tripped', 'session.resumed']
  const events = await deps.store.events({ subject: live.id, kinds, tail: MAX_EVENTS })
  const resumed = events.findLastIndex(({ kind, actor }) => kind === 'session.resumed' && actor === 'human')
  return events
    .slice(resumed + 1)
    .some(
      event => event.kind === 'guard.tripped' && event.body.guard === 'stall' && event.time > now - REPEATED_STALL_MS,
    )
}

const MAX_EVENTS = 50

/** Passes an event to the guards, and acts on their findings. */
export async function applyGuards(event: SessionEvent, context: SessionContext): Promise<void> {
  const { live, deps } = context
  const now = deps.clock.now()
  live.meters.guards.activity.observe(event, now)
  for (const finding of live.meters.guards.breakers.observe(event, now)) await applyFinding(finding, context)
}

async function applyFinding(finding: BreakerFinding, { live, deps }: SessionContext): Promise<void> {
  if (live.control.pausing !== undefined || live.control.stopping !== undefined) return
  const { guard, reason } = finding
  const did = 'did' in finding ? finding.did : 'paused'
  // A command may have changed files that no call reports: the files are checked before the session is stopped.
  if (guard === 'progress' && (await hasChanged(live))) return live.meters.guards.breakers.changed()
  const event = eventOf(live, 'guard.tripped', { guard, did, reason }, 'daemon')
  await record(live, deps, { events: [event], patch: {} })
  if (did === 'paused') tripGuard(live, breakerTrip(guard, reason, live))
}

/** The message of a breaker to the person. */
function breakerTrip(guard: BreakerFinding['guard'], reason: string, { id }: LiveSession): GuardTrip {
  return { guard, reason, next: `Look at it with: pcc logs ${id}; go on, with a fresh allowance: pcc resume ${id}` }
}

async function hasChanged(live: LiveSession): Promise<boolean> {
  const since = live.meters.guards.changesSeenAt
  live.meters.guards.changesSeenAt = Date.now()
  const { files } = await scanChanged({ project: workDirectory(live.row), since, limits: SCAN_LIMITS })
  return files.length > 0
}

/** A scan that costs next to nothing. A change beyond these limits is not found, and the session is stopped. */
const SCAN_LIMITS = { entries: 20_000, found: 1, ms: 500 }
