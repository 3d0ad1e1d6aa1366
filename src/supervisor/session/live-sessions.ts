import type { Log } from '../../base/log.ts'
import type { AnsweredEscalation } from '../../domain/escalation.ts'
import type { SessionRow } from '../../store/tables.ts'
import { SpendingMeter } from '../../tasks/budgets.ts'
import { needsCompletion } from '../completion/work.ts'
import { openSessionGuards } from '../guards/session-guards.ts'
import { type AdmissionQueue, admit, isCalledOff } from './admission.ts'
import { asksFor } from './asks.ts'
import { endingIfShut } from './between-turns.ts'
import { saveCheckpoint } from './checkpoints.ts'
import type { LiveSession, LiveSessionEnding, SessionDeps } from './context.ts'
import { paused, stopped } from './endings.ts'
import { isOver, type KeptEnvironments } from './kept-environments.ts'
import type { PreparedSession } from './prepare.ts'
import { runTask } from './run-task.ts'
import { cutOffEnding, settleWithRetries } from './settle.ts'
import { endAgent } from './stop-agent.ts'

export interface LaunchedSession {
  run: LiveSession
  /** Resolves when the row is this run's, with the decision that was settled by it. */
  saved: Promise<AnsweredEscalation | undefined>
  /** Resolves when the session is settled and its agent gone. */
  done: Promise<void>
}

export interface LiveSessionsDeps {
  deps: SessionDeps
  admission: AdmissionQueue
  kept: KeptEnvironments
  log: Log
  /** Aborted when the daemon leaves. */
  closing: AbortSignal
  /** What becomes of an ending where another agent can go on. */
  handOver(ending: LiveSessionEnding, run: LiveSession, ready: PreparedSession): Promise<LiveSessionEnding>
  /** A session begins. */
  launched(): void
  /** A session was settled: one that waits has a time in its row now. */
  settled(row: SessionRow): void
}

/** The sessions that run now: each from its place in the line to the moment its agent is gone. */
export class LiveSessions {
  readonly #of: LiveSessionsDeps
  readonly #live = new Map<string, LaunchedSession>()

  constructor(of: LiveSessionsDeps) {
    this.#of = of
  }

  get(id: string): LaunchedSession | undefined {
    return this.#live.get(id)
  }

  all(): LaunchedSession[] {
    return [...this.#live.values()]
  }

  runs(): LiveSession[] {
    return this.all().map(({ run }) => run)
  }

  /** Runs a session in the background. It counts as live before this returns. */
  launch(row: SessionRow, ready: PreparedSession, start: SessionLaunch): Pick<LaunchedSession, 'run' | 'saved'> {
    const now = this.#of.deps.clock.now()
    const run = createLiveSession(row, ready, { ...start, log: this.#of.log.child({ session: row.id }), now })
    const saved = start.claim?.() ?? Promise.resolve(undefined)
    const done = saved.then(
      () => this.#runToEnd(run, ready),
      () => undefined, // `saved` is the caller's to hear about
    )
    this.#live.set(row.id, { run, saved, done: done.finally(() => this.#live.delete(row.id)) })
    return { run, saved }
  }

  /** Ends a live session and waits until its agent is gone. */
  async stop(id: string, reason: string): Promise<void> {
    const live = this.#live.get(id)
    if (!live) return
    live.run.stopping ??= reason
    this.#of.admission.withdraw(id)
    await endAgent(live.run, live.done)
    await live.done
  }

  /**
   * Asks a live session to stop after the tool in flight; one that waits for its place has nothing in flight, and one whose
   * end is being written down is only waited for.
   */
  async pause(id: string): Promise<void> {
    const live = this.#live.get(id)
    if (!live) return
    if (live.run.over) return live.done
    live.run.pausing = 'person'
    if (this.#of.admission.withdraw(id)) return live.done
    await live.run.opened.promise
    if (!live.run.session) return live.done // it never came to open its agent
    // One that has not introduced itself yet has nothing in flight, and no turn that could be paused.
    if (live.run.row.state === 'starting') await live.run.session?.[Symbol.asyncDispose]()
    else await live.run.session?.pause()
  }

  async #runToEnd(run: LiveSession, ready: PreparedSession): Promise<void> {
    const { deps, admission, kept, log, closing, settled, launched, handOver } = this.#of
    const forget = log.hide(ready.secrets)
    run.log.info({ agent: ready.driver.agent, project: run.row.project }, 'session started')
    try {
      keepEnvironment(run, kept, ready)
      const shut = await endingIfShut(run, deps)
      using place = shut ? undefined : await admit(run, { admission, max: ready.maxConcurrent, ready, deps })
      const waits = shut && !isCalledOff(run) ? shut : endingOfWithdrawn(run)
      launched()
      const met = cutOffEnding(place ? await runTask(run, deps) : waits, run, deps.clock.now())
      const { checkpoint: reason, parked, task } = met
      if (reason && run.row.vendor_id !== null) await saveCheckpoint(run, deps, { reason, parked, task })
      const ending = await handOver(met, run, ready)
      await settleWithRetries(run, deps, { ending, signal: closing })
      // As it was written down: an answer that is still on its way keeps a session that failed from being over.
      if (isOver(run.row.ended_as) && !mayComeBack(run)) kept.forget(run.id)
    } catch (error) {
      // The store failed for long; the row stays as it was and shows as interrupted, because nobody runs it.
      run.log.error({ error }, 'session could not be settled')
    } finally {
      run.placed.resolve()
      run.opened.resolve()
      // One that never came to open its agent leaves the process that waited for it.
      await run.driver.cool({ ...run.open, asks: asksFor(run, deps) }).catch(() => undefined)
      forget()
      settled(run.row)
    }
  }
}

/** Its work is looked at now, and may be sent back to it: landing forgets what is kept for it. */
function mayComeBack({ row }: LiveSession): boolean {
  return row.ended_as === 'completed' && needsCompletion(row)
}

function keepEnvironment(run: LiveSession, kept: KeptEnvironments, ready: PreparedSession): void {
  const { brainKeys, othersEnv, keepEnvironment: onDisk } = ready
  try {
    kept.keep(run.id, { ...othersEnv, ...run.open.env, ...brainKeys }, { onDisk })
  } catch (error) {
    run.log.warn({ error }, 'its environment could not be kept; it will not go on by itself after a restart')
  }
}

/** It took no task, so none is put down. */
function endingOfWithdrawn(run: LiveSession): LiveSessionEnding {
  const { stopping, pausing } = run
  const ending = stopping === undefined && pausing === 'person' ? paused('person', run) : stopped(stopping ?? 'stopped')
  return { ...ending, task: undefined, checkpoint: undefined }
}

/** How a session begins: with a prompt, or with the answer to a call that waits. */
export interface SessionLaunch {
  prompt?: string
  resume?: { vendorId: string; fork: boolean } | undefined
  answer?: LiveSession['answer']
  /** The parked question that `prompt` answers in words. */
  taken?: LiveSession['taken']
  /** Takes the row before the agent starts; throws when it is not there to be taken. */
  claim?: () => Promise<AnsweredEscalation | undefined>
}

/** A run before its agent is open. */
function createLiveSession(
  row: SessionRow,
  ready: PreparedSession,
  start: SessionLaunch & { log: Log; now: number },
): LiveSession {
  const guards = openSessionGuards(ready.guards, start.now)
  return {
    id: row.id,
    row,
    driver: ready.driver,
    open: {
      ...ready.open,
      id: row.id,
      prompt: start.prompt,
      resume: start.resume,
      marker: row.marker ?? undefined,
    },
    policy: ready.policy,
    heldEnough: ready.heldEnough,
    guard: guards.before(ready.guard),
    renew: undefined,
    log: start.log,
    calls: new Map(),
    toolCalls: new Map(),
    callWaiters: new Map(),
    hearing: false,
    parking: new Map(),
    answer: start.answer,
    taken: start.taken,
    before: {
      input_tokens: row.input_tokens,
      output_tokens: row.output_tokens,
      cost_usd: row.cost_usd,
      turns: row.turns,
    },
    secrets: ready.secrets,
    mind: ready.mind,
    failover: ready.failover,
    requirements: row.options.requirements,
    proseAnswers: 0,
    attempt: undefined,
    consent: ready.consent,
    quota: ready.quota,
    budgets: ready.budgets,
    budgetsNow: ready.budgetsNow,
    meter: new SpendingMeter(row.turns),
    guards,
    warned: new Map(),
    answered: false,
    trying: false,
    compaction: undefined,
    checkpointedAt: start.now,
    withstood: false,
    checkpointEveryMs: ready.checkpointEveryMs,
    begunAt: start.now,
    retryMs: ready.retryMs,
    session: undefined,
    opened: Promise.withResolvers(),
    placed: Promise.withResolvers(),
    stopping: undefined,
    cutOff: false,
    pausing: undefined,
    tripped: undefined,
    over: false,
  }
}
