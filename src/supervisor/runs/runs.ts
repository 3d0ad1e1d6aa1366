import type { Clock } from '../../base/clock.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { shortId } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import { brainKeysIn, settingsToKeep } from '../../domain/config/environment-layer.ts'
import type { StartRun } from '../../domain/runs/run.ts'
import type { RunOutcome } from '../../domain/runs/run-outcome.ts'
import type { RunPlan } from '../../domain/runs/run-view.ts'
import type { AttemptRow, RunRow } from '../../store/runs/rows.ts'
import type { Store, Tx } from '../../store/store.ts'
import type { Tasks } from '../../tasks/open.ts'
import { checkProject } from '../start/check-project.ts'
import type { KeptEnvironments } from '../waits/kept-environments.ts'
import { type BeginParts, beginNext } from './begin.ts'
import { budgetLeft } from './budget-left.ts'
import { closeAttempt } from './close-attempt.ts'
import { nextStep, type RunFacts } from './next-step.ts'
import { PASSING } from './passing.ts'
import { planRun } from './plan-run.ts'
import type { RunSettings } from './run-settings.ts'
import { overlap, scopeOf, targetName } from './scope.ts'
import { standingOf } from './standing.ts'
import { type Warmth, warmNext } from './warm-next.ts'

export interface RunsParts extends BeginParts {
  store: Store
  tasks: Tasks
  clock: Clock
  log: Log
  kept: KeptEnvironments
  warmth: Warmth
  /** Where nothing was kept. */
  agentEnv: Record<string, string>
  settingsOf(run: Pick<RunRow, 'project' | 'options'>): Promise<RunSettings>
  stop(session: string, reason: string): Promise<void>
  pause(session: string): Promise<void>
  resume(session: string): Promise<void>
}

/** Runs that drain a target, a fresh session per task. They are rows: a restart goes on with those that are open. */
export class Runs {
  readonly #parts: RunsParts
  readonly #looking = new Map<string, Promise<void>>()
  readonly #again = new Set<string>()
  #closed = false

  constructor(parts: RunsParts) {
    this.#parts = parts
  }

  /** Refused where another run is at the same tasks. `also` happens with it or not at all. */
  async start(
    { env, project: path, target, settings, ...rest }: StartRun,
    also?: (run: RunRow, tx: Tx) => Promise<void>,
  ): Promise<RunRow> {
    const { store, clock, kept } = this.#parts
    const project = await checkProject(path)
    const { keepEnvironment } = await this.#parts.settingsOf({ project, options: { ...rest, settings } })
    // No secret is stored in a row: the brains' keys lie with the environment.
    const options = { ...rest, ...(settings && { settings: settingsToKeep(settings) }) }
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
    const settings = await this.#parts.settingsOf({ project, options })
    return planRun({ project, target }, settings, this.#parts.store)
  }

  /** Something about a run, its tasks or its sessions has changed. */
  look(id: string): void {
    if (this.#closed) return
    this.#again.add(id)
    if (this.#looking.has(id)) return
    const done = this.#lookWhileAsked(id).finally(() => {
      this.#looking.delete(id)
      // Asked for after the last look and before this: nobody else would see it.
      if (this.#again.has(id)) this.look(id)
    })
    this.#looking.set(id, done)
  }

  async lookAtAll(): Promise<void> {
    for (const { id } of await this.#parts.store.runs.list({ open: true })) this.look(id)
  }

  /** Follows what happens to sessions and tasks, and looks at the runs that it may concern. */
  async follow(after: number, signal: AbortSignal): Promise<void> {
    for await (const { kind } of this.#parts.store.follow(after, { signal, alone: true })) {
      if (kind === 'session.ended' || kind === 'disk.freed' || kind.startsWith('task.')) await this.lookAtAll()
    }
  }

  /** `after current`: no new task begins. `now`: its sessions are stopped too, and their tasks given back. */
  async stop(id: string, how: 'after current' | 'now'): Promise<void> {
    const { store } = this.#parts
    await store.runs.update(id, { stopping: true, state: 'running' })
    await this.#parts.warmth.drop(id)
    if (how === 'now') await this.#each(id, session => this.#parts.stop(session, 'its run was stopped'))
    this.look(id)
  }

  /** No new task begins, and its sessions stop after the tool in flight. */
  async pause(id: string): Promise<void> {
    await this.#parts.store.runs.update(id, { state: 'paused' })
    await this.#parts.warmth.drop(id)
    await this.#each(id, session => this.#parts.pause(session))
  }

  async resume(id: string): Promise<void> {
    // Its sessions first: while one of them is on its way a look would take it for one that waits, and begin another beside it.
    await this.#each(id, session => this.#parts.resume(session))
    await this.#parts.store.runs.update(id, { state: 'running', stopping: false })
    this.look(id)
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#looking.values())
  }

  async #each(id: string, work: (session: string) => Promise<void>): Promise<void> {
    for (const { session_id } of await this.#open(id)) {
      await work(session_id).catch(error =>
        this.#parts.log.warn({ run: id, session: session_id, error }, 'not steered'),
      )
    }
  }

  async #open(id: string): Promise<AttemptRow[]> {
    return (await this.#parts.store.runs.attempts({ run: id })).filter(({ outcome }) => outcome === null)
  }

  async #lookWhileAsked(id: string): Promise<void> {
    while (this.#again.delete(id) && !this.#closed) {
      try {
        await this.#advance(id)
      } catch (error) {
        this.#parts.log.error({ run: id, error }, 'the run could not go on')
        await this.#couldNotGoOn(id, error).catch(() => undefined) // the store itself may be what fails
        return
      }
    }
  }

  /** What passes by itself is waited for; anything else would stand in the way of the next task for ever. */
  async #couldNotGoOn(id: string, error: unknown): Promise<void> {
    const { store } = this.#parts
    const [run, open] = [await store.runs.get(id), await this.#open(id)]
    const reason = messageOf(error)
    const passes = !(error instanceof AppError) || PASSING.has(error.code)
    if (run && !passes && open.length === 0) await this.#end(run, { outcome: 'failure', reason })
    else await store.runs.update(id, { reason })
  }

  /** As many steps as can be made now. */
  async #advance(id: string): Promise<void> {
    for (;;) {
      const run = await this.#parts.store.runs.get(id)
      if (!run || run.state === 'ended' || this.#closed) return
      const settings = await this.#parts.settingsOf(run)
      const before = await this.#facts(run, settings)
      const { left, spent } = await budgetLeft(
        run,
        await this.#parts.store.runs.attempts({ run: id }),
        this.#parts.store,
      )
      const facts = { ...before, spent: spent ?? before.spent }
      const step = nextStep(facts)
      if (step.do === 'end' && step.reason === spent) await this.#giveBack(run, settings)
      if (step.do === 'end') return this.#end(run, step)
      const total = Object.values(facts.counts).reduce((sum, count) => sum + count, 0)
      const env = this.#parts.kept.of(id) ?? this.#parts.agentEnv
      const options = { ...settings, env, total, budget: left }
      if (step.do === 'wait') return warmNext(run, { ...options, facts }, this.#parts)
      if (!(await beginNext(run, options, this.#parts))) return
      if (run.reason !== null) await this.#parts.store.runs.update(id, { reason: null })
    }
  }

  /** What stands still for want of money would do so for ever: the run is over, and its tasks are free again. */
  async #giveBack(run: RunRow, settings: RunSettings): Promise<void> {
    await this.#each(run.id, session => this.#parts.stop(session, 'its run was stopped'))
    await this.#facts(run, settings)
  }

  async #facts(run: RunRow, { maxRetries, limit }: RunSettings): Promise<RunFacts> {
    const { store, tasks } = this.#parts
    const standing = { works: 0, waits: 0 }
    let limited: string | undefined
    for (const attempt of await this.#open(run.id)) {
      const session = await store.sessions.get(attempt.session_id)
      const stands = session ? standingOf(session) : 'over'
      if (session?.ended_as === 'rate_limited' && stands === 'waits')
        limited = `the account is limited, and ${session.id} was not to go on by itself: pcc resume ${session.id}`
      if (stands !== 'over') standing[stands] += 1
      else if (session) await closeAttempt(run, { attempt, session }, { ...this.#parts, maxRetries })
    }
    const { stopping, gave_up } = (await store.runs.get(run.id)) ?? run
    return {
      counts: await tasks.counts(scopeOf(run)),
      working: standing.works,
      waiting: standing.waits,
      iterations: run.iterations,
      limit,
      parallel: 1,
      spent: limited,
      stopping: run.state === 'paused' ? 'paused' : stopping ? 'after current' : undefined,
      gaveUp: gave_up ?? undefined,
    }
  }

  async #end(run: RunRow, { outcome, reason }: { outcome: RunOutcome; reason: string }): Promise<void> {
    const { store, clock, kept, log } = this.#parts
    const tasks = await store.tasks.counts(scopeOf(run))
    const unverified = await store.runs.unverified(scopeOf(run))
    await store.transaction(async tx => {
      await store.runs.update(run.id, { state: 'ended', outcome, reason, ended_at: clock.now() }, tx)
      const body = { outcome, reason, tasks, unverified }
      await tx.append([{ actor: 'daemon', subject: run.id, kind: 'run.ended', body }])
    })
    kept.forget(run.id)
    await this.#parts.warmth.drop(run.id)
    log.info({ run: run.id, outcome }, 'run ended')
  }
}
