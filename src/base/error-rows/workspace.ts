import type { ErrorRow } from './error-row.ts'

/** What goes wrong with worktrees, gates and merges. */
export const WORKSPACE_ERRORS = {
  place_refused: {
    exit: 3,
    http: 409,
    says: 'Task {task} got no worktree of {project}: {why}.',
    next: '{remedy}',
  },
} as const satisfies Record<string, ErrorRow>
