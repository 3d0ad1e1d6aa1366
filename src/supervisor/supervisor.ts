import { AppError } from '../base/errors.ts'
import { secretId, shortId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import type { StartSession } from '../domain/api.ts'
import type { NewEvent } from '../domain/event.ts'
import type { Answer } from '../domain/session.ts'
import type { Tx } from '../store/store.ts'
import type { SessionRow } from '../store/tables.ts'
import { Admission } from './admission.ts'
import { endAgent } from './end-agent.ts'
import type { Ending, Parts, Run } from './run.ts'
import { runSession } from './run-session.ts'
import { settle } from './settle.ts'
import { admit } from './start/admit.ts'
import { checkProject } from './start/check-project.ts'
import { newRun, type Start } from './start/new-run.ts'
import type { Preparation, PrepareParts } from './start/prepare.ts'
import { nameFromTask, uniqueName } from './start/session-name.ts'

export interface SupervisorOptions extends Parts, PrepareParts {
  /** This boot of the daemon: the owner of every session it runs. */
  bootId: string
  log: Log
}

interface Live {
  run: Run
  /** Resolves when the session is settled and its agent gone. */
  done: Promise<void>
}

/** The sessions that run now. Everything that outlives them is in their rows. */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #live = new Map<string, Live>()
  readonly #admission = new Admission()
  #closed = false

  constructor(options: SupervisorOptions) {
    this.#options = options
  }

  get liveCount(): number {
    return this.#live.size
  }

  /** The live session with this id, if it is one. */
  run(id: string): Run | undefined {
    return this.#live.get(id)?.run
  }

  /** Makes the session's row and starts its agent in the background. */
  async start(request: StartSession): Promise<SessionRow> {
    this.#refuseWhenClosed()
    const { store } = this.#options
    const project = await checkProject(request.project)
    const ready = await this.#prepare({ ...request, project })
    const { env: _, ...options } = request
    this.#refuseWhenClosed()
    const row = await store.transaction(async tx => {
      const names = await tx.db.selectFrom('sessions').select('name').execute()
      const inserted = await store.sessions.insert(
        {
          id: await this.#freeId(tx),
          name: uniqueName(request.name ?? nameFromTask(request.task), new Set(names.map(({ name }) => name))),
          project,
          task: request.task,
          agent: ready.driver.agent,
          model: request.model ?? null,
          options: { ...options, project },
          owner: this.#options.bootId,
          state: 'starting',
          account: ready.account,
          marker: secretId(16),
          started_at: this.#options.clock.now(),
        },
        tx,
      )
      await tx.append(firstEvents(inserted, request, ready.notes))
      return inserted
    })
    if (request.attach) this.#expectPerson(row.id)
    this.#launch(row, ready, { prompt: request.task, resume: resumeOf(request) })
    return row
  }

  /** Starts a parked session again; the call that waited gets the answer. */
  async resumeParked(row: SessionRow, answer: Answer, env: Record<string, string>): Promise<void> {
    const { parked, vendor_id: vendorId } = row
    if (!parked || vendorId === null) throw new AppError('ask_unknown', { id: row.id, ask: parked?.ask_id ?? '' })
    await checkProject(row.project)
    const ready = await this.#prepare({ ...row.options, project: row.project, env })
    this.#refuseWhenClosed()
    // From here to `#launch` nothing is awaited before the session counts as live: of two answers the first one wins.
    if (this.#live.has(row.id)) throw new AppError('ask_unknown', { id: row.id, ask: parked.ask_id })
    const patch: Partial<SessionRow> = {
      state: 'starting',
      owner: this.#options.bootId,
      ended_as: null,
      ended_at: null,
      status_reason: null,
      resumes_at: null,
      account: ready.account,
      marker: secretId(16),
    }
    const start = { resume: { vendorId, fork: false }, answer: { callId: parked.call_id, answer }, first: patch }
    await this.#launch({ ...row, ...patch }, ready, start).saved
  }

  /** Ends a live session and waits until its agent is gone. */
  async stop(id: string, reason: string): Promise<void> {
    const live = this.#live.get(id)
    if (!live) return
    live.run.stopping ??= reason
    this.#admission.withdraw(id)
    await endAgent(live.run, live.done)
    await live.done
  }

  /** No new sessions; every live one is stopped. Resolves when all are settled. */
  async close(reason: string): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#live.keys()].map(id => this.stop(id, reason)))
  }

  /** Markers of the processes of every live session. */
  liveMarkers(): string[] {
    return [...this.#live.values()].flatMap(({ run }) => run.row.marker ?? [])
  }

  /** Settles what would not end; their processes are the caller's to sweep. */
  async abandon(reason: string): Promise<void> {
    for (const { run } of this.#live.values()) await settle(run, this.#options, { as: 'stopped', reason })
  }

  /** Imported on use: what reads settings and trust is memory that a daemon without sessions need not hold. */
  async #prepare(request: StartSession): Promise<Preparation> {
    const { prepare } = await import('./start/prepare.ts')
    return prepare(request, this.#options)
  }

  #refuseWhenClosed(): void {
    if (this.#closed) throw new AppError('daemon_stopping', {})
  }

  async #freeId(tx: Tx): Promise<string> {
    for (;;) {
      const id = shortId('s')
      if (!(await this.#options.store.sessions.get(id, tx))) return id
    }
  }

  /** A terminal that has announced itself counts as attached while it connects. */
  #expectPerson(id: string): void {
    const leave = this.#options.terminals.attach(id)
    setTimeout(leave, ATTACH_GRACE_MS).unref()
  }

  #launch(row: SessionRow, ready: Preparation, start: Start): { saved: Promise<void> } {
    const run = newRun(row, ready, { ...start, log: this.#options.log.child({ session: row.id }) })
    const saved = start.first ? this.#options.store.sessions.update(row.id, start.first) : Promise.resolve()
    const done = saved.then(() => this.#runToEnd(run, ready)).finally(() => this.#live.delete(row.id))
    this.#live.set(row.id, { run, done })
    // `saved` is the caller's to hear about; `done` never fails, see #runToEnd.
    done.catch(() => {})
    return { saved }
  }

  async #runToEnd(run: Run, ready: Preparation): Promise<void> {
    const forget = this.#options.log.hide(ready.secrets)
    run.log.info({ agent: ready.driver.agent, project: run.row.project }, 'session started')
    try {
      using place = await admit(run, { admission: this.#admission, max: ready.maxConcurrent, parts: this.#options })
      const ending = place ? await runSession(run, this.#options) : stoppedWhileWaiting(run)
      await settle(run, this.#options, ending)
    } catch (error) {
      // The store failed; the row stays as it was and shows as interrupted after the next start.
      run.log.error({ error }, 'session could not be settled')
    } finally {
      forget()
    }
  }
}

function stoppedWhileWaiting({ stopping }: Run): Ending {
  return { as: 'stopped', reason: stopping ?? 'stopped before it had a place' }
}

/** Longer than any client needs to open its stream, short enough that a lost one does not hold an agent up. */
const ATTACH_GRACE_MS = 10_000

function resumeOf({ resume }: StartSession): { vendorId: string; fork: boolean } | undefined {
  return resume && { vendorId: resume.vendor_id, fork: resume.fork }
}

function firstEvents(row: SessionRow, request: StartSession, notes: string[]): NewEvent[] {
  const { id: subject, name, project, task, agent } = row
  const resumed = request.resume ? { resumed: request.resume.vendor_id } : {}
  return [
    { actor: 'cli', subject, kind: 'session.created', body: { name, project, task, agent, ...resumed } },
    ...notes.map(text => ({ actor: 'daemon', subject, kind: 'session.noted' as const, body: { text } })),
  ]
}
