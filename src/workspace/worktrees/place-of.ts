import type { Place, Worktree } from '../../domain/workspace/place.ts'

/** The place as a session keeps it. */
export function placeOf({ directory, top, task, attempt, branch, target, base }: Worktree): Place {
  return { directory, top, task, attempt, branch, target, base }
}
