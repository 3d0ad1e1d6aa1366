import { AppError, messageOf } from '../../base/errors.ts'
import { KeyedWorker } from '../../base/keyed-worker.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { refuseWithSurvivors } from '../context.ts'
import { driveTask, inOneTransaction } from './drive.ts'
import { type CompletionDeps, type MergeTarget, openMergeQueues } from './merge-queues.ts'
import { askPerson, endSessionAs, TROUBLE_TOOL } from './moves.ts'
import { COMPLETION_STATES, type FinishedWork, findCompletingTask, findWork, isCompleting } from './work.ts'

/** What could not be verified for now is tried again after this. */
const RETRY_MS = 15_000

/**
 * What happens between an agent's "done" and its task being done: verified, sent back, merged, or brought before a person. All of
 * it stands in rows; a restart looks at what is in `verifying` and `merging` and goes on.
 */
export class Completion {
  readonly #deps: CompletionDeps
  readonly #slots: Slots
  readonly #queues: KeyedWorker<MergeTarget>
  readonly #worker: KeyedWorker

  constructor(deps: CompletionDeps) {
    this.#deps = deps
    this.#slots = new Slots(deps.atOnce)
    this.#queues = openMergeQueues(deps)
    this.#worker = new KeyedWorker({
      work: (task, signal) => this.#complete(task, signal),
      failed: (task, error) => this.#couldNot(task, error).catch(() => RETRY_MS), // the store itself may be what fails
    })
  }

  /** Something about a task, its session or its merge has changed. */
  look(task: string): void {
    void this.#worker.wake(task)
  }

  /** What an earlier life of the daemon left, or what may go on by now. */
  async lookAtAll(): Promise<void> {
    await this.#deps.merges.recover()
    await this.lookAgain()
    for (const queue of await this.#deps.merges.lanes()) void this.#queues.wake(queue)
  }

  /** All that is to land: an account is open again, a run goes on. */
  async lookAgain(): Promise<void> {
    for (const { id } of await this.#deps.supervisor.deps.store.tasks.list({ states: COMPLETION_STATES })) this.look(id)
  }

  /** Follows what happens to tasks, and what people say. */
  async follow(after: number, signal: AbortSignal): Promise<void> {
    const { store } = this.#deps.supervisor.deps
    for await (const event of store.follow(after, { signal, alone: true })) await this.#heard(event)
  }

  /** The task of a session that is to land, if it has one. */
  async of(session: string): Promise<string | undefined> {
    return (await findCompletingTask(session, this.#deps.supervisor.deps.store))?.id
  }

  /** A person says to look once more at what they were asked about. */
  async again(task: string): Promise<void> {
    const { deps } = this.#deps.supervisor
    const { openEscalations } = await import('../../human/escalations.ts')
    const work = await findWork(task, deps.store)
    if (!work) return
    await deps.store.transaction(tx => openEscalations(deps).withdraw(work.session.id, 'it is looked at again', tx))
    this.look(task)
  }

  /** Its session, or its run, is stopped: gates that run are ended, and the task is given back. Resolves when they are gone. */
  async stop(session: string, reason: string): Promise<void> {
    const { supervisor, merges } = this.#deps
    const { store, tasks } = supervisor.deps
    const task = await findCompletingTask(session, store)
    if (!task) return
    merges.interrupt(task.id)
    await this.#worker.end(task.id)
    // Its target is being moved this moment: it is in there, or not, when that is over.
    const open = await merges.open(task.id)
    if (open?.state === 'landing') await this.#queues.idle(open)
    await inOneTransaction(this.#deps, async tx => {
      const work = await findWork(task.id, store, tx)
      if (!work || work.session.id !== session) return
      const merge = await merges.open(task.id, tx)
      if (merge) await merges.abort(merge, reason, tx)
      const why = `${reason}; it was not verified to the end`
      await tasks.transition(task.id, { to: 'ready', reason: why, attempt: work.task.attempt }, tx)
      await endSessionAs(work.session, { status: 'stopped', reason }, supervisor, tx)
    })
    supervisor.kept.forget(session)
  }

  /** Nothing new begins; what runs is ended and goes on with the next daemon. */
  async close(): Promise<void> {
    await Promise.all([this.#worker.close(), this.#queues.close()])
  }

  async #heard({ kind, subject, body }: StoredEvent): Promise<void> {
    if (kind === 'escalation.answered') {
      const task = await this.of(subject)
      if (task) this.look(task)
      return
    }
    if (!kind.startsWith('task.') || !('task_id' in body)) return
    const { task_id: id } = body
    if (kind === 'task.verifying' || kind === 'task.merging') this.look(id)
    else if (OVER_EVENTS.has(kind)) await this.#left(id)
  }

  /** It is not on its way any more: by our own hand, or a person has said what becomes of it. */
  async #left(id: string): Promise<void> {
    const { store } = this.#deps.supervisor.deps
    const task = await store.tasks.get(id)
    if (task && isCompleting(task)) return
    this.#worker.abort(id)
    this.#deps.merges.interrupt(id)
    const merge = await this.#deps.merges.open(id)
    if (merge) void this.#queues.wake(merge)
    // A run that is over has attempts that outlive it.
    for (const run of new Set((await store.runs.attempts({ task: id })).map(({ run_id }) => run_id)))
      this.#deps.ended(run)
    const session = task?.session_id
    if (task?.state !== 'done' || !session || task.run_id !== null) return
    await this.#deps.nudge(session).catch(error => {
      this.#deps.supervisor.log.warn({ session, problem: messageOf(error) }, 'its next task could not begin')
    })
  }

  /** Verifies and merges a task as far as that goes now. */
  async #complete(id: string, signal: AbortSignal): Promise<number | undefined> {
    await this.#agentIsGone(id)
    const driven = await driveTask(id, { deps: this.#deps, signal, turn: wait => this.#slots.take(wait) })
    if (driven.over) {
      return driven.lookAgainAt === undefined ? undefined : driven.lookAgainAt - this.#deps.supervisor.deps.clock.now()
    }
    const merge = await this.#deps.merges.open(id)
    if (merge) void this.#queues.wake(merge)
    return undefined
  }

  /** Whoever wrote the work must not be able to write any more when it is looked at. */
  async #agentIsGone(id: string): Promise<void> {
    const { supervisor } = this.#deps
    const session = (await supervisor.deps.store.tasks.get(id))?.session_id
    if (!session) return
    await supervisor.sessions.get(session)?.done
    await refuseWithSurvivors(session, supervisor)
  }

  /** What passes by itself is tried again; anything else a person has to know. */
  async #couldNot(id: string, error: unknown): Promise<number | undefined> {
    const { supervisor } = this.#deps
    supervisor.log.error({ task: id, error }, 'its work could not be looked at')
    const code = error instanceof AppError ? error.code : undefined
    if (code !== undefined && PASSING_CODES.has(code)) return RETRY_MS
    const work = await findWork(id, supervisor.deps.store)
    if (!work || (await this.#isAsked(work))) return undefined
    const why = `It could not be verified: ${messageOf(error)}`
    await inOneTransaction(this.#deps, tx => askPerson(work, why, supervisor, tx))
    return undefined
  }

  /** Every look fails as the one before it while the cause lasts: a person hears of it once. */
  async #isAsked({ session }: FinishedWork): Promise<boolean> {
    const open = await this.#deps.supervisor.deps.store.escalations.list({ session: session.id, states: ['open'] })
    return open.some(({ tool }) => tool === TROUBLE_TOOL)
  }
}

const PASSING_CODES = new Set(['disk_full', 'store_unusable', 'daemon_stopping', 'place_busy'])

/** Into these a task comes when it is no longer on its way. */
const OVER_EVENTS = new Set([
  'task.finished',
  'task.failed',
  'task.cancelled',
  'task.readied',
  'task.blocked',
  'task.deleted',
])

/** Lets so many in at once; the others wait in the order in which they came. */
class Slots {
  readonly #most: number
  readonly #waiting: (() => void)[] = []
  #inside = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Resolves with a turn, which ends when it is disposed; with nothing where the signal ended the wait. */
  async take(signal: AbortSignal): Promise<Disposable | undefined> {
    if (signal.aborted) return undefined
    if (this.#inside < this.#most) this.#inside += 1
    else if (!(await this.#wait(signal))) return undefined
    return { [Symbol.dispose]: () => this.#leave() }
  }

  /** Whoever leaves hands the turn on: it is never free in between. */
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
