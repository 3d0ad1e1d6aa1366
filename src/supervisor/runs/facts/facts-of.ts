import type { MergeState } from '../../../domain/workspace/merge.ts'
import type { AttemptRow, RunRow } from '../../../store/runs/rows.ts'
import type { Store } from '../../../store/store.ts'
import type { Tasks } from '../../../tasks/open.ts'
import { type ClosingParts, closeAttempt } from '../close-attempt.ts'
import type { RunSettings } from '../run-settings.ts'
import { scopeOf } from '../scope.ts'
import type { RunFacts } from './next-step.ts'
import { standingOf } from './standing.ts'

/** Its attempts that have no outcome yet. */
export async function openAttempts(id: string, { runs }: Pick<Store, 'runs'>): Promise<AttemptRow[]> {
  return (await runs.attempts({ run: id })).filter(({ outcome }) => outcome === null)
}

export interface FactsParts extends Omit<ClosingParts, 'settings'> {
  store: Store
  tasks: Tasks
}

/** Closes the attempts that are over, and says how the run stands then. */
export async function factsOf(run: RunRow, settings: RunSettings, parts: FactsParts): Promise<RunFacts> {
  const { store, tasks } = parts
  const standing = { works: 0, lands: 0, waits: 0 }
  let limited: string | undefined
  let inPlace: string | undefined
  for (const attempt of await openAttempts(run.id, store)) {
    const session = await store.sessions.get(attempt.session_id)
    const task = await store.tasks.get(attempt.task_id)
    const found = session ? standingOf(session, task) : 'over'
    const stands = found === 'lands' && (await isHeldUp(attempt, store)) ? 'waits' : found
    if (session?.ended_as === 'rate_limited' && stands === 'waits')
      limited = `the account is limited, and ${session.id} was not to go on by itself: pcc resume ${session.id}`
    if (stands === 'works' || stands === 'lands') inPlace ??= session?.options.in_place
    if (stands !== 'over') standing[stands] += 1
    else if (session) await closeAttempt(run, { attempt, session }, { ...parts, settings })
  }
  const { stopping, gave_up } = (await store.runs.get(run.id)) ?? run
  return {
    counts: await tasks.counts(scopeOf(run)),
    working: standing.works + standing.lands,
    waiting: standing.waits,
    iterations: run.iterations,
    limit: settings.limit,
    parallel: inPlace === undefined ? settings.parallel : 1,
    inPlace,
    spent: limited,
    stopping: run.state === 'paused' ? 'paused' : stopping ? 'after current' : undefined,
    gaveUp: gave_up ?? undefined,
  }
}

/** What was called done waits for a person, or for a checkout that is in use: other tasks need not wait for that. */
async function isHeldUp({ session_id, task_id }: AttemptRow, { escalations, merges }: Store): Promise<boolean> {
  const asked = await escalations.list({ session: session_id, states: ['open'] })
  return asked.length > 0 || HELD_UP.has((await merges.open(task_id))?.state ?? 'queued')
}

const HELD_UP: ReadonlySet<MergeState> = new Set(['waiting', 'review'])
