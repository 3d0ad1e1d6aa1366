import type { Log } from '../base/log.ts'
import type { AnsweredEscalation } from '../domain/escalation.ts'
import type { SessionRow } from '../store/tables.ts'
import type { Admission } from './admission.ts'
import { asksFor } from './asks.ts'
import { endAgent } from './end-agent.ts'
import { lands } from './landing/work.ts'
import { saveCheckpoint } from './loop/checkpoints.ts'
import { paused, stopped } from './loop/endings.ts'
import { shutOut } from './loop/enter.ts'
import type { Ending, Parts, Run } from './run.ts'
import { runTask } from './run-task.ts'
import { cutOff } from './settling/cut-off.ts'
import { settlePatiently } from './settling/settle-patiently.ts'
import { admit, isCalledOff } from './start/admit.ts'
import { newRun, type Start } from './start/new-run.ts'
import type { Preparation } from './start/preparation.ts'
import { isOver, type KeptEnvironments } from './waits/kept-environments.ts'

export interface Live {
  run: Run
  /** Resolves when the row is this run's, with the decision that was settled by it. */
  saved: Promise<AnsweredEscalation | undefined>
  /** Resolves when the session is settled and its agent gone. */
  done: Promise<void>
}

export interface LiveParts {
  parts: Parts
  admission: Admission
  kept: KeptEnvironments
  log: Log
  /** Aborted when the daemon leaves. */
  closing: AbortSignal
  /** What becomes of an ending where another agent can go on. */
  handOver(ending: Ending, run: Run, ready: Preparation): Promise<Ending>
  /** A session begins. */
  launched(): void
  /** A session was settled: one that waits has a time in its row now. */
  settled(row: SessionRow): void
}

/** The sessions that run now: each from its place in the line to the moment its agent is gone. */
export class LiveSessions {
  readonly #of: LiveParts
  readonly #live = new Map<string, Live>()

  constructor(of: LiveParts) {
    this.#of = of
  }

  get(id: string): Live | undefined {
    return this.#live.get(id)
  }

  all(): Live[] {
    return [...this.#live.values()]
  }

  runs(): Run[] {
    return this.all().map(({ run }) => run)
  }

  /** Runs a session in the background. It counts as live before this returns. */
  launch(row: SessionRow, ready: Preparation, start: Start): Pick<Live, 'run' | 'saved'> {
    const now = this.#of.parts.clock.now()
    const run = newRun(row, ready, { ...start, log: this.#of.log.child({ session: row.id }), now })
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

  async #runToEnd(run: Run, ready: Preparation): Promise<void> {
    const { parts, admission, kept, log, closing, settled, launched, handOver } = this.#of
    const forget = log.hide(ready.secrets)
    run.log.info({ agent: ready.driver.agent, project: run.row.project }, 'session started')
    try {
      keep(run, kept, ready)
      const shut = await shutOut(run, parts)
      using place = shut ? undefined : await admit(run, { admission, max: ready.maxConcurrent, ready, parts })
      const waits = shut && !isCalledOff(run) ? shut : leftTheLine(run)
      launched()
      const met = cutOff(place ? await runTask(run, parts) : waits, run, parts.clock.now())
      const { checkpoint: reason, parked, task } = met
      if (reason && run.row.vendor_id !== null) await saveCheckpoint(run, parts, { reason, parked, task })
      const ending = await handOver(met, run, ready)
      await settlePatiently(run, parts, { ending, signal: closing })
      // As it was written down: an answer that is still on its way keeps a session that failed from being over.
      if (isOver(run.row.ended_as) && !mayComeBack(run)) kept.forget(run.id)
    } catch (error) {
      // The store failed for long; the row stays as it was and shows as interrupted, because nobody runs it.
      run.log.error({ error }, 'session could not be settled')
    } finally {
      run.placed.resolve()
      run.opened.resolve()
      // One that never came to open its agent leaves the process that waited for it.
      await run.driver.cool({ ...run.open, asks: asksFor(run, parts) }).catch(() => undefined)
      forget()
      settled(run.row)
    }
  }
}

/** Its work is looked at now, and may be sent back to it: landing forgets what is kept for it. */
function mayComeBack({ row }: Run): boolean {
  return row.ended_as === 'completed' && lands(row)
}

function keep(run: Run, kept: KeptEnvironments, ready: Preparation): void {
  const { brainKeys, othersEnv, keepEnvironment: onDisk } = ready
  try {
    kept.keep(run.id, { ...othersEnv, ...run.open.env, ...brainKeys }, { onDisk })
  } catch (error) {
    run.log.warn({ error }, 'its environment could not be kept; it will not go on by itself after a restart')
  }
}

/** It took no task, so none is put down. */
function leftTheLine(run: Run): Ending {
  const { stopping, pausing } = run
  const ending = stopping === undefined && pausing === 'person' ? paused('person', run) : stopped(stopping ?? 'stopped')
  return { ...ending, task: undefined, checkpoint: undefined }
}
