import type { Place } from './place.ts'

/** Where the agent of a session works: in a worktree of its own, or in the project itself. */
export function workDirectory({
  project,
  options,
}: {
  project: string
  options: { place?: Place | undefined }
}): string {
  return options.place?.directory ?? project
}
