import type { RunOutcome } from '../../domain/runs/run-outcome.ts'
import type { AttemptRow, RunRow } from '../../store/runs/rows.ts'
import type { Store } from '../../store/store.ts'
import { beginNext } from './begin.ts'
import { closeAttempt } from './close-attempt.ts'
import { budgetLeft } from './facts/budget-left.ts'
import { nextStep, type RunFacts } from './facts/next-step.ts'
import { standingOf } from './facts/standing.ts'
import type { RunSettings } from './run-settings.ts'
import type { RunsParts } from './runs-parts.ts'
import { scopeOf } from './scope.ts'
import { warmNext } from './warm-next.ts'

/** Makes as many steps of a run as can be made now. A time comes back where it has to be looked at again by the clock alone. */
export async function advance(
  id: string,
  parts: RunsParts,
  { closing, mayEnd }: { closing: AbortSignal; mayEnd: () => boolean },
): Promise<number | undefined> {
  const { store } = parts
  for (;;) {
    const run = await store.runs.get(id)
    if (!run || closing.aborted) return undefined
    const settings = await parts.settingsOf(run)
    const before = await factsOf(run, settings, parts)
    // One that is over has sessions that outlive it: a question that is answered later still ends its attempt.
    if (run.state === 'ended') return undefined
    const { left, spent } = await budgetLeft(run, await store.runs.attempts({ run: id }), store)
    const facts = { ...before, spent: spent ?? before.spent }
    const step = nextStep(facts)
    if (step.do === 'end' && !mayEnd()) return undefined // it is looked at again when its sessions are over
    if (step.do === 'end' && step.reason === spent) await giveBack(run, settings, parts)
    if (step.do === 'end') return void (await endRun(run, step, parts))
    const total = Object.values(facts.counts).reduce((sum, count) => sum + count, 0)
    const env = parts.kept.of(id) ?? parts.agentEnv
    const options = { ...settings, env, total, budget: left }
    if (step.do === 'wait') return void (await warmNext(run, { ...options, facts }, parts))
    const begun = await beginNext(run, options, parts)
    if (begun === 'no') return undefined
    const reason = begun === 'yes' ? null : begun.why
    if (run.reason !== reason) await store.runs.update(id, { reason })
    if (begun !== 'yes') return begun.notBefore
  }
}

/** Ends a run with the counts of its tasks as they are now. */
export async function endRun(
  run: RunRow,
  { outcome, reason }: { outcome: RunOutcome; reason: string },
  { store, clock, kept, warmth, log }: RunsParts,
): Promise<void> {
  const tasks = await store.tasks.counts(scopeOf(run))
  const unverified = await store.runs.unverified(scopeOf(run))
  await store.transaction(async tx => {
    await store.runs.update(run.id, { state: 'ended', outcome, reason, ended_at: clock.now() }, tx)
    const body = { outcome, reason, tasks, unverified }
    await tx.append([{ actor: 'daemon', subject: run.id, kind: 'run.ended', body }])
  })
  kept.forget(run.id)
  await warmth.drop(run.id)
  log.info({ run: run.id, outcome }, 'run ended')
}

/** Its attempts that have no outcome yet. */
export async function openAttempts(id: string, { runs }: Pick<Store, 'runs'>): Promise<AttemptRow[]> {
  return (await runs.attempts({ run: id })).filter(({ outcome }) => outcome === null)
}

/** What stands still for want of money would do so for ever: the run is over, and its tasks are free again. */
async function giveBack(run: RunRow, settings: RunSettings, parts: RunsParts): Promise<void> {
  for (const { session_id } of await openAttempts(run.id, parts.store)) {
    await parts
      .stop(session_id, 'its run was stopped')
      .catch(error => parts.log.warn({ run: run.id, session: session_id, error }, 'not stopped'))
  }
  await factsOf(run, settings, parts)
}

/** Closes the attempts whose sessions are over, and says how the run stands then. */
async function factsOf(run: RunRow, settings: RunSettings, parts: RunsParts): Promise<RunFacts> {
  const { store, tasks } = parts
  const standing = { works: 0, waits: 0 }
  let limited: string | undefined
  for (const attempt of await openAttempts(run.id, store)) {
    const session = await store.sessions.get(attempt.session_id)
    const stands = session ? standingOf(session) : 'over'
    if (session?.ended_as === 'rate_limited' && stands === 'waits')
      limited = `the account is limited, and ${session.id} was not to go on by itself: pcc resume ${session.id}`
    if (stands !== 'over') standing[stands] += 1
    else if (session) await closeAttempt(run, { attempt, session }, { ...parts, settings })
  }
  const { stopping, gave_up } = (await store.runs.get(run.id)) ?? run
  return {
    counts: await tasks.counts(scopeOf(run)),
    working: standing.works,
    waiting: standing.waits,
    iterations: run.iterations,
    limit: settings.limit,
    parallel: 1,
    spent: limited,
    stopping: run.state === 'paused' ? 'paused' : stopping ? 'after current' : undefined,
    gaveUp: gave_up ?? undefined,
  }
}
