import { AppError } from '../base/errors.ts'
import { secretId, shortId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import { shellWord } from '../base/shell-word.ts'
import type { StartSession } from '../domain/api.ts'
import type { AnsweredEscalation, EscalationAnswer } from '../domain/escalation.ts'
import type { NewEvent } from '../domain/event.ts'
import { lateAnswer } from '../human/late-answer.ts'
import type { Parked, SessionRow } from '../store/tables.ts'
import { Admission } from './admission.ts'
import { answerTo, givenAnswer } from './asks/given-answer.ts'
import { endAgent } from './end-agent.ts'
import type { Ending, Parts, Run } from './run.ts'
import { runSession } from './run-session.ts'
import { settle } from './settle.ts'
import { settlePatiently } from './settle-patiently.ts'
import { admit } from './start/admit.ts'
import { checkProject } from './start/check-project.ts'
import { checkRecord } from './start/check-record.ts'
import { checkResume } from './start/check-resume.ts'
import { claimParked } from './start/claim-parked.ts'
import { HeldConversations } from './start/held-conversations.ts'
import { answeredInWords, inWords } from './start/in-words.ts'
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
  /** Resolves when the row is this run's, with the decision that was settled by it. */
  saved: Promise<AnsweredEscalation | undefined>
  /** Resolves when the session is settled and its agent gone. */
  done: Promise<void>
}

/** What a parked session goes on with. */
export interface Resumption {
  said: EscalationAnswer
  /** It is settled already. */
  settled?: boolean
  env: Record<string, string>
}

/** The sessions that run now. Everything that outlives them is in their rows. */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #live = new Map<string, Live>()
  readonly #admission = new Admission()
  readonly #conversations = new HeldConversations()
  readonly #closing = new AbortController()

  constructor(options: SupervisorOptions) {
    this.#options = options
  }

  get liveCount(): number {
    return [...this.#live.values()].filter(({ run }) => run.row.state !== 'ended').length
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
    const [ready] = await Promise.all([this.#prepare({ ...request, project }), this.#left(request.resume?.vendor_id)])
    checkResume(request, ready.driver)
    await checkRecord(request.record)
    const { env: _, ...options } = request
    this.#refuseWhenClosed()
    using _held = this.#conversations.take(resumeOf(request), this.#runs())
    const row = await store.transaction(async tx => {
      const rows = await tx.db.selectFrom('sessions').select(['id', 'name']).execute()
      const taken = new Set(rows.flatMap(({ id, name }) => [id, id.replace(/^s-/, ''), name]))
      const inserted = await store.sessions.insert(
        {
          id: freeId(taken),
          name: uniqueName(request.name ?? nameFromTask(request.task), taken),
          project,
          task: request.task,
          agent: ready.driver.agent,
          model: request.model ?? null,
          options: { ...options, ...ready.settings, project },
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
    const { run } = this.#launch(row, ready, { prompt: request.task, resume: resumeOf(request) })
    await run.placed.promise
    return run.row
  }

  /**
   * Starts a parked session again; the call that waited gets the answer, and the decision is settled by it. An answer that
   * settled it in an earlier life of the daemon is only brought to the agent.
   */
  async resumeParked(row: SessionRow, { said, settled, env }: Resumption): Promise<AnsweredEscalation | undefined> {
    const { parked, vendor_id: vendorId } = row
    if (!parked || vendorId === null) throw new AppError('ask_unknown', { id: row.id, ask: parked?.ask_id ?? '' })
    await checkProject(row.project)
    const ready = await this.#prepare({ ...row.options, project: row.project, env })
    if (row.account !== null && ready.account !== row.account) {
      throw new AppError('account_differs', { id: row.id, project: shellWord(row.project), vendor_id: vendorId })
    }
    await this.#free(row.id, parked)
    this.#refuseWhenClosed()
    // From here to `#launch` nothing is awaited before the session counts as live. What happened to the row while this was
    // prepared (another answer, a stop) is seen by `claimParked`.
    using _held = this.#conversations.take({ vendorId, fork: false }, this.#runs())
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
    // The call of a taken question is settled in the conversation; only words can follow it.
    const taken = 'taken' in parked ? { question: parked, answer: answerTo(parked.questions, said) } : undefined
    if (taken) patch.parked = null
    const start: Start = taken
      ? { prompt: inWords(taken.question, taken.answer), taken: taken.question }
      : { answer: givenAnswer(parked, said) }
    const resume = { vendorId, fork: false }
    const claim = () => claimParked(this.#options, { id: row.id, parked, said: settled ? undefined : said, patch })
    const answered = await this.#launch({ ...row, ...patch }, ready, { ...start, resume, claim }).saved
    if (taken) await this.#options.store.append([answeredInWords(row.id, taken.question, taken.answer)])
    return answered
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
    this.#closing.abort()
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

  #runs(): Run[] {
    return [...this.#live.values()].map(({ run }) => run)
  }

  #refuseWhenClosed(): void {
    if (this.#closing.signal.aborted) throw new AppError('daemon_stopping', {})
  }

  /** Resolves when no agent is still leaving that conversation: two must not write to it. */
  async #left(vendorId: string | undefined): Promise<void> {
    const leaving = [...this.#live.values()].filter(
      ({ run: { row } }) => vendorId !== undefined && row.vendor_id === vendorId && row.state === 'ended',
    )
    await Promise.all(leaving.map(({ done }) => done))
  }

  /** Resolves when the session is not live: its agent has left, or whoever wanted to take it up did not get it. */
  async #free(id: string, { ask_id, number }: Parked): Promise<void> {
    for (let live = this.#live.get(id); live; live = this.#live.get(id)) {
      const taken =
        live.run.row.state !== 'ended' &&
        (await live.saved.then(
          () => true,
          () => false,
        ))
      if (taken) {
        const escalation = number === undefined ? undefined : await this.#options.store.escalations.get(number)
        throw escalation ? lateAnswer(escalation) : new AppError('ask_unknown', { id, ask: ask_id })
      }
      await live.done
    }
  }

  /** A terminal that has announced itself counts as attached while it connects. */
  #expectPerson(id: string): void {
    const leave = this.#options.terminals.attach(id)
    setTimeout(leave, ATTACH_GRACE_MS).unref()
  }

  #launch(row: SessionRow, ready: Preparation, start: Start): Pick<Live, 'run' | 'saved'> {
    const run = newRun(row, ready, { ...start, log: this.#options.log.child({ session: row.id }) })
    const saved = start.claim?.() ?? Promise.resolve(undefined)
    const done = saved.then(
      () => this.#runToEnd(run, ready),
      () => undefined, // `saved` is the caller's to hear about
    )
    this.#live.set(row.id, { run, saved, done: done.finally(() => this.#live.delete(row.id)) })
    return { run, saved }
  }

  async #runToEnd(run: Run, ready: Preparation): Promise<void> {
    const forget = this.#options.log.hide(ready.secrets)
    run.log.info({ agent: ready.driver.agent, project: run.row.project }, 'session started')
    try {
      using place = await admit(run, {
        admission: this.#admission,
        max: ready.maxConcurrent,
        ready,
        parts: this.#options,
      })
      const ending = place ? await runSession(run, this.#options) : stoppedWhileWaiting(run)
      await settlePatiently(run, this.#options, { ending, signal: this.#closing.signal })
    } catch (error) {
      // The store failed for long; the row stays as it was and shows as interrupted, because nobody runs it.
      run.log.error({ error }, 'session could not be settled')
    } finally {
      run.placed.resolve()
      forget()
    }
  }
}

function stoppedWhileWaiting({ stopping }: Run): Ending {
  return { as: 'stopped', reason: stopping ?? 'stopped before it had a place' }
}

/** An id that is neither another session's id nor, since either will do to name one, its name. */
function freeId(taken: ReadonlySet<string>): string {
  for (;;) {
    const id = shortId('s')
    if (!taken.has(id) && !taken.has(id.replace(/^s-/, ''))) return id
  }
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
