import type { ProcessUsage } from '../../base/process/process-table.ts'
import type { Request, SessionEvent, Verdict } from '../../domain/session.ts'
import type { GuardSettings } from '../session/settings.ts'
import { Breakers } from './breakers.ts'

/** Refuses a call, or has nothing to say to it. */
type Refuse = (request: Request) => Promise<Verdict | undefined>

/** The guards of one life of a session. A life that a person began has a fresh allowance. */
export interface SessionGuards {
  readonly settings: GuardSettings
  readonly breakers: Breakers
  readonly activity: ActivityTracker
  readonly memory: MemoryCap
  /** When the project's files were last looked at for changes. */
  changesSeenAt: number
  /** Asks the breakers before whoever else may refuse a call. */
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

/** Looks are seconds apart. More than this between two is a machine that slept, or a clock that was set: nobody was silent. */
const SLEPT_MS = 90_000

/** Follows what an agent is in the middle of, by its events and by looks at its processes. */
export class ActivityTracker {
  readonly #tools = new Set<string>()
  #aliveAt: number
  #compacting = false
  #retriesAt: number | undefined
  #lookedAt: number | undefined

  constructor(now: number) {
    this.#aliveAt = now
  }

  get aliveAt(): number {
    return this.#aliveAt
  }

  get toolsInFlight(): number {
    return this.#tools.size
  }

  heard(event: SessionEvent, now: number): void {
    this.#aliveAt = now
    this.#retriesAt = event.kind === 'retry' ? now + event.delayMs : undefined
    if (event.kind === 'tool_request') this.#tools.add(event.callId)
    if (event.kind === 'tool_result') this.#tools.delete(event.callId)
    if (event.kind === 'turn_ended') this.#tools.clear()
    if (event.kind === 'compacting') this.#compacting = event.state === 'started'
    else if (event.kind === 'turn_ended') this.#compacting = false
  }

  /** Its processes work, or somebody was asked until now. */
  seen(now: number): void {
    this.#aliveAt = now
  }

  /** Whether it hangs. Asked with every look: a clock that is set back must not keep it young, nor one that jumps make it old. */
  isHung(
    now: number,
    { stallMs, ...seen }: Pick<Activity, 'waits' | 'stopped' | 'sees'> & { stallMs: number },
  ): boolean {
    const hasSlept = this.#lookedAt !== undefined && now - this.#lookedAt > SLEPT_MS
    if (now < this.#aliveAt || hasSlept) this.#aliveAt = now
    this.#lookedAt = now
    const activity = {
      aliveAt: this.#aliveAt,
      tools: this.#tools.size,
      compacting: this.#compacting,
      retriesAt: this.#retriesAt,
      ...seen,
    }
    return isHung(activity, now, stallMs)
  }
}

/** What an agent is in the middle of, as far as its events tell. */
interface Activity {
  /** When it was last heard of, or was seen to do something. */
  aliveAt: number
  /** Calls that have not come back. */
  tools: number
  compacting: boolean
  /** Until when it waits before it calls the vendor once more. */
  retriesAt: number | undefined
  /** A person is asked, or nothing of it runs between two turns. */
  waits: boolean
  /** One of its processes was stopped by a signal. */
  stopped: boolean
  /** Whether its processes can be looked at: a long answer is heard of only when it is whole. */
  sees: boolean
}

/** A tool may be silent for long: a build, a download. Shortening a long conversation takes minutes. */
const TOOL_FACTOR = 12
const COMPACTION_FACTOR = 4
const UNSEEN_FACTOR = 4

/**
 * How long an agent may be neither heard nor seen to work before it counts as hung; undefined where it may for ever. Pure.
 * Whoever works is never hung: `aliveAt` moves with every event and with every look that finds its processes busy.
 */
function patienceMs(
  { tools, compacting, waits, stopped, sees }: Omit<Activity, 'aliveAt' | 'retriesAt'>,
  stallMs: number,
): number | undefined {
  if (waits) return undefined
  // A process that was stopped does nothing, whatever it was in the middle of.
  if (stopped) return stallMs
  if (compacting) return stallMs * COMPACTION_FACTOR
  if (tools > 0) return stallMs * TOOL_FACTOR
  return sees ? stallMs : stallMs * UNSEEN_FACTOR
}

/** Whether it hangs now. */
function isHung(activity: Activity, now: number, stallMs: number): boolean {
  const patience = patienceMs(activity, stallMs)
  if (patience === undefined) return false
  const since = Math.max(activity.aliveAt, activity.retriesAt ?? 0)
  return now - since >= patience
}

/** What is done about an agent that uses too much memory; each is done once. */
export type MemoryStep = 'pause' | 'kill_hog' | 'interrupt' | 'end'

/** From here on nobody waits for the tool in flight. */
const END_SHARE = 1.5
/** It grows on although it was asked to stop. */
const GROWN_SHARE = 1.1
/** After it was asked to stop it has this long for it. */
const GRACE_MS = 30_000

/**
 * Takes an agent back under its cap, softly first: it stops after the tool in flight; a tool that grows on is ended, or the
 * turn is; what is still too large after that, or half as large again as it may be, is ended as a whole.
 */
export class MemoryCap {
  readonly #capBytes: number
  #overAt: number | undefined
  #firstBytes = 0
  #done = new Set<MemoryStep>()

  constructor(capBytes: number) {
    this.#capBytes = capBytes
  }

  /** `hasHog`: most of it belongs to one tool that can be ended alone. */
  look(bytes: number, { now, hasHog }: { now: number; hasHog: boolean }): MemoryStep | undefined {
    if (bytes <= this.#capBytes) {
      this.#overAt = undefined
      this.#done.clear()
      return undefined
    }
    if (this.#overAt === undefined) {
      this.#overAt = now
      this.#firstBytes = bytes
    }
    const step = this.#stepFor(bytes, now - this.#overAt, hasHog)
    if (step === undefined || this.#done.has(step)) return undefined
    this.#done.add(step)
    return step
  }

  #stepFor(bytes: number, overMs: number, hasHog: boolean): MemoryStep | undefined {
    const isHuge = bytes >= this.#capBytes * END_SHARE
    const isLate = overMs >= GRACE_MS
    const isGrowing = bytes >= this.#firstBytes * GROWN_SHARE
    if (!this.#done.has('pause') && !isHuge) return 'pause'
    if (hasHog && !this.#done.has('kill_hog') && (isHuge || isLate || isGrowing)) return 'kill_hog'
    if (isHuge || isLate) return 'end'
    return isGrowing ? 'interrupt' : undefined
  }
}

/** One group of processes that belongs to a tool and holds most of what an agent uses. */
export interface Hog {
  group: number
  bytes: number
  pids: number[]
}

/**
 * The tool that uses more than half of the cap by itself, if one does: a process group inside of the agent's tree that
 * neither the agent itself is part of nor anybody outside of the tree, so that ending it ends nothing else.
 */
export function findHog(
  tree: readonly ProcessUsage[],
  { agent, all, capBytes }: { agent: number; all: readonly ProcessUsage[]; capBytes: number },
): Hog | undefined {
  const inside = new Set(tree.map(({ pid }) => pid))
  // Guardian's leader, namespace and agent are one group (base/process/namespace.ts); every tool has one of its own.
  const own = tree.find(({ pid }) => pid === agent)?.group
  const groups = Map.groupBy(tree, ({ group }) => group)
  const hogs = [...groups]
    .map(([group, members]) => ({
      group,
      bytes: members.reduce((sum, each) => sum + each.residentBytes, 0),
      pids: members.map(({ pid }) => pid),
    }))
    .filter(({ group, bytes }) => group > 1 && group !== own && bytes > capBytes / 2)
    .filter(({ group }) => own !== undefined && all.every(each => each.group !== group || inside.has(each.pid)))
  return hogs.toSorted((a, b) => b.bytes - a.bytes)[0]
}
