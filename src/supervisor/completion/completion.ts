import { RETRY_MS } from '../../base/clock.ts'
import { AppError, messageOf, PASSING_CODES } from '../../base/errors.ts'
import { KeyedWorker } from '../../base/keyed-worker.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { Tx } from '../../store/store.ts'
import { changeMergeIn } from '../../workspace/merge/merge-state.ts'
import { refuseWithSurvivors } from '../context.ts'
import type { CompletionDeps } from './context.ts'
import { driveTask, inOneTransaction } from './drive.ts'
import { MergeQueues } from './merge-queues.ts'
import { askPerson, endSessionAs, TROUBLE_TOOL } from './moves.ts'
import { type LandedOutside, landOutside, type OutsideReport, returnDone } from './outside.ts'
import { COMPLETION_STATES, type FinishedWork, findCompletingTask, findWork, isCompleting } from './work.ts'

/**
 * What happens between an agent's "done" and its task being done: the work is verified, then sent back, merged, or shown to a
 * person. Everything is in rows: after a restart, tasks in the states `verifying` and `merging` go on.
 */
export class Completion {
  readonly #deps: CompletionDeps
  readonly #slots: Slots
  readonly #queues: MergeQueues
  readonly #worker: KeyedWorker

  constructor(deps: CompletionDeps) {
    this.#deps = deps
    this.#slots = new Slots(deps.atOnce)
    this.#queues = new MergeQueues(deps)
    this.#worker = new KeyedWorker({
      work: (task, signal) => this.#complete(task, signal),
      failed: (task, error) => this.#handleFailure(task, error).catch(() => RETRY_MS), // the store itself may be what fails
    })
  }

  /** Something about a task, its session or its merge has changed. */
  look(task: string): void {
    void this.#worker.wake(task)
  }

  /** Recovers and continues what an earlier daemon left unfinished. */
  async lookAtAll(): Promise<void> {
    await this.#queues.recover()
    await this.checkAgain()
    await this.#queues.wakeAll()
  }

  /** Looks at every completing task, because an account is open again or a run was resumed. */
  async checkAgain(): Promise<void> {
    for (const { id } of await this.#deps.supervisor.deps.store.tasks.list({ states: COMPLETION_STATES })) this.look(id)
  }

  /** Follows what happens to tasks, and what people answer. */
  async follow(after: number, signal: AbortSignal): Promise<void> {
    const { store } = this.#deps.supervisor.deps
    for await (const event of store.follow(after, { signal, alone: true })) await this.#onEvent(event)
  }

  /** The completing task of a session, if it has one. */
  async of(session: string): Promise<string | undefined> {
    return (await findCompletingTask(session, this.#deps.supervisor.deps.store))?.id
  }

  /** Withdraws the question about a task and looks at the task again, because a person wants that. */
  async again(task: string): Promise<void> {
    const { deps } = this.#deps.supervisor
    const { openEscalations } = await import('../../human/escalations.ts')
    const work = await findWork(task, deps.store)
    if (!work) return
    await deps.store.transaction(tx => openEscalations(deps).withdraw(work.session.id, 'it is looked at again', tx))
    this.look(task)
  }

  /** Sends the work of a done task back to its conversation, in the caller's transaction. Returns why that is not possible. */
  async returnDone(task: string, report: OutsideReport, tx: Tx): Promise<string | undefined> {
    return returnDone(task, report, this.#deps.supervisor, tx)
  }

  /**
   * Records that the work of a task was merged outside, in the caller's transaction. Returns the tasks whose agents are to be stopped
   * after it, and what cleans up.
   */
  async landOutside(task: string, landed: LandedOutside, tx: Tx) {
    const { merge, ...after } = await landOutside(task, landed, this.#deps.supervisor, tx)
    return { ...after, cleanUp: async () => void (merge && (await this.#queues.cleanUp(merge))) }
  }

  /** Ends the gates of a session that is stopped, or whose run is, and makes its task ready again. Resolves when the gates are gone. */
  async stop(session: string, reason: string): Promise<void> {
    const { supervisor } = this.#deps
    const { store, tasks } = supervisor.deps
    const task = await findCompletingTask(session, store)
    if (!task) return
    this.#queues.interrupt(task.id)
    await this.#worker.end(task.id)
    // While its target is being moved, nobody can say whether the target holds the work.
    const open = await store.merges.open(task.id)
    if (open?.state === 'landing') await this.#queues.idle(open)
    await inOneTransaction(this.#deps, async tx => {
      const work = await findWork(task.id, store, tx)
      if (!work || work.session.id !== session) return
      const merge = await store.merges.open(task.id, tx)
      if (merge) await changeMergeIn(merge, { state: 'aborted', reason }, supervisor.deps, tx)
      const why = `${reason}; it was not verified to the end`
      await tasks.transition(task.id, { to: 'ready', reason: why, attempt: work.task.attempt }, tx)
      await endSessionAs(work.session, { status: 'stopped', reason }, supervisor, tx)
    })
    supervisor.kept.forget(session)
  }

  /** Ends what runs; the next daemon continues it. Nothing new begins. */
  async close(): Promise<void> {
    await Promise.all([this.#worker.close(), this.#queues.close()])
  }

  async #onEvent({ kind, subject, body }: StoredEvent): Promise<void> {
    if (kind === 'escalation.answered') {
      const task = await this.of(subject)
      if (task) this.look(task)
      return
    }
    if (!kind.startsWith('task.') || !('task_id' in body)) return
    const { task_id: id } = body
    if (kind === 'task.verifying' || kind === 'task.merging') this.look(id)
    else if (END_EVENTS.has(kind)) await this.#left(id)
  }

  /** Ends what runs for a task that is no longer completing, and lets its run or session go on. */
  async #left(id: string): Promise<void> {
    const { store } = this.#deps.supervisor.deps
    const task = await store.tasks.get(id)
    if (task && isCompleting(task)) return
    this.#deps.supervisor.deps.memory.poke()
    this.#worker.abort(id)
    this.#queues.interrupt(id)
    const merge = await store.merges.open(id)
    if (merge) this.#queues.wake(merge)
    await this.#wakeRuns(id)
    const session = task?.session_id
    if (task?.state !== 'done' || !session || task.run_id !== null) return
    await this.#deps.nudge(session).catch(error => {
      this.#deps.supervisor.log.warn({ session, problem: messageOf(error) }, 'its next task could not begin')
    })
  }

  /** An attempt may outlive its run, so the runs of all attempts are woken. */
  async #wakeRuns(task: string): Promise<void> {
    const attempts = await this.#deps.supervisor.deps.store.runs.attempts({ task })
    for (const run of new Set(attempts.map(({ run_id }) => run_id))) this.#deps.wakeRun(run)
  }

  /** Verifies a task and has it merged, as far as that is possible now. */
  async #complete(id: string, signal: AbortSignal): Promise<number | undefined> {
    await this.#waitForAgentToEnd(id)
    const driven = await driveTask(id, { deps: this.#deps, signal, turn: wait => this.#slots.take(wait) })
    if (driven.over) {
      // The task may wait for a person now, which no event of the task says: its run begins other tasks meanwhile.
      await this.#wakeRuns(id)
      return driven.checkAgainAt === undefined
        ? undefined
        : driven.checkAgainAt - this.#deps.supervisor.deps.clock.now()
    }
    const merge = await this.#deps.supervisor.deps.store.merges.open(id)
    if (merge) this.#queues.wake(merge)
    return undefined
  }

  /** The agent must not be able to change its work while that is verified. */
  async #waitForAgentToEnd(id: string): Promise<void> {
    const { supervisor } = this.#deps
    const session = (await supervisor.deps.store.tasks.get(id))?.session_id
    if (!session) return
    await supervisor.sessions.get(session)?.done
    await refuseWithSurvivors(session, supervisor)
  }

  /** Tries again after a problem that passes by itself; asks a person about any other. */
  async #handleFailure(id: string, error: unknown): Promise<number | undefined> {
    const { supervisor } = this.#deps
    supervisor.log.error({ task: id, error }, 'its work could not be looked at')
    if (error instanceof AppError && PASSING_CODES.has(error.code)) return RETRY_MS
    const work = await findWork(id, supervisor.deps.store)
    if (!work || (await this.#isAsked(work))) return undefined
    const why = `It could not be verified: ${messageOf(error)}`
    await inOneTransaction(this.#deps, tx => askPerson(work, why, supervisor, tx))
    await this.#wakeRuns(id)
    return undefined
  }

  /** Whether a person was already asked: while the cause lasts, every look fails in the same way. */
  async #isAsked({ session }: FinishedWork): Promise<boolean> {
    const open = await this.#deps.supervisor.deps.store.escalations.list({ session: session.id, states: ['open'] })
    return open.some(({ tool }) => tool === TROUBLE_TOOL)
  }
}

/** The events of a task that is no longer completing. */
const END_EVENTS = new Set([
  'task.finished',
  'task.failed',
  'task.cancelled',
  'task.readied',
  'task.blocked',
  'task.deleted',
])

/** Gives out a limited number of turns; who gets none waits, in the order in which they asked. */
class Slots {
  readonly #most: number
  readonly #waiting: (() => void)[] = []
  #inside = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Resolves with a turn, which ends when it is disposed; with nothing if the signal ended the wait. */
  async take(signal: AbortSignal): Promise<Disposable | undefined> {
    if (signal.aborted) return undefined
    if (this.#inside < this.#most) this.#inside += 1
    else if (!(await this.#wait(signal))) return undefined
    return { [Symbol.dispose]: () => this.#leave() }
  }

  /** A turn that ends goes straight to the next who waits: it is never free in between. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#inside -= 1
  }

  #wait(signal: AbortSignal): Promise<boolean> {
    return new Promise(resolve => {
      const enter = () => {
        signal.removeEventListener('abort', leave)
        resolve(true)
      }
      const leave = () => {
        const at = this.#waiting.indexOf(enter)
        if (at >= 0) this.#waiting.splice(at, 1)
        resolve(false)
      }
      this.#waiting.push(enter)
      signal.addEventListener('abort', leave, { once: true })
    })
  }
}
