import type { AttemptRow, RunRow } from '../../../store/runs/rows.ts'
import type { Store } from '../../../store/store.ts'
import { agentByLabel } from '../../failover/agent-by-label.ts'
import { landingOf } from '../../landing/work.ts'
import { chooseModel } from '../../models/choose-model.ts'
import type { WarmNext } from '../../warm/warm-next.ts'
import { nextStep, type RunFacts } from '../facts/next-step.ts'
import { scopeOf } from '../scope.ts'
import type { BeginOptions } from './begin-next.ts'
import { requestFor } from './request-for.ts'

/** What a run asks for a process that waits for its next task. */
export type Warmth = Pick<WarmNext, 'has' | 'expect' | 'drop'>

export interface WarmNextParts {
  store: Store
  warmth: Warmth
}

/**
 * Lets the agent of a run's next task start while the current one works, as if that went well: a guess that does not come
 * true costs a process and nothing else. Where no task can follow, or nothing works, none is kept.
 */
export async function warmNext(
  run: RunRow,
  { facts, ...options }: BeginOptions & { facts: RunFacts; warm: boolean },
  { store, warmth }: WarmNextParts,
): Promise<void> {
  const iteration = run.iterations + 1
  const attempts = await store.runs.attempts({ run: run.id })
  const current = await atWork(attempts, store)
  if (!options.warm || !current) return warmth.drop(run.id)
  if (warmth.has(run.id, iteration)) return
  const task = await likelyNext(run, current.task_id, store)
  const follows = nextStep({ ...facts, working: 0, waiting: 0, counts: { ...facts.counts, ready: 1 } })
  if (!task || follows.do !== 'begin' || agentByLabel(task, options.labels) !== undefined) return
  const { strategy, names, env, budget } = options
  const history = attempts.map(each => (each === current ? { ...each, outcome: 'done' as const } : each))
  const { model } = chooseModel(strategy, history, { names, task: task.id, hint: task.model, model: options.model })
  const request = requestFor(run, task, { prompt: task.description, model, env, budget })
  const place = { id: run.id, iteration, total: options.limit ?? options.total }
  // Not waited for: the run goes on meanwhile.
  void warmth.expect({ session: current.session_id, request: { ...request, run: place } })
}

/** The open attempt that has a process, or whose work is being verified: one that waits for an answer or a limit has none. */
async function atWork(attempts: readonly AttemptRow[], store: Store): Promise<AttemptRow | undefined> {
  for (const attempt of attempts.filter(({ outcome }) => outcome === null)) {
    const session = await store.sessions.get(attempt.session_id)
    if (session && (session.state !== 'ended' || (await landingOf(session.id, store)))) return attempt
  }
  return undefined
}

/** A task that is ready, or one that becomes so when the current one is done. */
async function likelyNext(run: RunRow, current: string, store: Store) {
  const scope = scopeOf(run)
  const ready = await store.transaction(tx => store.tasks.nextFree(scope, tx))
  if (ready) return ready
  const after = await store.tasks.dependentsOf(current)
  return after.find(
    ({ state, open_blockers, children, session_id }) =>
      state === 'blocked' && open_blockers === 1 && children === 0 && session_id === null,
  )
}
