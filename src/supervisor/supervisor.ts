import { AppError } from '../base/errors.ts'
import type { AgentToolName, ToolReply } from '../domain/agent-tools.ts'
import type { StartSession } from '../domain/api.ts'
import { loadConfig } from '../domain/config/load.ts'
import type { AnsweredEscalation } from '../domain/escalation.ts'
import type { TriedAccount } from '../domain/quota.ts'
import type { Task } from '../domain/task.ts'
import type { SessionRow } from '../store/tables.ts'
import type { Completion } from './completion/completion.ts'
import { openCompletion } from './completion/open-completion.ts'
import { COMPLETION_STATES, needsCompletion } from './completion/work.ts'
import { openCalendar, openContext, openFeatures, openRuns, type SupervisorOptions } from './compose.ts'
import { prepareResumed, type SupervisorContext } from './context.ts'
import type { FeatureManager } from './features/features.ts'
import { openProposals, type Proposals } from './features/proposals.ts'
import type { GuardWatch } from './guards/watch.ts'
import type { Accounts } from './limits/accounts.ts'
import { FailoverWatch } from './limits/choose-agent.ts'
import { endWaits, goOnWithBudget, hasNewLogin, type WakeOptions, Waker, wakeSession } from './limits/waker.ts'
import { DISK_REMEDY } from './report/troubles.ts'
import type { Calendar } from './runs/calendar.ts'
import type { RunManager } from './runs/runs.ts'
import type { AdmissionQueue } from './session/admission.ts'
import { askOverSocket } from './session/asks.ts'
import type { LiveSession } from './session/context.ts'
import { record } from './session/record.ts'
import { type RecoveryCounts, recover } from './session/recover.ts'
import { type ResumeOrder, resumeSession, type SessionResume } from './session/resume.ts'
import { type ResumeParkedOptions, resumeParked } from './session/resume-parked.ts'
import { cutOffEnding, settle } from './session/settle.ts'
import { startSession } from './session/start-session.ts'
import { tripGuard } from './session/stop-agent.ts'
import { handOverTerminal } from './session/terminal.ts'
import { callTool } from './session/tools.ts'
import type { WorktreeProvider } from './session/worktree-provider.ts'

/** When a session that a full disk has stopped is due again; it goes on waiting while the disk is full. */
const DISK_WAIT_MS = 15_000

/** The name under which the environment for agents of other programs is kept. */
const FOR_API = 'api'

/** Starts, steers and wakes sessions. Everything that outlives this process is in their rows. */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #closing = new AbortController()
  readonly #admission: AdmissionQueue
  readonly #accounts: Accounts
  readonly #supervisor: SupervisorContext
  readonly #waker: Waker
  /** Runs, whose sessions belong to this supervisor. */
  readonly runs: RunManager
  /** Scheduled runs. */
  readonly calendar: Calendar
  /** Agents that only read, and what they propose. */
  readonly proposals: Proposals
  /** Takes a task from the agent's report to its end: verification and merge. */
  readonly completion: Completion
  /** Features on their way from an idea to tasks; each phase is a session of this supervisor. */
  readonly features: FeatureManager
  readonly #watch: GuardWatch
  readonly #failoverWatch: FailoverWatch

  constructor(options: SupervisorOptions) {
    this.#options = options
    const { store, clock, log, gates } = options
    this.#failoverWatch = new FailoverWatch({ supervisor: () => this.#supervisor, clock, log })
    const opened = openContext(options, {
      launched: () => {
        void this.#failoverWatch.poke()
        this.#supervisor.deps.memory.poke()
      },
      closing: this.#closing.signal,
      settled: row => {
        this.#supervisor.deps.memory.poke()
        if (row.resumes_at !== null) void this.#waker.poke()
        if (row.ended_as === 'completed' && row.task_id !== null && needsCompletion(row))
          this.completion.look(row.task_id)
      },
    })
    this.#supervisor = opened.supervisor
    this.#admission = opened.admission
    this.#accounts = opened.accounts
    this.#watch = opened.watch
    this.#waker = new Waker({
      ...{ store, clock, log, hold: () => this.#supervisor.deps.starts.hold() },
      tryMended: async waiting => {
        await this.#accounts.tryMended(gate => hasNewLogin(gate, waiting, id => this.envOf(id)))
        const how = { accounts: this.#accounts, envOf: (id: string) => this.envOf(id) }
        await endWaits(waiting, how, this.#supervisor)
      },
      wake: row => wakeSession(row, this.#wakeOptions(row), this.#supervisor),
    })
    this.proposals = openProposals({
      ...{ supervisor: this.#supervisor, gates },
      refuseWhenFull: () => this.#refuseWhenFull(),
      gatesChanged: () => this.gatesChanged(),
    })
    this.completion = openCompletion(this.#supervisor, {
      ask: this.proposals.ask,
      agentEnv: options.agentEnv,
      wake: () => void this.#waker.poke(),
      wakeRun: run => this.runs.look(run),
      nudge: session => this.nudge(session),
    })
    this.runs = openRuns(this.#supervisor, options, {
      start: async (request, bound) => {
        this.#refuseWhenFull()
        return startSession(request, this.#supervisor, bound)
      },
      stop: (id, why) => this.stop(id, why),
      pause: id => this.pause(id),
      resume: (row, env) => this.resume(row, { env, reason: 'its run goes on', actor: 'human', isOneOfSeveral: true }),
      completeAgain: () => this.completion.checkAgain(),
    })
    this.calendar = openCalendar(this.#supervisor, options, this.runs)
    this.features = openFeatures(this.#supervisor, options, {
      start: async (request, bound) => {
        this.#refuseWhenFull()
        return startSession(request, this.#supervisor, bound)
      },
      resume: (row, env) => this.resume(row, { env, reason: 'its feature goes on', actor: 'human' }),
      stop: (id, why) => this.stop(id, why),
    })
  }

  get liveCount(): number {
    return this.#supervisor.sessions.all().filter(({ row }) => row.state !== 'ended').length
  }

  /** The live session with this id, if there is one. */
  run(id: string): LiveSession | undefined {
    return this.#supervisor.sessions.get(id)?.live
  }

  /** Runs one of our own tools for an agent that does not call it through its driver. */
  callTool(live: LiveSession, name: AgentToolName, input: unknown): Promise<ToolReply> {
    const call = { live, deps: this.#supervisor.deps }
    return name === 'ask_human' ? askOverSocket(input, call) : callTool(name, input, call)
  }

  /** Hands the terminal of an agent to a person, or back to the agent. */
  handOver(live: LiveSession, how: 'takeover' | 'handback'): Promise<void> {
    return handOverTerminal({ live, deps: this.#supervisor.deps }, how)
  }

  /** The worktree that a task would have, or why it would have none. */
  placeOf({ id, project }: Pick<Task, 'id' | 'project'>): ReturnType<WorktreeProvider['look']> {
    return this.#supervisor.worktrees.look({ project, task: id }, {})
  }

  /** Inserts the session's row and starts its agent in the background. */
  async start(request: StartSession): Promise<SessionRow> {
    this.#refuseWhenFull()
    await this.tryMended()
    return startSession(request, this.#supervisor)
  }

  /** Ends the sessions that an earlier life of the daemon did not settle. `wakeWaiting` resumes them. */
  recover(stuck: ReadonlySet<string>): Promise<RecoveryCounts> {
    return recover(stuck, this.#supervisor)
  }

  /** Pauses all sessions because the disk is full or cannot be written to; they go on by themselves. */
  holdForDisk(reason: string): void {
    const resumesAt = this.#options.clock.now() + DISK_WAIT_MS
    const next = DISK_REMEDY
    for (const live of this.#supervisor.sessions.all()) tripGuard(live, { guard: 'disk', reason, next, resumesAt })
  }

  /** Resumes the sessions that an earlier life of the daemon left waiting for a time. */
  wakeWaiting(): void {
    void this.#waker.poke()
    void this.calendar.look()
  }

  /** Checks every agent now: its memory, its signs of life, its time. */
  lookAtAgents(): Promise<void> {
    return this.#watch.poke()
  }

  /**
   * Starts a parked session again with its answer. An answer that is settled already is delivered even on a full disk:
   * nothing would deliver it later, and a session that begins on a full disk is held like every live one.
   */
  async resumeParked(row: SessionRow, resumption: ResumeParkedOptions): Promise<AnsweredEscalation | undefined> {
    if (resumption.settled) this.#options.mayStart?.()
    else this.#refuseWhenFull()
    return this.#inEnvironment(row, resumption.env, env => resumeParked(row, { ...resumption, env }, this.#supervisor))
  }

  /** Throws `account_differs` if a session can go on neither with the login of this environment nor with its own. */
  async checkLogin(row: SessionRow, env: Record<string, string>): Promise<void> {
    await this.#inEnvironment(row, env, from => prepareResumed(row, from, this.#supervisor))
  }

  /** Acts in a person's environment. The session keeps its own login where that is another: a person answers from any shell. */
  async #inEnvironment<T>(
    { id }: SessionRow,
    env: SessionResume['env'],
    act: (env: SessionResume['env']) => Promise<T>,
  ): Promise<T> {
    try {
      return await act(env)
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'account_differs') throw error
      return act(this.envOf(id))
    }
  }

  /** Resumes a session, by default with the environment it was last started with. */
  async resume(row: SessionRow, { env, onlyHere, isOneOfSeveral, ...resume }: ResumeOrder): Promise<SessionRow> {
    this.#refuseWhenFull()
    if (resume.actor === 'human' && !isOneOfSeveral) await this.tryMended()
    const task = await this.completion.of(row.id)
    if (task !== undefined) {
      await this.completion.again(task)
      return (await this.#options.store.sessions.get(row.id)) ?? row
    }
    const resumeIn = (current: SessionRow) => {
      const act = (from: SessionResume['env']) => resumeSession(current, { ...resume, env: from }, this.#supervisor)
      return env && onlyHere ? act(env) : this.#inEnvironment(row, env ?? this.envOf(row.id), act)
    }
    try {
      return await resumeIn(row)
    } catch (error) {
      // With a person's new login: the daemon has begun to try the old one in between.
      if (!env || !(error instanceof AppError) || error.code !== 'session_running') throw error
      await this.#supervisor.sessions.waitForTry(row.id)
      const now = await this.#options.store.sessions.get(row.id)
      if (now?.ended_as !== 'paused' || this.#supervisor.sessions.get(row.id)) throw error
      return resumeIn(now)
    }
  }

  /** A person has changed the budget of a task: its session goes on if it waited for that. Nobody waits here, because it may wait for its turn. */
  budgetChanged(task: string): void {
    void goOnWithBudget(task, (row, reason) => this.resume(row, { reason, actor: 'human' }), this.#supervisor)
  }

  /** Resumes a completed session because a task was added to it. */
  async nudge(id: string, env?: Record<string, string>): Promise<void> {
    // The loop looks for the next task at the same time: it must have seen that there is none.
    await new Promise(resolve => setImmediate(resolve))
    const launched = this.#supervisor.sessions.get(id)
    if (launched && !launched.live.control.over) return
    await launched?.done
    const row = await this.#options.store.sessions.get(id)
    const isFree = row?.state === 'ended' && row.ended_as === 'completed' && !this.#supervisor.sessions.get(id)
    if (row && isFree) await this.resume(row, { env, reason: 'a task was added', actor: 'human' })
  }

  /** Asks a live session, for a person, to stop after the tool in flight. */
  async pause(id: string): Promise<void> {
    await this.#storeIntent(id, 'pause')
    await this.#supervisor.sessions.pause(id)
  }

  /** Ends a live session for a person; resolves when its agent is gone. */
  async stop(id: string, reason: string): Promise<void> {
    await this.#storeIntent(id, 'stop')
    await this.#supervisor.sessions.stop(id, reason)
    await this.completion.stop(id, reason)
  }

  /** Applies a change of gates: one was held or released, or the times of waiting sessions have changed. */
  async gatesChanged(): Promise<void> {
    await this.#accounts.lookAtAll()
    this.#admission.admitReady()
    void this.#failoverWatch.poke()
    void this.#waker.poke()
    await this.completion.checkAgain()
  }

  /** Ends a limit before its time because a person says so: of one account, or of all. */
  tryNow(account: string): Promise<TriedAccount[]> {
    return this.#accounts.tryNow(account)
  }

  /** Tries accounts that a missing login or credit has closed: a person may have mended it. */
  async tryMended(): Promise<void> {
    if (await this.#accounts.tryMended()) await this.gatesChanged()
  }

  /** Lets sessions go on whose work was sent back, with the environment of the API where their own is gone. */
  wakeReturned(sessions: readonly string[]): void {
    const { kept } = this.#supervisor
    const env = kept.of(FOR_API)
    for (const id of sessions) if (env && !kept.of(id)) kept.keep(id, env, { onDisk: false })
    void this.#waker.poke()
  }

  /** Forgets the environment of a session that is over. */
  forget(id: string): void {
    this.#supervisor.kept.forget(id)
  }

  /** Forgets the environments that an earlier life of the daemon left, except those of sessions that can still go on. */
  async forgetOver(): Promise<void> {
    const { sessions, runs, schedules, features, tasks } = this.#options.store
    const open = [
      ...(await runs.list({ open: true })),
      ...(await schedules.list({ waiting: true })),
      ...(await features.list({ open: true })),
    ]
    // Work that is being verified may go back to its agent.
    const verifying = (await tasks.list({ states: COMPLETION_STATES })).flatMap(({ session_id }) => session_id ?? [])
    this.#supervisor.kept.forgetOver(
      await sessions.list({ only: 'open' }),
      new Set([...open.map(({ id }) => id), ...verifying, FOR_API]),
    )
  }

  /**
   * Refuses new sessions and stops every live one, or with `goOn` cuts them off until the next start. Resolves when all are
   * settled.
   */
  async close(reason: string, { goOn = false }: { goOn?: boolean } = {}): Promise<void> {
    this.#closing.abort()
    await this.calendar.close()
    await this.runs.close()
    await this.features.close()
    await this.completion.close()
    await this.#waker.close()
    await this.#failoverWatch.close()
    const { sessions, warm } = this.#supervisor
    const warmClosed = warm.close()
    if (!goOn) await this.#pauseRuns()
    for (const live of sessions.all())
      live.control.cutOff = (goOn || belongsToRun(live)) && live.control.stopping === undefined
    await Promise.all([warmClosed, ...sessions.all().map(({ id }) => sessions.stop(id, reason))])
  }

  /** Pauses runs and their sessions: the next `pcc resume` of a run goes on in the same conversation. */
  async #pauseRuns(): Promise<void> {
    await this.runs.pauseAll('the daemon was stopped')
    for (const live of this.#supervisor.sessions.all().filter(belongsToRun)) {
      await this.#storeIntent(live.id, 'pause')
      live.control.pausing = 'person'
    }
  }

  /** Markers of the processes of every live session, of the warm processes and of the agents that are only asked something. */
  liveMarkers(): string[] {
    return [
      ...this.#supervisor.sessions.all().flatMap(({ row }) => row.marker ?? []),
      ...this.#supervisor.warm.markers(),
      ...this.proposals.markers(),
    ]
  }

  /** Settles the sessions that did not end; the caller sweeps their processes. */
  async abandon(reason: string): Promise<void> {
    const { sessions, deps } = this.#supervisor
    for (const live of sessions.all())
      await settle(live, deps, cutOffEnding({ as: 'stopped', reason }, live, deps.clock.now()))
  }

  /** Keeps the environment of agents that other programs start through the API; undefined forgets it. */
  async keepApiEnv(env: Record<string, string> | undefined): Promise<void> {
    const { kept } = this.#supervisor
    const { paths, env: own } = this.#options
    if (!env) return kept.forget(FOR_API)
    const { config } = await loadConfig({ paths, env: own, project: null })
    kept.keep(FOR_API, env, { onDisk: config.sessions.keep_environment })
  }

  /** The environment of agents that other programs start: that of the person who let them, or the daemon's own. */
  get apiEnv(): Record<string, string> {
    return this.envOf(FOR_API)
  }

  /** The environment that the session's agent was last started with, where it was kept; else the daemon's own. */
  envOf(id: string): Record<string, string> {
    return this.#supervisor.kept.of(id) ?? this.#options.agentEnv
  }

  /**
   * Stores the intent first, so that it holds even if the daemon dies before it is done. The row of an ended session stays
   * as it is.
   */
  async #storeIntent(id: string, intent: 'stop' | 'pause'): Promise<void> {
    const live = this.run(id)
    if (live && live.row.state !== 'ended') await record(live, this.#supervisor.deps, { events: [], patch: { intent } })
  }

  #wakeOptions(row: SessionRow): WakeOptions {
    const { mayStart } = this.#options
    return { env: this.envOf(row.id), mayStart, resume: reason => this.resume(row, { reason, actor: 'daemon' }) }
  }

  #refuseWhenFull(): void {
    const reason = this.#options.mayStart?.()
    if (reason !== undefined) throw new AppError('disk_full', { reason })
  }
}

function belongsToRun({ row }: LiveSession): boolean {
  return row.options.run !== undefined && row.state !== 'ended'
}
