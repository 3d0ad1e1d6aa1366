import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { PurposeSplit } from '../../domain/budget.ts'
import type { AnsweredEscalation } from '../../domain/escalation.ts'
import { isFinal } from '../../domain/session-end.ts'
import type { SessionRow } from '../../store/tables.ts'
import { SpendingMeter } from '../../tasks/budgets.ts'
import { needsCompletion } from '../completion/work.ts'
import { openSessionGuards } from '../guards/session-guards.ts'
import { type AdmissionQueue, admit, isCalledOff } from './admission.ts'
import { asksFor } from './asks.ts'
import { endingIfShut } from './between-turns.ts'
import { saveCheckpoint } from './checkpoints.ts'
import type { LiveAgent, LiveSession, LiveSessionEnding, SessionDeps } from './context.ts'
import { paused, stopped } from './endings.ts'
import type { KeptEnvironments } from './kept-environments.ts'
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
  /** Changes an ending where another agent can take over. */
  handOver(ending: LiveSessionEnding, live: LiveSession, ready: PreparedSession): Promise<LiveSessionEnding>
  /** Called when a session begins. */
  launched(): void
  /** Called when a session was settled: one that waits has a time in its row now. */
  settled(row: SessionRow): void
}

/** The live sessions: each from its place in the line to the moment its agent is gone. */
/** A login that is refused is refused within a second; one that works must not keep a person waiting. */
const TRY_MS = 5_000

export class LiveSessions {
  readonly #deps: LiveSessionsDeps
  readonly #launched = new Map<string, LaunchedSession>()

  constructor(deps: LiveSessionsDeps) {
    this.#deps = deps
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
    const now = this.#deps.deps.clock.now()
    const live = createLiveSession(row, ready, { ...start, log: this.#deps.log.child({ session: row.id }), now })
    const saved = start.claim?.() ?? Promise.resolve(undefined)
    const done = saved.then(
      () => this.#runToEnd(live, ready),
      () => undefined, // the caller handles the rejection of `saved`
    )
    if (ready.knowledge.enabled && ready.knowledge.autoIndex) void this.#indexProject(live)
    this.#launched.set(row.id, { live, saved, done: done.finally(() => this.#launched.delete(row.id)) })
    return { live, saved }
  }

  /** Waits until a session has no process, for some moments: a try of a login that does not hold is over then. */
  async waitForTry(id: string): Promise<void> {
    const done = this.#launched.get(id)?.done
    if (!done) return
    const waiting = new AbortController()
    await Promise.race([done, sleep(TRY_MS, undefined, { signal: waiting.signal }).catch(() => undefined)])
    waiting.abort()
  }

  /** Ends a live session and waits until its agent is gone. */
  async stop(id: string, reason: string): Promise<void> {
    const launched = this.#launched.get(id)
    if (!launched) return
    launched.live.control.stopping ??= reason
    this.#deps.admission.withdraw(id)
    await endAgent(launched.live, launched.done)
    await launched.done
  }

  /**
   * Asks a live session to stop after the tool in flight. A session that waits for its place has nothing in flight; for one
   * whose ending is being stored this only waits.
   */
  async pause(id: string): Promise<void> {
    const launched = this.#launched.get(id)
    if (!launched) return
    if (launched.live.control.over) return launched.done
    launched.live.control.pausing = 'person'
    if (this.#deps.admission.withdraw(id)) return launched.done
    await launched.live.control.opened.promise
    if (!launched.live.agent.session) return launched.done // its agent was never opened
    // An agent that has not introduced itself yet has nothing in flight, and no turn that could be paused.
    if (launched.live.row.state === 'starting') await launched.live.agent.session?.[Symbol.asyncDispose]()
    else await launched.live.agent.session?.pause()
  }

  /** Brings the index of the project up to date, beside the session: nothing waits for it, and nothing fails by it. */
  async #indexProject({ row, log }: LiveSession): Promise<void> {
    try {
      await this.#deps.deps.code.update(row.project, { onlyInGit: true, signal: this.#deps.closing })
    } catch (error) {
      if (!this.#deps.closing.aborted) log.warn({ problem: messageOf(error) }, 'the code was not indexed')
    }
  }

  async #runToEnd(live: LiveSession, ready: PreparedSession): Promise<void> {
    const { deps, admission, kept, log, closing, settled, launched, handOver } = this.#deps
    const forget = log.hide(ready.secrets)
    live.log.info({ agent: ready.driver.agent, project: live.row.project }, 'session started')
    try {
      keepEnvironment(live, kept, ready)
      const gateEnding = await endingIfShut(live, deps)
      using slot = gateEnding ? undefined : await admit(live, { admission, max: ready.maxConcurrent, ready, deps })
      const unstarted = gateEnding && !isCalledOff(live) ? gateEnding : endingOfWithdrawn(live)
      launched()
      const ownEnding = cutOffEnding(slot ? await runTask(live, deps) : unstarted, live, deps.clock.now())
      const { checkpoint: reason, parked, task } = ownEnding
      if (reason && live.row.vendor_id !== null) await saveCheckpoint(live, deps, { reason, parked, task })
      const ending = await handOver(ownEnding, live, ready)
      await settleWithRetries(live, deps, { ending, signal: closing })
      // Reads the stored row: an answer that is still on its way keeps a failed session from being over.
      if (isFinal(live.row.ended_as) && !mayComeBack(live)) kept.forget(live.id)
    } catch (error) {
      // The store failed for long. The row stays as it was and shows as interrupted, because no daemon runs the session.
      live.log.error({ error }, 'session could not be settled')
    } finally {
      live.control.admitted.resolve()
      live.control.opened.resolve()
      // A session that never opened its agent leaves behind the process that was started ahead of time.
      const leftAhead = { ...live.settings.open, asks: asksFor(live, deps) }
      if (!live.agent.isKept) await live.settings.driver.cool(leftAhead).catch(() => undefined)
      forget()
      settled(live.row)
    }
  }
}

/** Whether the work is verified now and may be sent back to the agent. `Completion` then forgets the kept environment. */
function mayComeBack({ row }: LiveSession): boolean {
  return row.ended_as === 'completed' && needsCompletion(row)
}

function keepEnvironment(live: LiveSession, kept: KeptEnvironments, ready: PreparedSession): void {
  const { brainKeys, otherAgentsEnv, secretVariables, keepEnvironment: onDisk } = ready
  const own = Object.entries(live.settings.open.env).filter(([name]) => !secretVariables.includes(name))
  try {
    const env = { ...otherAgentsEnv, ...Object.fromEntries(own), ...brainKeys }
    // The next phases of its feature are begun with the login that this one goes on with.
    const { feature } = live.row.options
    for (const id of [live.id, ...(feature ? [feature.id] : [])]) kept.keep(id, env, { onDisk })
  } catch (error) {
    live.log.warn({ error }, 'its environment could not be kept; it will not go on by itself after a restart')
  }
}

/** The ending of a session that was called off while it waited. It had claimed no task, so none changes. */
function endingOfWithdrawn(live: LiveSession): LiveSessionEnding {
  const {
    control: { stopping, pausing },
  } = live
  const ending =
    stopping === undefined && pausing === 'person' ? paused('person', live) : stopped(stopping ?? 'stopped')
  return { ...ending, task: undefined, checkpoint: undefined }
}

/** How a session begins: with a prompt, or with the answer to a parked call. */
export interface SessionLaunch {
  prompt?: string
  resume?: { vendorId: string; fork: boolean } | undefined
  answer?: LiveAgent['answer']
  /** The parked question that `prompt` answers in words. */
  answeredQuestion?: LiveAgent['answeredQuestion']
  /** It goes on after a limit. */
  afterLimit?: boolean
  /** Takes the row before the agent starts; throws when somebody else has taken it. */
  claim?: () => Promise<AnsweredEscalation | undefined>
}

/** A live session before its agent is open. */
function createLiveSession(
  row: SessionRow,
  ready: PreparedSession,
  start: SessionLaunch & { log: Log; now: number },
): LiveSession {
  const guards = openSessionGuards(ready.guards, start.now)
  return {
    id: row.id,
    row,
    log: start.log,
    settings: {
      driver: ready.driver,
      open: {
        ...ready.open,
        id: row.id,
        prompt: start.prompt,
        resume: start.resume,
        marker: row.marker ?? undefined,
      },
      policy: ready.policy,
      mayRunUnattended: ready.mayRunUnattended,
      guard: guards.before(ready.guard),
      renew: undefined,
      secrets: ready.secrets,
      brainSettings: ready.brainSettings,
      failover: ready.failover,
      requirements: row.options.requirements,
      consent: ready.consent,
      quota: ready.quota,
      budgets: ready.budgets,
      budgetsNow: ready.budgetsNow,
      searchesCode: ready.knowledge.enabled,
      checkpointEveryMs: ready.checkpointEveryMs,
      tasksPerProcess: ready.tasksPerProcess,
      retryMs: ready.retryMs,
    },
    control: {
      opened: Promise.withResolvers(),
      admitted: Promise.withResolvers(),
      stopping: undefined,
      cutOff: false,
      pausing: undefined,
      tripped: undefined,
      over: false,
    },
    meters: {
      startedAt: start.now,
      checkpointedAt: start.now,
      earlierUsage: {
        input_tokens: row.input_tokens,
        output_tokens: row.output_tokens,
        cost_usd: row.cost_usd,
        turns: row.turns,
      },
      meter: new SpendingMeter(row.turns),
      purposes: new PurposeSplit(),
      afterLimit: start.afterLimit ?? false,
      guards,
      warnedLevels: new Map(),
      toolCalls: new Map(),
      proseAnswers: 0,
    },
    agent: {
      session: undefined,
      isKept: false,
      hasSurvivors: false,
      isHandlingEvent: false,
      calls: new Map(),
      callWaiters: new Map(),
      parking: new Map(),
      answer: start.answer,
      answeredQuestion: start.answeredQuestion,
      attempt: undefined,
      answered: false,
      isRetrying: false,
      compaction: undefined,
    },
  }
}
