import { changedNothing } from '../../../domain/workspace/place.ts'
import type { Store } from '../../../store/store.ts'

/** Of the tasks that a run has done in worktrees, those whose work is in its target, and those whose work is not. */
export async function mergedOf(run: string, store: Store): Promise<{ merged: number; unmerged: number }> {
  const counted = { merged: 0, unmerged: 0 }
  for (const { session_id, outcome } of await store.runs.attempts({ run })) {
    const place = outcome === 'done' ? (await store.sessions.get(session_id))?.options.place : undefined
    if (!place) continue
    const rows = await store.merges.list({ task: place.task, states: ['merged'] })
    // What changed nothing is neither: there was nothing to merge.
    if (rows.some(row => row.attempt === place.attempt && changedNothing(place, row))) continue
    counted[rows.some(({ attempt }) => attempt === place.attempt) ? 'merged' : 'unmerged'] += 1
  }
  return counted
}
