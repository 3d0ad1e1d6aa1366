import type { RunOutcome } from '../../domain/runs/run-outcome.ts'
import type { RunRow } from '../../store/runs/rows.ts'
import { beginNext } from './begin/begin-next.ts'
import { warmNext } from './begin/warm-next.ts'
import { budgetLeft } from './facts/budget-left.ts'
import { factsOf, openAttempts } from './facts/facts-of.ts'
import { mergedOf } from './facts/merged-of.ts'
import { nextStep, type RunFacts } from './facts/next-step.ts'
import type { RunSettings } from './run-settings.ts'
import type { RunsParts } from './runs-parts.ts'
import { scopeOf } from './scope.ts'

/** Makes as many steps of a run as can be made now. A time comes back where it has to be looked at again by the clock alone. */
export async function advance(
  id: string,
  parts: RunsParts,
  { closing, mayEnd }: { closing: AbortSignal; mayEnd(): boolean },
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
    if (step.do === 'wait') {
      await tell(run, waitReason(facts, settings) ?? parts.heldBack.next(id)?.why ?? null, parts)
      return void (await warmNext(run, { ...options, facts }, parts))
    }
    const begun = await beginNext(run, options, parts)
    if (begun === 'no') return undefined
    await tell(run, begun === 'yes' ? null : begun.why, parts)
    if (begun === 'yes') continue
    if (!('heldBack' in begun)) return begun.notBefore
    parts.log.warn({ run: id, task: begun.heldBack, why: begun.why }, 'a task got no place yet')
  }
}

/** Why nothing new begins although something could; what is at work is reason enough. */
function waitReason({ inPlace, counts }: RunFacts, { parallel }: RunSettings): string | null {
  if (inPlace === undefined || parallel === 1 || (counts.ready ?? 0) === 0) return null
  return `one task at a time works in the project itself: ${inPlace}`
}

/** While it is paused it says why it is. */
async function tell({ id, reason: before, state }: RunRow, reason: string | null, { store }: RunsParts): Promise<void> {
  if (state === 'running' && before !== reason) await store.runs.update(id, { reason })
}

/** Ends a run with the counts of its tasks as they are now. */
export async function endRun(
  run: RunRow,
  { outcome, reason }: { outcome: RunOutcome; reason: string },
  { store, clock, kept, warmth, heldBack, log }: RunsParts,
): Promise<void> {
  const tasks = await store.tasks.counts(scopeOf(run))
  const unverified = await store.runs.unverified(scopeOf(run))
  const landed = await mergedOf(run.id, store)
  await store.transaction(async tx => {
    await store.runs.update(run.id, { state: 'ended', outcome, reason, ended_at: clock.now() }, tx)
    const body = { outcome, reason, tasks, unverified, ...landed }
    await tx.append([{ actor: 'daemon', subject: run.id, kind: 'run.ended', body }])
  })
  kept.forget(run.id)
  heldBack.forget(run.id)
  await warmth.drop(run.id)
  log.info({ run: run.id, outcome }, 'run ended')
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
