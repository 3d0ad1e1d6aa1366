import { AppError, messageOf } from '../../base/errors.ts'
import { shortId } from '../../base/ids.ts'
import { KeyedWorker } from '../../base/keyed-worker.ts'
import { brainKeysIn, settingsToKeep } from '../../domain/config/layers.ts'
import type { RunPlan, StartRun } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import type { Tx } from '../../store/store.ts'
import type { RunRow } from '../../store/tables.ts'
import { checkProject } from '../context.ts'
import { advanceRun, endRun, type RunManagerDeps } from './advance.ts'
import { openAttempts, SETTLED_BY_PERSON } from './close-attempt.ts'
import { overlap, PASSING_CODES, targetName } from './next-step.ts'
import { planRun } from './plan-run.ts'

/** Runs that drain a target, a fresh session per task. They are rows: a restart goes on with those that are open. */
export class RunManager {
  readonly #deps: RunManagerDeps
  readonly #worker: KeyedWorker
  /** Those whose sessions are being stopped. */
  readonly #clearing = new Set<string>()

  constructor(deps: RunManagerDeps) {
    this.#deps = deps
    this.#worker = new KeyedWorker({
      work: async (id, closing) => {
        const at = await advanceRun(id, deps, { closing, mayEnd: () => !this.#clearing.has(id) })
        return at === undefined ? undefined : at - deps.clock.now()
      },
      failed: (id, error) => this.#failed(id, error),
    })
  }

  /** Refused where another run is at the same tasks. `also` happens with it or not at all. */
  async start(
    { env, project: path, target, settings, ...rest }: StartRun,
    also?: (run: RunRow, tx: Tx) => Promise<void>,
  ): Promise<RunRow> {
    const { store, clock, kept } = this.#deps
    const project = await checkProject(path)
    const { keepEnvironment, verify, parallel } = await this.#deps.settingsOf({
      project,
      options: { ...rest, settings },
    })
    // No secret is stored in a row: the brains' keys lie with the environment.
    const options = { ...rest, verify, parallel, ...(settings && { settings: settingsToKeep(settings) }) }
    const row: RunRow = {
      ...{ id: shortId('r'), project, target, options, state: 'running', outcome: null, reason: null, gave_up: null },
      ...{ stopping: false, iterations: 0, created_at: clock.now(), ended_at: null },
    }
    await store.transaction(async tx => {
      const other = (await store.runs.list({ project, open: true }, tx)).find(run => overlap(run.target, target))
      if (other) throw new AppError('run_there', { id: other.id, target: targetName(other.target) })
      await store.runs.insert(row, tx)
      await also?.(row, tx)
      await tx.append([
        { actor: 'cli', subject: row.id, kind: 'run.started', body: { project, target: targetName(target) } },
      ])
    })
    kept.keep(row.id, { ...env, ...brainKeysIn(settings ?? {}) }, { onDisk: keepEnvironment })
    this.look(row.id)
    return row
  }

  /** What a run would work through; nothing is started. */
  async plan({ env: _, project: path, target, ...options }: StartRun): Promise<RunPlan> {
    const project = await checkProject(path)
    const settings = await this.#deps.settingsOf({ project, options })
    return planRun({ project, target, options }, settings, this.#deps)
  }

  /** Something about a run, its tasks or its sessions has changed. */
  look(id: string): void {
    void this.#worker.wake(id)
  }

  /** What an earlier life of the daemon left: runs that are open, and attempts that outlived theirs. */
  async lookAtAll(): Promise<void> {
    await this.#lookAtOpen()
    await this.#lookAtLate()
  }

  /** Follows what happens to sessions and tasks, and looks at the runs that it may concern. */
  async follow(after: number, signal: AbortSignal): Promise<void> {
    const { store } = this.#deps
    for await (const { kind, subject } of store.follow(after, { signal, alone: true })) {
      const run = kind === 'session.ended' ? (await store.sessions.get(subject))?.options.run : undefined
      if (run) this.look(run.id)
      if (kind === 'session.ended' || kind === 'disk.freed' || kind.startsWith('task.')) await this.#lookAtOpen()
      // What was called done lands although its run has ended meanwhile: its attempt is closed then.
      if (kind === 'task.finished' || kind === 'task.readied' || kind === 'task.failed') await this.#lookAtLate()
    }
  }

  async #lookAtLate(): Promise<void> {
    for (const id of await this.#deps.store.runs.withOpenAttempts()) this.look(id)
  }

  async #lookAtOpen(): Promise<void> {
    for (const { id } of await this.#deps.store.runs.list({ open: true })) this.look(id)
  }

  /** `after current`: no new task begins. `now`: its sessions are stopped too, and their tasks given back. */
  async stop(id: string, how: 'after current' | 'now'): Promise<void> {
    // Looked at meanwhile it would be over before its sessions are, and their tasks would not be given back.
    if (how === 'now') this.#clearing.add(id)
    try {
      await this.#change(id, { stopping: true, state: 'running' })
      await this.#deps.warmth.drop(id)
      if (how === 'now') await this.#each(id, session => this.#deps.stop(session, 'its run was stopped'))
      // Had it been paused, what its sessions called done was left as it was, and the run waits for that.
      else await this.#deps.completeAgain()
    } finally {
      this.#clearing.delete(id)
      this.look(id)
    }
  }

  /** A person has said what becomes of tasks that were at work: their agents are stopped, and the runs go on. */
  async taken(tasks: readonly Pick<Task, 'run_id' | 'session_id'>[]): Promise<void> {
    for (const { run_id, session_id } of tasks) {
      if (run_id === null || session_id === null) continue
      await this.#worker.idle(run_id)
      await this.#deps
        .stop(session_id, SETTLED_BY_PERSON)
        .catch(error => this.#deps.log.warn({ run: run_id, session: session_id, error }, 'not stopped'))
      this.look(run_id)
    }
  }

  /** No new task begins, and its sessions stop after the tool in flight. */
  async pause(id: string): Promise<void> {
    await this.#change(id, { state: 'paused' })
    await this.#deps.warmth.drop(id)
    await this.#each(id, session => this.#deps.pause(session))
  }

  async resume(id: string): Promise<void> {
    // Its sessions first: while one of them is on its way a look would take it for one that waits, and begin another beside it.
    await this.#each(id, session => this.#deps.resume(session))
    await this.#change(id, { state: 'running', stopping: false, reason: null })
    // What its sessions called done before that was left as it was.
    await this.#deps.completeAgain()
    this.look(id)
  }

  /**
   * A person stops the daemon, and thereby all that works in it: runs are paused, as sessions are stopped, and go on when the
   * person says so. Their sessions that have no process are paused with them; the others are the caller's.
   */
  async pauseAll(why: string): Promise<void> {
    const { store } = this.#deps
    for (const { id, state } of await store.runs.list({ open: true })) {
      if (state === 'running') await store.runs.update(id, { state: 'paused', reason: why })
      for (const { session_id } of await openAttempts(id, store)) await this.#deps.pauseWaiting(session_id)
    }
  }

  close(): Promise<void> {
    return this.#worker.close()
  }

  /** What a person says of a run that has ended meanwhile must not bring it back. */
  async #change(id: string, patch: Partial<RunRow>): Promise<void> {
    const { runs, transaction } = this.#deps.store
    await transaction(async tx => {
      const run = await runs.get(id, tx)
      if (run?.state === 'ended') throw new AppError('run_over', { id, outcome: run.outcome ?? 'ended' })
      await runs.update(id, patch, tx)
    })
  }

  /** A session that is just being started is no session yet that could be steered: the look that starts it is waited for. */
  async #each(id: string, work: (session: string) => Promise<void>): Promise<void> {
    await this.#worker.idle(id)
    for (const { session_id } of await openAttempts(id, this.#deps.store)) {
      await work(session_id).catch(error => this.#deps.log.warn({ run: id, session: session_id, error }, 'not steered'))
    }
  }

  async #failed(id: string, error: unknown): Promise<undefined> {
    this.#deps.log.error({ run: id, error }, 'the run could not go on')
    await this.#couldNotGoOn(id, error).catch(() => undefined) // the store itself may be what fails
  }

  /** What passes by itself is waited for; anything else would stand in the way of the next task for ever. */
  async #couldNotGoOn(id: string, error: unknown): Promise<void> {
    const { store } = this.#deps
    const [run, open] = [await store.runs.get(id), await openAttempts(id, store)]
    if (!run || run.state === 'ended') return
    const reason = messageOf(error)
    const passes = !(error instanceof AppError) || PASSING_CODES.has(error.code)
    if (!passes && open.length === 0) await endRun(run, { outcome: 'failure', reason }, this.#deps)
    else await store.runs.update(id, { reason })
  }
}
