import type { ErrorRow } from './error-row.ts'

/** What goes wrong with worktrees, gates and merges. */
export const WORKSPACE_ERRORS = {
  gates_none: {
    exit: 3,
    http: 409,
    says: 'No command counts as a gate in {project}: there is nothing to run.',
    next: 'Find commands with: pcc gates detect --write. See what waits for your agreement with: pcc gates list',
  },
  diff_none: {
    exit: 1,
    http: 404,
    says: 'There is no diff of task {task}: {why}.',
    next: 'Look at the task with: pcc task show {task}',
  },
  review_none: {
    exit: 1,
    http: 409,
    says: 'Task {task} does not wait for a review: it is {state}.',
    next: 'See what waits for you with: pcc pending',
  },
  place_refused: {
    exit: 3,
    http: 409,
    says: 'Task {task} got no worktree of {project}: {why}.',
    next: '{remedy}',
  },
  place_busy: {
    exit: 3,
    http: 409,
    says: 'Task {task} got no worktree of {project} yet: {why}.',
    next: '{remedy}',
  },
  worktree_unknown: {
    exit: 2,
    http: 404,
    says: 'No worktree was ever made for task {task}.',
    next: 'See those there are with: pcc worktree list. Those there were: pcc worktree list --all',
  },
  worktree_ambiguous: {
    exit: 2,
    http: 409,
    says: '"{ref}" fits the worktrees of several tasks: {matches}.',
    next: 'Give more of the id.',
  },
  worktree_busy: {
    exit: 3,
    http: 409,
    says: 'Task {task} is {state}: its worktree {path} is needed. Nothing was changed.',
    next: 'Wait until it is over, or stop it first: pcc stop {task}',
  },
  worktree_not_so: {
    exit: 2,
    http: 409,
    says: 'The worktree of task {task} is {state}, so that cannot be done. Nothing was changed.',
    next: 'See what became of it with: pcc worktree show {task}',
  },
  merge_no_worktree: {
    exit: 3,
    http: 409,
    says: 'Attempt {attempt} at task {task} has no worktree whose work could be merged.',
    next: 'See which there are with: pcc worktree list',
  },
  merge_unknown: {
    exit: 2,
    http: 404,
    says: 'There is no merge "{ref}": neither a merge has that number nor a task with a merge that id.',
    next: 'See those there are with: pcc merge list --all',
  },
  merge_ambiguous: {
    exit: 2,
    http: 409,
    says: '"{ref}" fits the merges of {found} tasks: {tasks}.',
    next: 'Type more of the id, or the number from: pcc merge list --all',
  },
  merge_not_so: {
    exit: 2,
    http: 409,
    says: 'The merge {id} of task {task} is {state}, which cannot be changed this way.',
    next: 'See where it stands with: pcc merge list --all. Its task: pcc task show {task}',
  },
  merge_moved: {
    exit: 1,
    http: 409,
    says: 'Merge {id} was moved by somebody else in the same moment.',
    next: 'See where it stands with: pcc merge list',
  },
  worktree_gone: {
    exit: 1,
    http: 409,
    says: 'The worktree {path} of task {task} (branch {branch}) is gone.',
    next: 'Bring it back with: pcc worktree restore {task}. Or have the task done anew with: pcc task reset {task}',
  },
  project_without_git: {
    exit: 1,
    http: 409,
    says: '{project} is no git repository any more, and the session works in a worktree of it.',
    next: 'Bring its .git directory back, then go on with: pcc resume',
  },
} as const satisfies Record<string, ErrorRow>
