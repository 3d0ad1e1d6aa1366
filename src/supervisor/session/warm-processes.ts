import { join } from 'node:path'
import { crashPoint } from '../../base/crash-point.ts'
import { secretId } from '../../base/ids.ts'
import { isInside } from '../../base/is-inside.ts'
import type { Log } from '../../base/log.ts'
import { MarkerFiles, sessionMarker } from '../../base/process/marker.ts'
import { isMarked } from '../../base/process/process-table.ts'
import type { Asks, Driver, OpenSession, Session } from '../../domain/session.ts'
import type { Worktree } from '../../domain/worktree.ts'
import type { LiveSession, LiveSessionEnding } from './context.ts'
import type { PreparedSession, PrepareRequest } from './prepare.ts'
import { reuseFacts, whyFresh } from './reuse.ts'
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
  /** How many processor cores have nothing to do. */
  freeCores(): Promise<number>
}

/** How the next session of a run is likely to be started. */
export interface ExpectedSession {
  /** The session that works now. */
  session: string
  request: PrepareRequest & { run: NonNullable<PrepareRequest['run']> }
  /** The worktree in which the session will work, which does not exist yet; undefined if it works in the project itself. */
  worktree: WorktreeRequest | undefined
  /** How many processor cores must have nothing to do. */
  freeCores: number
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

/** A process whose session is over and which waits for the next one of its run in the same folder. */
interface KeptProcess {
  run: string
  folder: string
  driver: Driver
  open: OpenSession
}

/** A waiting process takes 160 MB, one at work more, and processes at work come first. */
const ROOM_BYTES = 1024 ** 3
const TIGHT_BYTES = ROOM_BYTES / 2
const MEMORY_CHECK_MS = 5_000

/**
 * Processes that wait for the next task of a run. Such a process belongs to no session: it calls no model, and no row knows it. The run's
 * next session takes over its marker; the driver checks whether the process fits, and ends one that does not.
 *
 * There are two kinds. The process of a session that is over is *kept*, where the driver can begin a fresh conversation in it. Where that is
 * not to be expected, or as soon as it is not any more, a process is started *ahead* while the current task works: one per run, only beside a session that has a process
 * itself, and only while a processor core is free. On busy cores it would slow the task down by what it saves after it.
 */
export class WarmProcesses {
  readonly #deps: WarmProcessesDeps
  readonly #warm = new Map<string, WaitingProcess>()
  /** By marker. */
  readonly #kept = new Map<string, KeptProcess>()
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(deps: WarmProcessesDeps) {
    this.#deps = deps
  }

  /** Whether the process for this iteration exists, is being prepared, or was given up. */
  has(run: string, iteration: number): boolean {
    return this.#warm.get(run)?.iteration === iteration || this.#keptOf(run).length > 0
  }

  /**
   * Keeps the process of a session that ends for the next one of its run, if nothing speaks against it. False if it has to be closed.
   * Until a row has its marker again, a file keeps that.
   */
  async keep(live: LiveSession, session: Session, ending: LiveSessionEnding): Promise<boolean> {
    const { markers, log } = this.#deps
    const { settings, row } = live
    const { marker } = settings.open
    const [run, why] = [row.options.run?.id, whyFresh(reuseFacts(live, { session, ending, isTight: this.#isTight() }))]
    if (this.#closed || run === undefined || marker === undefined || why !== undefined) {
      if (run !== undefined) log.debug({ run, session: live.id, why }, 'its process is not kept')
      return false
    }
    markers.note(marker)
    const doubt = await session.release?.()
    if (doubt !== undefined) {
      markers.forget(marker)
      log.debug({ run, session: live.id, why: doubt }, 'its process is not kept')
      return false
    }
    const { driver, open } = settings
    this.#kept.set(marker, { run, folder: open.cwd, driver, open: { ...open, asks: NOBODY } })
    crashPoint('keep.after-release')
    this.#watchMemory()
    if (this.#closed) await this.#dropKept(marker)
    return true
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

  /** The run's next session is about to be started in this folder, which is ready for it: a process that is kept there forgets the last one. */
  clearAhead(run: string, folder: string): void {
    for (const [, process] of this.#keptOf(run))
      if (process.folder === folder) process.driver.clearAhead?.(process.open)
  }

  /** The marker for the row of the run's next session, which will work in this folder. */
  markerFor(run: string, folder: string): string | undefined {
    const [kept] = this.#keptOf(run).filter(([, process]) => process.folder === folder)
    const warm = this.#warm.get(run)
    return kept?.[0] ?? (warm?.open && warm.marker)
  }

  /**
   * Hands the marker over to a session, whose row has it now and which will work in this folder. A process that cannot serve it is ended first:
   * one of another driver, because they share the marker, and one that waits in a worktree that is removed now, because its sandbox would put back
   * files of git that are removed.
   */
  async taken(
    run: string,
    { marker, driver, folder }: { marker: string | null; driver: Driver; folder: string },
  ): Promise<void> {
    const kept = this.#kept.get(marker ?? '')
    if (kept && marker !== null) {
      this.#kept.delete(marker)
      if (kept.driver !== driver) await kept.driver.cool(kept.open)
      this.#deps.markers.forget(marker)
    }
    const warm = this.#remove(run)
    if (!warm) return
    if (kept) return this.#end(warm)
    const fits = warm.driver === driver && (!warm.reserved || warm.open?.cwd === folder)
    if (warm.open && !fits) await warm.driver?.cool(warm.open)
    this.#deps.markers.forget(warm.marker)
    await this.#release(warm)
  }

  /** Ends the processes that other runs have waiting in this worktree: a session of this run, or of none, works there now. */
  async dropOthersIn({ top }: Pick<Worktree, 'top'>, run: string | undefined): Promise<void> {
    const others = [...this.#warm].filter(([id, { reserved }]) => id !== run && reserved?.top === top)
    const kept = [...this.#kept].filter(([, process]) => process.run !== run && isInside(process.folder, top))
    await Promise.all([...others.map(([id]) => this.drop(id)), ...kept.map(([marker]) => this.#dropKept(marker))])
  }

  /** Ends the processes that are kept in this folder: a session goes on there in a process of its own. */
  dropKeptIn(folder: string): Promise<void> {
    return this.#dropKeptWhere(process => process.folder === folder)
  }

  /** Ends the processes that are kept in this worktree, which is about to be removed. */
  dropKeptBelow(top: string): Promise<void> {
    return this.#dropKeptWhere(process => isInside(process.folder, top))
  }

  async #dropKeptWhere(isMeant: (process: KeptProcess) => boolean): Promise<void> {
    const kept = [...this.#kept].filter(([, process]) => isMeant(process))
    await Promise.all(kept.map(([marker]) => this.#dropKept(marker)))
  }

  /** Ends the processes of a run, because nobody needs them any more. Resolves when they are gone. */
  async drop(run: string): Promise<void> {
    const warm = this.#remove(run)
    await Promise.all([warm && this.#end(warm), ...this.#keptOf(run).map(([marker]) => this.#dropKept(marker))])
  }

  /** Whether a process belongs to an agent that is kept: it does nothing until the next session takes it. */
  isKept(pid: number): boolean {
    return [...this.#kept.keys()].some(marker => isMarked(pid, sessionMarker(marker)))
  }

  /** The markers of all waiting processes. */
  markers(): string[] {
    return [...[...this.#warm.values()].map(({ marker }) => marker), ...this.#kept.keys()]
  }

  async close(): Promise<void> {
    this.#closed = true
    const kept = [...this.#kept.keys()].map(marker => this.#dropKept(marker))
    await Promise.all([...kept, ...[...this.#warm.keys()].map(run => this.drop(run))])
  }

  async #start(warm: WaitingProcess, expected: ExpectedSession): Promise<void> {
    const { session, request, worktree } = expected
    const { liveSession, prepare, markers, log } = this.#deps
    const current = liveSession(session)
    // This must not slow down the current session's own start, and a session that waits for a slot or a limit may wait for long.
    await current?.control.opened.promise
    const agent = current?.agent.session
    if (!warm.isWanted || !agent) return
    if (isLikelyKept(current, agent) && !(await agent.servesNoOther)) return
    if (!warm.isWanted || this.#isTight() || !(await this.#areFree(expected.freeCores)) || !warm.isWanted) return
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
    this.#watchMemory()
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

  #isTight(): boolean {
    return this.#deps.isCrowded() || this.#deps.availableMemory() < ROOM_BYTES
  }

  async #areFree(cores: number): Promise<boolean> {
    return cores === 0 || (await this.#deps.freeCores()) >= cores
  }

  #watchMemory(): void {
    this.#timer ??= setInterval(() => this.#endWhenTight(), MEMORY_CHECK_MS).unref()
  }

  #keptOf(run: string): [string, KeptProcess][] {
    return [...this.#kept].filter(([, process]) => process.run === run)
  }

  async #dropKept(marker: string): Promise<void> {
    const kept = this.#kept.get(marker)
    this.#kept.delete(marker)
    if (!kept) return
    await kept.driver.cool(kept.open)
    this.#deps.markers.forget(marker)
    this.#stopWatchingIfIdle()
  }

  /** Ends the processes when memory is short. They stay in the map, so that none is started again for the same iteration. */
  #endWhenTight(): void {
    if (this.#deps.availableMemory() >= TIGHT_BYTES) return
    for (const [run, warm] of this.#warm) {
      if (!warm.open) continue
      this.#deps.log.info({ run }, 'memory is short: the next agent is not kept warm')
      void this.#end(warm)
    }
    for (const marker of this.#kept.keys()) void this.#dropKept(marker)
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
    this.#stopWatchingIfIdle()
    return warm
  }

  #stopWatchingIfIdle(): void {
    if (this.#warm.size + this.#kept.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** Whether the process of the session at work will probably serve the next one, if its task ends well. */
function isLikelyKept(live: LiveSession, session: Session): boolean {
  return session.mayServeAnother === true && whyFresh(reuseFacts(live, { session, isTight: false })) === undefined
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
