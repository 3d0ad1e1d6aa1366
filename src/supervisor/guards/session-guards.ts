import type { ProcessUsage } from '../../base/process/process-table.ts'
import type { Request, SessionEvent, Verdict } from '../../domain/session.ts'
import type { GuardSettings } from '../session/settings.ts'
import { Breakers } from './breakers.ts'

/** Refuses a call, or returns undefined. */
type Refuse = (request: Request) => Promise<Verdict | undefined>

/** The guards of a session, from one start of its agent to the end of it. A session that a person resumes has a fresh allowance. */
export interface SessionGuards {
  readonly settings: GuardSettings
  readonly breakers: Breakers
  readonly activity: ActivityTracker
  readonly memory: MemoryCap
  /** When the project's files were last checked for changes. */
  changesSeenAt: number
  /** Puts the breakers before another guard that may refuse a call. */
  before(guard: Refuse): Refuse
}

export function openSessionGuards(settings: GuardSettings, now: number): SessionGuards {
  const breakers = new Breakers(settings)
  return {
    settings,
    breakers,
    activity: new ActivityTracker(now),
    memory: new MemoryCap(settings.maxMemoryBytes),
    changesSeenAt: Date.now(),
    before: guard => async request => breakers.verdict(request) ?? guard(request),
  }
}

/** Checks are seconds apart. A longer gap means that the machine slept or the clock was set: such a gap is not silence. */
const SLEEP_MS = 90_000

/** Tracks what an agent is doing, by its events and by checks of its processes. */
export class ActivityTracker {
  readonly #tools = new Set<string>()
  #aliveAt: number
  #compacting = false
  #retriesAt: number | undefined
  #checkedAt: number | undefined

  constructor(now: number) {
    this.#aliveAt = now
  }

  get aliveAt(): number {
    return this.#aliveAt
  }

  get toolsInFlight(): number {
    return this.#tools.size
  }

  observe(event: SessionEvent, now: number): void {
    this.#aliveAt = now
    this.#retriesAt = event.kind === 'retry' ? now + event.delayMs : undefined
    if (event.kind === 'tool_request') this.#tools.add(event.callId)
    if (event.kind === 'tool_result') this.#tools.delete(event.callId)
    if (event.kind === 'turn_ended') this.#tools.clear()
    if (event.kind === 'compacting') this.#compacting = event.state === 'started'
    else if (event.kind === 'turn_ended') this.#compacting = false
  }

  /** The agent's processes work, or a person was asked until now. */
  markAlive(now: number): void {
    this.#aliveAt = now
  }

  /** Whether the agent hangs. Called on every check, so that a clock that is set back or jumps ahead does not falsify the silence. */
  isHung(
    now: number,
    { stallMs, ...observed }: Pick<Activity, 'waits' | 'stopped' | 'canSee'> & { stallMs: number },
  ): boolean {
    const hasSlept = this.#checkedAt !== undefined && now - this.#checkedAt > SLEEP_MS
    if (now < this.#aliveAt || hasSlept) this.#aliveAt = now
    this.#checkedAt = now
    const activity = {
      aliveAt: this.#aliveAt,
      tools: this.#tools.size,
      compacting: this.#compacting,
      retriesAt: this.#retriesAt,
      ...observed,
    }
    return isHung(activity, now, stallMs)
  }
}

/** What an agent is doing, as far as its events tell. */
interface Activity {
  /** When the agent last sent an event, or its processes last worked. */
  aliveAt: number
  /** Calls that have not come back. */
  tools: number
  compacting: boolean
  /** When the agent calls the vendor again. */
  retriesAt: number | undefined
  /** A person is asked, or nothing of the agent runs between two turns. */
  waits: boolean
  /** One of its processes was stopped by a signal. */
  stopped: boolean
  /** Whether its processes can be observed: events report a long answer only when it is complete. */
  canSee: boolean
}

/** A tool may be silent for long: a build, a download. Compaction of a long conversation takes minutes. */
const TOOL_FACTOR = 12
const COMPACTION_FACTOR = 4
const UNSEEN_FACTOR = 4

/**
 * How long an agent may be silent and idle before it counts as hung; undefined if it may be for ever. Pure.
 * An agent that works never counts as hung: `aliveAt` moves with every event and with every check that finds its processes busy.
 */
function allowedSilenceMs(
  { tools, compacting, waits, stopped, canSee }: Omit<Activity, 'aliveAt' | 'retriesAt'>,
  stallMs: number,
): number | undefined {
  if (waits) return undefined
  // A stopped process does nothing, whatever it was doing before.
  if (stopped) return stallMs
  if (compacting) return stallMs * COMPACTION_FACTOR
  if (tools > 0) return stallMs * TOOL_FACTOR
  return canSee ? stallMs : stallMs * UNSEEN_FACTOR
}

function isHung(activity: Activity, now: number, stallMs: number): boolean {
  const allowedMs = allowedSilenceMs(activity, stallMs)
  if (allowedMs === undefined) return false
  const since = Math.max(activity.aliveAt, activity.retriesAt ?? 0)
  return now - since >= allowedMs
}

/** The steps against an agent that uses too much memory; each is taken once. */
export type MemoryStep = 'pause' | 'kill_hog' | 'interrupt' | 'end'

/** Above this share of the cap the tool in flight is not waited for. */
const HUGE_SHARE = 1.5
/** Above this share of its first size the agent counts as still growing after it was asked to stop. */
const GROWTH_SHARE = 1.1
/** The time that an agent has to stop after it was asked to. */
const GRACE_MS = 30_000

/**
 * Brings an agent back under its memory cap, softly first: it stops after the tool in flight; then a tool that keeps growing is
 * ended, or the turn is interrupted. An agent that is still too large after that, or half as large again as its cap, is ended.
 */
export class MemoryCap {
  readonly #capBytes: number
  #overAt: number | undefined
  #firstBytes = 0
  #done = new Set<MemoryStep>()

  constructor(capBytes: number) {
    this.#capBytes = capBytes
  }

  /** `hasHog`: most of the memory belongs to one tool that can be ended alone. */
  nextStep(bytes: number, { now, hasHog }: { now: number; hasHog: boolean }): MemoryStep | undefined {
    if (bytes <= this.#capBytes) {
      this.#overAt = undefined
      this.#done.clear()
      return undefined
    }
    if (this.#overAt === undefined) {
      this.#overAt = now
      this.#firstBytes = bytes
    }
    const step = this.#chooseStep(bytes, now - this.#overAt, hasHog)
    if (step === undefined || this.#done.has(step)) return undefined
    this.#done.add(step)
    return step
  }

  #chooseStep(bytes: number, overMs: number, hasHog: boolean): MemoryStep | undefined {
    const isHuge = bytes >= this.#capBytes * HUGE_SHARE
    const isLate = overMs >= GRACE_MS
    const isGrowing = bytes >= this.#firstBytes * GROWTH_SHARE
    if (!this.#done.has('pause') && !isHuge) return 'pause'
    if (hasHog && !this.#done.has('kill_hog') && (isHuge || isLate || isGrowing)) return 'kill_hog'
    if (isHuge || isLate) return 'end'
    return isGrowing ? 'interrupt' : undefined
  }
}

/** A process group that belongs to one tool and uses most of an agent's memory. */
export interface Hog {
  group: number
  bytes: number
  pids: number[]
}

/**
 * Finds the tool that uses more than half of the cap by itself: a process group inside the agent's tree that contains neither the
 * agent itself nor a process outside the tree, so that ending it ends nothing else.
 */
export function findHog(
  tree: readonly ProcessUsage[],
  { agent, all, capBytes }: { agent: number; all: readonly ProcessUsage[]; capBytes: number },
): Hog | undefined {
  const hogs = findToolGroups(tree, { agent, all })
    .map(([group, members]) => ({
      group,
      bytes: members.reduce((sum, { residentBytes }) => sum + residentBytes, 0),
      pids: members.map(({ pid }) => pid),
    }))
    .filter(({ bytes }) => bytes > capBytes / 2)
  return hogs.toSorted((a, b) => b.bytes - a.bytes)[0]
}

/** The process groups of an agent's tools: inside its tree, without the agent itself and without a process outside the tree. */
export function findToolGroups(
  tree: readonly ProcessUsage[],
  { agent, all }: { agent: number; all: readonly ProcessUsage[] },
): [group: number, members: ProcessUsage[]][] {
  const inside = new Set(tree.map(({ pid }) => pid))
  // The guardian's leader, the namespace and the agent are one group (base/process/isolation.ts); every tool has one of its own.
  const own = tree.find(({ pid }) => pid === agent)?.group
  if (own === undefined) return []
  const shared = new Set(all.filter(({ pid }) => !inside.has(pid)).map(({ group }) => group))
  return [...Map.groupBy(tree, ({ group }) => group)].filter(
    ([group]) => group > 1 && group !== own && !shared.has(group),
  )
}
