/** Bodies of the events about worktrees, gates and merges; the subject is the task's session, where it has one. */
export const WORKSPACE_EVENTS = {} as const
