import type { ErrorRow } from './error-row.ts'

/** What goes wrong with worktrees, gates and merges. */
export const WORKSPACE_ERRORS = {
  place_refused: {
    exit: 3,
    http: 409,
    says: 'Task {task} got no worktree of {project}: {why}.',
    next: '{remedy}',
  },
  merge_no_worktree: {
    exit: 3,
    http: 409,
    says: 'Attempt {attempt} at task {task} has no worktree whose work could be merged.',
    next: 'See which there are with: pcc worktree list',
  },
  merge_moved: {
    exit: 1,
    http: 409,
    says: 'Merge {id} was moved by somebody else in the same moment.',
    next: 'See where it stands with: pcc merge list',
  },
} as const satisfies Record<string, ErrorRow>
