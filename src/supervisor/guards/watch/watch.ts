import type { Clock } from '../../../base/clock.ts'
import { sessionMarker } from '../../../base/process/marker.ts'
import {
  type ProcessFigures,
  processFigures,
  sharedOutBytes,
  wakeUpsOf,
} from '../../../base/process/process-figures.ts'
import { markedPids, withDescendants } from '../../../base/process/process-table.ts'
import { bornAt } from '../../../base/process/start-time.ts'
import type { Desk, Run } from '../../run.ts'
import { bookNow } from '../spending.ts'
import type { Ended } from './end-in-time.ts'
import { heedMemory } from './heed-memory.ts'
import { heedStall } from './heed-stall.ts'

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

interface Watched extends Ended {
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
  readonly #watched = new Map<Run, Watched>()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Watches one until it is disposed of. */
  watch(desk: Desk): Disposable {
    this.#watched.set(desk.run, { ...desk, gone: Promise.withResolvers(), last: undefined, marked: [], looks: 0 })
    if (!this.#timer) this.#arm(CALM_MS)
    return { [Symbol.dispose]: () => this.#leave(desk.run) }
  }

  /** Looks now. */
  poke(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  #leave(run: Run): void {
    this.#watched.get(run)?.gone.resolve()
    this.#watched.delete(run)
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
    const all = hasProcess ? processFigures() : []
    let isTense = false
    for (const watched of [...this.#watched.values()]) {
      try {
        if (await lookAt(watched, { all, now: this.#clock.now() })) isTense = true
      } catch (error) {
        watched.run.log.warn({ error }, 'its processes could not be looked at')
      }
    }
    if (this.#watched.size > 0) this.#arm(isTense ? TENSE_MS : CALM_MS)
  }
}

/** True where it wants to be looked at again soon. */
async function lookAt(watched: Watched, { all, now }: { all: ProcessFigures[]; now: number }): Promise<boolean> {
  const { run } = watched
  await bookNow(watched)
  const pid = run.session?.pid
  if (pid !== undefined && watched.looks++ % LOOKS_BETWEEN_MARKS === 0) watched.marked = markedOf(watched)
  // A number may belong to somebody else by now.
  const orphans = watched.marked.filter(({ pid, born }) => born !== undefined && bornAt(pid) === born)
  const tree = pid === undefined ? [] : treeOf([pid, ...orphans.map(each => each.pid)], all)
  const isSeen = tree.length > 0
  if (isSeen && isLively(watched, tree, pid ?? 0)) run.guards.activity.seen(now)
  await heedStall(watched, { stopped: tree.some(({ stopped }) => stopped), now })
  if (!isSeen) return false
  const cap = run.guards.settings.maxMemoryBytes
  const resident = tree.reduce((sum, each) => sum + each.residentBytes, 0)
  const bytes = resident <= cap ? resident : sharedOutBytes(tree)
  await heedMemory(watched, { bytes, tree, all, agent: pid ?? 0, now })
  return bytes > cap * TENSE_SHARE
}

/** Dear: the environment of every process is read. */
function markedOf({ run }: Watched): Watched['marked'] {
  const { marker } = run.row
  const pids = marker === null ? [] : markedPids(sessionMarker(marker)).filter(pid => pid !== process.pid)
  return pids.map(pid => ({ pid, born: bornAt(pid) }))
}

function treeOf(roots: number[], all: ProcessFigures[]): ProcessFigures[] {
  const inside = new Set(withDescendants(roots, all))
  return all.filter(each => inside.has(each.pid))
}

/** Whether its processes have done something since the last look: worked, or heard from the model. */
function isLively(watched: Watched, tree: ProcessFigures[], pid: number): boolean {
  const { last } = watched
  const at = performance.now()
  const cpuMs = tree.reduce((sum, each) => sum + each.cpuMs, 0)
  const own = tree.find(each => each.pid === pid)?.group
  const counts = tree.filter(({ group }) => group === own).map(each => wakeUpsOf(each.pid) ?? 0)
  const wakeUps = Math.max(...counts, 0)
  watched.last = { at, cpuMs, wakeUps }
  if (!last || at - last.at < TENSE_MS / 2) return false
  const elapsedMs = at - last.at
  const isBusy = (cpuMs - last.cpuMs) / elapsedMs >= BUSY_SHARE
  return isBusy || ((wakeUps - (last.wakeUps ?? 0)) / elapsedMs) * 1000 >= LIVELY_PER_SECOND
}
