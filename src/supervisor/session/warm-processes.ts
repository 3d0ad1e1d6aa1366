import { join } from 'node:path'
import { secretId } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import { MarkerFiles } from '../../base/process/marker.ts'
import type { Asks, Driver, OpenSession } from '../../domain/session.ts'
import type { Worktree } from '../../domain/worktree.ts'
import type { LiveSession } from './context.ts'
import type { PreparedSession, PrepareRequest } from './prepare.ts'
import type { WorktreeProvider, WorktreeRequest } from './worktree-provider.ts'

export interface WarmProcessesDeps {
  markers: WarmMarkers
  log: Log
  /** The live session with this id. */
  liveSession(id: string): LiveSession | undefined
  prepare(request: PrepareRequest): Promise<PreparedSession>
  worktrees: Pick<WorktreeProvider, 'reserve' | 'release'>
  /** Whether another session waits for a slot: it gets the next one. */
  isCrowded(): boolean
  /** Bytes that programs can still allocate. */
  availableMemory(): number
}

/** How the next session of a run is likely to be started. */
export interface ExpectedSession {
  /** The session that works now. */
  session: string
  request: PrepareRequest & { run: NonNullable<PrepareRequest['run']> }
  /** The worktree in which the session will work, which does not exist yet; undefined if it works in the project itself. */
  worktree: WorktreeRequest | undefined
}

/** The process that waits for a run. Without `open` it is still being prepared. */
interface WaitingProcess {
  iteration: number
  marker: string
  isWanted: boolean
  /** The worktree that is reserved for its session. */
  reserved?: Worktree
  driver?: Driver
  open?: OpenSession
}

/** A waiting process takes 160 MB, one at work more, and processes at work come first. */
const ROOM_BYTES = 1024 ** 3
const TIGHT_BYTES = ROOM_BYTES / 2
const MEMORY_CHECK_MS = 5_000

/**
 * Processes that wait for the next task of a run while its current one works: one per run, and only beside a session that has
 * a process itself, so there are never more of them than sessions. Such a process belongs to no session yet: it calls no
 * model, and no row knows it. The run's next session takes over its marker; the driver checks whether the process fits, and
 * ends one that does not.
 */
export class WarmProcesses {
  readonly #deps: WarmProcessesDeps
  readonly #warm = new Map<string, WaitingProcess>()
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(deps: WarmProcessesDeps) {
    this.#deps = deps
  }

  /** Whether the process for this iteration exists, is being prepared, or was given up. */
  has(run: string, iteration: number): boolean {
    return this.#warm.get(run)?.iteration === iteration
  }

  /**
   * Starts the process of a run's next session once the agent of the current one is open. Resolves when it is ready, or was
   * given up.
   */
  async expect(expected: ExpectedSession): Promise<void> {
    const { id, iteration } = expected.request.run
    if (this.#closed || this.has(id, iteration)) return
    const warm: WaitingProcess = { iteration, marker: secretId(16), isWanted: true }
    this.#warm.set(id, warm)
    try {
      await this.#start(warm, expected)
    } catch (error) {
      // The cold start will meet the same error and report it.
      this.#deps.log.debug({ run: id, error }, 'not started ahead of time')
      await this.#release(warm)
    }
  }

  /** The marker for the row of the run's next session. */
  markerFor(run: string): string | undefined {
    const warm = this.#warm.get(run)
    return warm?.open && warm.marker
  }

  /**
   * Hands the marker over to a session, whose row has it now. A process of another driver than the session's is ended first,
   * because they share the marker.
   */
  async taken(run: string, driver: Driver): Promise<void> {
    const warm = this.#remove(run)
    if (warm?.open && warm.driver !== driver) await warm.driver?.cool(warm.open)
    if (!warm) return
    this.#deps.markers.forget(warm.marker)
    await this.#release(warm)
  }

  /** Ends the processes that other runs have waiting in this worktree: a session of this run, or of none, works there now. */
  async dropOthersIn({ top }: Pick<Worktree, 'top'>, run: string | undefined): Promise<void> {
    const others = [...this.#warm].filter(([id, { reserved }]) => id !== run && reserved?.top === top)
    await Promise.all(others.map(([id]) => this.drop(id)))
  }

  /** Ends a process that nobody needs any more. Resolves when it is gone. */
  async drop(run: string): Promise<void> {
    const warm = this.#remove(run)
    if (warm) await this.#end(warm)
  }

  /** The markers of all waiting processes. */
  markers(): string[] {
    return [...this.#warm.values()].map(({ marker }) => marker)
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#warm.keys()].map(run => this.drop(run)))
  }

  async #start(warm: WaitingProcess, { session, request, worktree }: ExpectedSession): Promise<void> {
    const { liveSession, prepare, markers, log, isCrowded, availableMemory } = this.#deps
    const current = liveSession(session)
    // This must not slow down the current session's own start, and a session that waits for a slot or a limit may wait for long.
    await current?.control.opened.promise
    if (!warm.isWanted || !current?.agent.session || isCrowded() || availableMemory() < ROOM_BYTES) return
    const prepared = await prepare(request)
    const { driver } = prepared
    if (!warm.isWanted || driver.cold) return
    const open =
      prepared.open.sandbox && worktree
        ? await this.#openInReserved(warm, { worktree, request, prepared })
        : prepared.open
    if (!warm.isWanted || !open) return this.#release(warm)
    markers.note(warm.marker)
    warm.driver = driver
    warm.open = { ...open, id: request.run.id, marker: warm.marker, asks: NOBODY }
    this.#timer ??= setInterval(() => this.#endWhenTight(), MEMORY_CHECK_MS).unref()
    log.debug({ run: request.run.id, iteration: warm.iteration }, 'the next agent is started ahead of time')
    await driver.warm(warm.open)
  }

  /** A sandbox is made around the folder of the work when the process starts, so the worktree must exist before. */
  async #openInReserved(
    warm: WaitingProcess,
    { worktree, request, prepared }: { worktree: WorktreeRequest; request: PrepareRequest; prepared: PreparedSession },
  ): Promise<PreparedSession['open'] | undefined> {
    const reserved = await this.#deps.worktrees.reserve(worktree, request)
    if (!reserved) return undefined
    warm.reserved = reserved
    const sandbox = await prepared.sandboxIn(reserved.top)
    return sandbox && { ...prepared.open, cwd: reserved.directory, sandbox }
  }

  /** Removes the worktree that was reserved, unless a session works in it by now. */
  async #release(warm: WaitingProcess): Promise<void> {
    if (warm.reserved) await this.#deps.worktrees.release(warm.reserved)
    delete warm.reserved
  }

  /** Ends the processes when memory is short. They stay in the map, so that none is started again for the same iteration. */
  #endWhenTight(): void {
    if (this.#deps.availableMemory() >= TIGHT_BYTES) return
    for (const [run, warm] of this.#warm) {
      if (!warm.open) continue
      this.#deps.log.info({ run }, 'memory is short: the next agent is not kept warm')
      void this.#end(warm)
    }
  }

  async #end(warm: WaitingProcess): Promise<void> {
    const { driver, open } = warm
    warm.isWanted = false
    delete warm.open
    if (!driver || !open) return
    await driver.cool(open)
    this.#deps.markers.forget(warm.marker)
    await this.#release(warm)
  }

  #remove(run: string): WaitingProcess | undefined {
    const warm = this.#warm.get(run)
    this.#warm.delete(run)
    if (warm) warm.isWanted = false
    if (this.#warm.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    return warm
  }
}

/** For a process that no session has taken yet: there is nobody to ask. */
const NOBODY: Asks = {
  permission: async () => ({ park: true, reason: 'no session yet' }),
  question: async () => ({ park: true, reason: 'no session yet' }),
}

/** Markers of processes that were started for a session without a row; once the row exists, it keeps the marker. */
export class WarmMarkers extends MarkerFiles {
  constructor(runDir: string) {
    super(join(runDir, 'warm'))
  }
}
