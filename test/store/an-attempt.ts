import type { Store } from '../../src/store/store.ts'
import type { AttemptRow } from '../../src/store/tables.ts'

/** Stores a run of a project. */
export async function keepRun(store: Store, id: string, project = '/p'): Promise<void> {
  await store.transaction(tx =>
    store.runs.insert(
      {
        ...{ id, project, target: { kind: 'project' }, options: {}, state: 'ended', outcome: 'complete', reason: null },
        ...{ gave_up: null, stopping: false, iterations: 1, created_at: 0, ended_at: null },
      },
      tx,
    ),
  )
}

export interface Kept {
  task: string
  number?: number
  run?: string
  outcome?: AttemptRow['outcome']
  model?: string
  cost_usd?: number
  at?: number
  session?: string
  title?: string
  notes?: string | null
  reason?: string | null
  files?: string[]
}

/** An attempt of a run, ended at a time unless it has no outcome. */
export async function keepAttempt(store: Store, kept: Kept): Promise<void> {
  const {
    task,
    number = 1,
    run = 'r-1',
    outcome = 'done',
    at = 4_000,
    reason = null,
    model = 'sonnet',
    cost_usd = 0,
    session = `s-${task}-${number}`,
  } = kept
  await store.transaction(async tx => {
    await store.runs.begin(
      {
        ...{ task_id: task, number, run_id: run, iteration: 1, session_id: session, model },
        ...{ outcome: null, reason: null, result: null, next_model: null, failure: null, cost_usd },
        ...{ started_at: 1_000, ended_at: null, rounds: 0 },
      },
      tx,
    )
    if (outcome === null) return
    const journal = { title: kept.title ?? task, notes: kept.notes ?? null, files: JSON.stringify(kept.files ?? []) }
    await store.runs.end({ task_id: task, number }, { outcome, reason, ended_at: at, ...journal }, tx)
  })
}
