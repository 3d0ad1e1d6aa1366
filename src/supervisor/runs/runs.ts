import { isDeepStrictEqual } from 'node:util'
import { AppError, messageOf, PASSING_CODES } from '../../base/errors.ts'
import { shortId } from '../../base/ids.ts'
import { KeyedWorker } from '../../base/keyed-worker.ts'
import { brainKeysIn, settingsToKeep } from '../../domain/config/layers.ts'
import type { NotResumed, RunDetail, RunPlan, StartRun } from '../../domain/run.ts'
import type { Task } from '../../domain/task.ts'
import type { Tx } from '../../store/store.ts'
import type { RunRow } from '../../store/tables.ts'
import { findWaitFor } from '../../tasks/graph.ts'
import { checkProject } from '../context.ts'
import { waitsForAccount } from '../session/resume.ts'
import { advanceRun, endRun, noteReason, type RunManagerDeps } from './advance.ts'
import { findKeptApart } from './choose-task.ts'
import { openAttempts, SETTLED_BY_PERSON } from './close-attempt.ts'
import { overlap, targetName, waitsForPerson } from './next-step.ts'
import { noteObstacles, toObstacle } from './obstacles.ts'
import { planRun } from './plan-run.ts'

/** Events after which a run may begin a task, beside those of tasks. A merge that waits for a checkout leaves its slot. */
const WAKING = new Set(['session.ended', 'disk.freed', 'merge.held_up'])
/** Steps of a task that keep its place in the run: nothing can begin because of them. */
const STEPS = new Set(['task.verifying', 'task.verified', 'task.merging'])

/** Starts, steers and ends runs. A run is a row: after a restart the open runs go on. */
export class RunManager {
  readonly #deps: RunManagerDeps
  readonly #worker: KeyedWorker
  /** Runs whose sessions are being stopped. */
  readonly #clearing = new Set<string>()
  /** Sessions whose pause has not taken effect yet, with their run and what follows then: a run may go on before that. */
  readonly #pausing = new Map<string, { run: string; after: 'rests' | 'goes on' }>()

  constructor(deps: RunManagerDeps) {
    this.#deps = deps
    this.#worker = new KeyedWorker({
      work: async (id, closing) => {
        const at = await advanceRun(id, deps, { closing, mayEnd: () => this.#mayEnd(id) })
        return at === undefined ? undefined : at - deps.clock.now()
      },
      failed: (id, error) => this.#failed(id, error),
    })
  }

  /** Starts a run. Refused where another run works on the same tasks. `also` runs in the transaction that creates the run. */
  async start(
    { env, project: path, target, settings, ...rest }: StartRun,
    also?: (run: RunRow, tx: Tx) => Promise<void>,
  ): Promise<RunRow> {
    const { store, clock, kept } = this.#deps
    const project = await checkProject(path)
    await refuseWaitingTask(target, this.#deps.store)
    const { keepEnvironment, verify, parallel } = await this.#deps.settingsOf({
      project,
      options: { ...rest, settings },
    })
    // No secret is stored in a row: the brains' keys are kept with the environment.
    const options = { ...rest, verify, parallel, ...(settings && { settings: settingsToKeep(settings) }) }
    const row: RunRow = {
      ...{ id: shortId('r'), project, target, options, state: 'running', outcome: null, reason: null, gave_up: null },
      ...{ stopping: false, iterations: 0, created_at: clock.now(), ended_at: null },
    }
    await store.transaction(async tx => {
      const other = (await store.runs.list({ project, open: true }, tx)).find(run => overlap(run.target, target))
      if (other) throw new AppError('run_there', describeThere(other))
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

  /**
   * Hands the environment of a new run to a run of the same target that waits for its account or vendor to be mended, and lets that
   * one go on: a person who has set a new key types the same `pcc run` again. Undefined if there is no such run.
   */
  async resumeWithEnv({ env, project: path, target }: StartRun): Promise<RunRow | undefined> {
    const project = await checkProject(path)
    for (const run of await this.#deps.store.runs.list({ project, open: true })) {
      const isSame = run.state === 'running' && isDeepStrictEqual(run.target, target)
      if (!isSame || !(await this.#waitsForMending(run.id))) continue
      await this.resume(run.id, env)
      return run
    }
    return undefined
  }

  /** The tasks that a run would work through, in order. Starts nothing. */
  async plan({ env: _, project: path, target, ...options }: StartRun): Promise<RunPlan> {
    const project = await checkProject(path)
    await refuseWaitingTask(target, this.#deps.store)
    const settings = await this.#deps.settingsOf({ project, options })
    return planRun({ project, target, options }, settings, this.#deps)
  }

  /** Checks a run again: the run, one of its tasks or one of its sessions has changed. */
  look(id: string): void {
    void this.#worker.wake(id)
  }

  /** Checks what an earlier daemon left: open runs, and attempts that are still open although their run has ended. */
  async lookAtAll(): Promise<void> {
    await this.#lookAtOpenRuns()
    await this.#lookAtOpenAttempts()
  }

  /** Follows the events of sessions and tasks, and checks the runs that they may concern. */
  async follow(after: number, signal: AbortSignal): Promise<void> {
    const { store } = this.#deps
    for await (const { kind, subject } of store.follow(after, { signal, alone: true })) {
      const ended = kind === 'session.ended' ? await store.sessions.get(subject) : undefined
      const pausing = this.#pausing.get(subject)
      if (pausing?.after === 'goes on' && ended?.ended_as === 'paused') await this.#resumeSession(subject)
      // A person may have paused it anew meanwhile.
      if (ended && this.#pausing.get(subject) === pausing) this.#pausing.delete(subject)
      if (ended?.options.run) this.look(ended.options.run.id)
      if (WAKING.has(kind) || (kind.startsWith('task.') && !STEPS.has(kind))) await this.#lookAtOpenRuns()
      // A task may be verified and merged after its run has ended: its attempt is still closed then.
      if (kind === 'task.finished' || kind === 'task.readied' || kind === 'task.failed')
        await this.#lookAtOpenAttempts()
    }
  }

  /** A run whose sessions are being stopped, or go on as soon as their pause has taken effect, ends after that. */
  #mayEnd(id: string): boolean {
    const goesOn = [...this.#pausing.values()].some(({ run, after }) => run === id && after === 'goes on')
    return !goesOn && !this.#clearing.has(id)
  }

  async #lookAtOpenAttempts(): Promise<void> {
    for (const id of await this.#deps.store.runs.withOpenAttempts()) this.look(id)
  }

  async #lookAtOpenRuns(): Promise<void> {
    for (const { id } of await this.#deps.store.runs.list({ open: true })) this.look(id)
  }

  /** `after current`: no new task begins. `now`: its sessions at work are stopped too, and their tasks are ready again. */
  async stop(id: string, how: 'after current' | 'now'): Promise<void> {
    // A check in between would end the run before its sessions, and their tasks would not become ready again.
    if (how === 'now') this.#clearing.add(id)
    try {
      await this.#change(id, { stopping: true, state: 'running' })
      await this.#deps.warmth.drop(id)
      // The project may be being copied for the next task.
      if (how === 'now') this.#worker.abort(id)
      if (how === 'now') await this.#eachSession(id, (session, task) => this.#stopUnlessAsked(session, task))
      // While a run is paused, finished work is not verified or merged. The run must not end before that has happened.
      else await this.#deps.completeAgain()
    } finally {
      this.#clearing.delete(id)
      this.look(id)
    }
  }

  /** A person has settled, reset or cancelled tasks that were at work: their agents are stopped, and the runs go on. */
  async taken(tasks: readonly Pick<Task, 'run_id' | 'session_id'>[]): Promise<void> {
    for (const { run_id, session_id } of tasks) {
      if (session_id === null) continue
      if (run_id !== null) await this.#worker.idle(run_id)
      await this.#deps
        .stop(session_id, SETTLED_BY_PERSON)
        .catch(error => this.#deps.log.warn({ run: run_id, session: session_id, error }, 'not stopped'))
      if (run_id !== null) this.look(run_id)
    }
  }

  /**
   * Pauses a run: no new task begins, and its sessions stop after the tool in flight. It has no reason: what a person has paused
   * does not wait for them.
   */
  async pause(id: string): Promise<void> {
    await this.#change(id, { state: 'paused', reason: null })
    this.#worker.abort(id)
    await this.#deps.warmth.drop(id)
    await this.#eachSession(id, async session => {
      if (!(await this.#isOver(session))) this.#pausing.set(session, { run: id, after: 'rests' })
      await this.#deps.pause(session)
    })
  }

  /**
   * Goes on. With `env`, a run whose account cannot be used goes on with that environment, which may hold another key. Returns the
   * sessions that could not go on.
   */
  async resume(id: string, env?: Record<string, string>): Promise<NotResumed[]> {
    const replacing = env && (await this.#waitsForMending(id)) ? env : undefined
    if (replacing) await this.#keepEnvironment(id, replacing)
    // Its sessions come first: a check would take a session that is about to resume for one that waits, and begin another task.
    const failures = await this.#eachSession(id, async session => {
      // It may have to finish a call of the model first.
      if (this.#pausing.has(session) && !(await this.#isOver(session)))
        this.#pausing.set(session, { run: id, after: 'goes on' })
      else await this.#deps.resume(session, replacing)
    })
    await this.#change(id, { state: 'running', stopping: false, reason: null })
    // While the run was paused, finished work was not verified or merged.
    await this.#deps.completeAgain()
    this.look(id)
    return failures
  }

  /** Whether a session of the run waits for an account that a person has to mend, or for a vendor that does not answer. */
  async #waitsForMending(id: string): Promise<boolean> {
    const { store } = this.#deps
    for (const { session_id } of await openAttempts(id, store)) {
      const session = await store.sessions.get(session_id)
      if (session && (await waitsForAccount(session, store))) return true
    }
    return false
  }

  async #stopUnlessAsked(session: string, task: string): Promise<void> {
    if (!(await waitsForPerson(session, task, this.#deps.store))) await this.#deps.stop(session, 'its run was stopped')
  }

  async #isOver(session: string): Promise<boolean> {
    return (await this.#deps.store.sessions.get(session))?.state === 'ended'
  }

  async #resumeSession(id: string): Promise<void> {
    await this.#deps.resume(id).catch(error => this.#deps.log.warn({ session: id, error }, 'not resumed'))
  }

  async #keepEnvironment(id: string, env: Record<string, string>): Promise<void> {
    const { store, kept, settingsOf } = this.#deps
    const run = await store.runs.get(id)
    if (!run) return
    const { keepEnvironment } = await settingsOf(run)
    kept.keep(id, { ...brainKeysIn(kept.of(id) ?? {}), ...env }, { onDisk: keepEnvironment })
  }

  /**
   * Pauses all runs because a person stops the daemon: they go on when the person resumes them. Their sessions without a process
   * are paused too; the caller stops the others.
   */
  async pauseAll(why: string): Promise<void> {
    const { store } = this.#deps
    for (const { id, state } of await store.runs.list({ open: true })) {
      if (state === 'running') await store.runs.update(id, { state: 'paused', reason: why })
      for (const { session_id } of await openAttempts(id, store)) await this.#deps.pauseWaiting(session_id)
    }
  }

  /** The ready tasks of a run that wait because they will probably change the same files as one at work. */
  keptApart(run: RunRow): Promise<RunDetail['kept_apart']> {
    return findKeptApart(run, this.#deps.heldBack.apartIn(run.id), this.#deps.store)
  }

  close(): Promise<void> {
    return this.#worker.close()
  }

  /** Updates a run that is still open. A run that has ended stays ended. */
  async #change(id: string, patch: Partial<RunRow>): Promise<void> {
    const { runs, transaction } = this.#deps.store
    await transaction(async tx => {
      const run = await runs.get(id, tx)
      if (run?.state === 'ended')
        throw new AppError('run_over', { id, outcome: run.outcome ?? 'ended', project: run.project })
      await runs.update(id, patch, tx)
    })
  }

  /**
   * Applies `work` to each open session of a run, and returns those for which it failed. Waits for a check under way first: the session
   * that it starts has no row yet.
   */
  async #eachSession(id: string, work: (session: string, task: string) => Promise<void>): Promise<NotResumed[]> {
    await this.#worker.idle(id)
    const failures: NotResumed[] = []
    for (const { session_id: session, task_id } of await openAttempts(id, this.#deps.store)) {
      await work(session, task_id).catch(error => {
        this.#deps.log.warn({ run: id, session, error }, 'not steered')
        failures.push({ session, why: messageOf(error), ...(error instanceof AppError && { next: error.next }) })
      })
    }
    return failures
  }

  async #failed(id: string, error: unknown): Promise<undefined> {
    this.#deps.log.error({ run: id, error }, 'the run could not go on')
    await this.#recordFailure(id, error).catch(() => undefined) // the store itself may be what fails
  }

  /** A problem that passes by itself is waited for. Any other would keep the next task from beginning for ever: the run ends. */
  async #recordFailure(id: string, error: unknown): Promise<void> {
    const { store } = this.#deps
    const [run, open] = [await store.runs.get(id), await openAttempts(id, store)]
    if (!run || run.state === 'ended') return
    const reason = messageOf(error)
    const passes = !(error instanceof AppError) || PASSING_CODES.has(error.code)
    if (!passes && open.length === 0) await endRun(run, { outcome: 'failure', reason }, this.#deps)
    else await noteReason(run, reason, this.#deps)
    if (error instanceof AppError && error.code === 'disk_full')
      await noteObstacles(id, this.#deps, [toObstacle(error)])
  }
}

/** A run of one task that comes after others would end at once. */
async function refuseWaitingTask(target: RunRow['target'], { tasks }: Pick<RunManagerDeps['store'], 'tasks'>) {
  const task = target.kind === 'task' ? await tasks.get(target.id) : undefined
  const waits = task?.state === 'blocked' ? await findWaitFor(task, { tasks }) : undefined
  if (task && waits) throw new AppError('task_waits', { id: task.id, ...waits })
}

/** The message for a person who starts a run while another one is open there. */
function describeThere({ id, state, target, stopping }: RunRow) {
  const name = targetName(target)
  if (state === 'running' && stopping) {
    const next = `Let it go on with: pcc resume ${id}. Or end it now with: pcc stop ${id} --now`
    return { id, target: name, does: 'was stopped, and still has work under way of', next }
  }
  if (state !== 'paused')
    return { id, target: name, does: 'is already working on', next: `Watch it with: pcc attach ${id}` }
  const next = `Let it go on with: pcc resume ${id}. Or end it with: pcc stop ${id}`
  return { id, target: name, does: 'is paused, and is still there for', next }
}
