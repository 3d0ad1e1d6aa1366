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
  live: LiveSession
  /** Resolves when the row belongs to this live session, with the escalation that the claim settled. */
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
  handOver(ending: LiveSessionEnding, live: LiveSession, ready: PreparedSession): Promise<LiveSessionEnding>
  /** A session begins. */
  launched(): void
  /** A session was settled: one that waits has a time in its row now. */
  settled(row: SessionRow): void
}

/** The sessions that run now: each from its place in the line to the moment its agent is gone. */
export class LiveSessions {
  readonly #of: LiveSessionsDeps
  readonly #launched = new Map<string, LaunchedSession>()

  constructor(of: LiveSessionsDeps) {
    this.#of = of
  }

  get(id: string): LaunchedSession | undefined {
    return this.#launched.get(id)
  }

  all(): LiveSession[] {
    return this.launched().map(({ live }) => live)
  }

  launched(): LaunchedSession[] {
    return [...this.#launched.values()]
  }

  /** Runs a session in the background. It counts as live before this returns. */
  launch(row: SessionRow, ready: PreparedSession, start: SessionLaunch): Pick<LaunchedSession, 'live' | 'saved'> {
    const now = this.#of.deps.clock.now()
    const live = createLiveSession(row, ready, { ...start, log: this.#of.log.child({ session: row.id }), now })
    const saved = start.claim?.() ?? Promise.resolve(undefined)
    const done = saved.then(
      () => this.#runToEnd(live, ready),
      () => undefined, // `saved` is the caller's to hear about
    )
    this.#launched.set(row.id, { live, saved, done: done.finally(() => this.#launched.delete(row.id)) })
    return { live, saved }
  }

  /** Ends a live session and waits until its agent is gone. */
  async stop(id: string, reason: string): Promise<void> {
    const launched = this.#launched.get(id)
    if (!launched) return
    launched.live.stopping ??= reason
    this.#of.admission.withdraw(id)
    await endAgent(launched.live, launched.done)
    await launched.done
  }

  /**
   * Asks a live session to stop after the tool in flight; one that waits for its place has nothing in flight, and one whose
   * end is being written down is only waited for.
   */
  async pause(id: string): Promise<void> {
    const launched = this.#launched.get(id)
    if (!launched) return
    if (launched.live.over) return launched.done
    launched.live.pausing = 'person'
    if (this.#of.admission.withdraw(id)) return launched.done
    await launched.live.opened.promise
    if (!launched.live.session) return launched.done // it never came to open its agent
    // One that has not introduced itself yet has nothing in flight, and no turn that could be paused.
    if (launched.live.row.state === 'starting') await launched.live.session?.[Symbol.asyncDispose]()
    else await launched.live.session?.pause()
  }

  async #runToEnd(live: LiveSession, ready: PreparedSession): Promise<void> {
    const { deps, admission, kept, log, closing, settled, launched, handOver } = this.#of
    const forget = log.hide(ready.secrets)
    live.log.info({ agent: ready.driver.agent, project: live.row.project }, 'session started')
    try {
      keepEnvironment(live, kept, ready)
      const shut = await endingIfShut(live, deps)
      using place = shut ? undefined : await admit(live, { admission, max: ready.maxConcurrent, ready, deps })
      const waits = shut && !isCalledOff(live) ? shut : endingOfWithdrawn(live)
      launched()
      const met = cutOffEnding(place ? await runTask(live, deps) : waits, live, deps.clock.now())
      const { checkpoint: reason, parked, task } = met
      if (reason && live.row.vendor_id !== null) await saveCheckpoint(live, deps, { reason, parked, task })
      const ending = await handOver(met, live, ready)
      await settleWithRetries(live, deps, { ending, signal: closing })
      // As it was written down: an answer that is still on its way keeps a session that failed from being over.
      if (isOver(live.row.ended_as) && !mayComeBack(live)) kept.forget(live.id)
    } catch (error) {
      // The store failed for long; the row stays as it was and shows as interrupted, because nobody runs it.
      live.log.error({ error }, 'session could not be settled')
    } finally {
      live.placed.resolve()
      live.opened.resolve()
      // One that never came to open its agent leaves the process that waited for it.
      await live.driver.cool({ ...live.open, asks: asksFor(live, deps) }).catch(() => undefined)
      forget()
      settled(live.row)
    }
  }
}

/** Its work is looked at now, and may be sent back to it: landing forgets what is kept for it. */
function mayComeBack({ row }: LiveSession): boolean {
  return row.ended_as === 'completed' && needsCompletion(row)
}

function keepEnvironment(live: LiveSession, kept: KeptEnvironments, ready: PreparedSession): void {
  const { brainKeys, othersEnv, keepEnvironment: onDisk } = ready
  try {
    kept.keep(live.id, { ...othersEnv, ...live.open.env, ...brainKeys }, { onDisk })
  } catch (error) {
    live.log.warn({ error }, 'its environment could not be kept; it will not go on by itself after a restart')
  }
}

/** It took no task, so none is put down. */
function endingOfWithdrawn(live: LiveSession): LiveSessionEnding {
  const { stopping, pausing } = live
  const ending =
    stopping === undefined && pausing === 'person' ? paused('person', live) : stopped(stopping ?? 'stopped')
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
