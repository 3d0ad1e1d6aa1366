/** What one attempt changed. */
export interface Changed {
  task_id: string
  files: readonly string[]
}

export interface KnownOf {
  /** What was said of it. */
  declared: readonly string[]
  /** What its own attempts, those at the task that it is a part of, and those at the other parts of that have changed. */
  own: readonly Changed[]
  parent: readonly Changed[]
  siblings: readonly Changed[]
}

/** A file that so many other parts have changed is one that the next will change too: an index, a table of routes. */
const SEVERAL = 2

/**
 * What a task will probably touch: what was declared; else what earlier attempts at it and at the whole that it is a part of have
 * changed, and what several of its siblings have. What one sibling changed alone is that sibling's business: by it all parts of one
 * task would be kept apart. Pure.
 */
export function likelyPaths({ declared, own, parent, siblings }: KnownOf): string[] {
  if (declared.length > 0) return [...declared]
  const byFile = new Map<string, Set<string>>()
  for (const { task_id, files } of siblings) {
    for (const file of files) byFile.set(file, (byFile.get(file) ?? new Set()).add(task_id))
  }
  const shared = [...byFile].filter(([, tasks]) => tasks.size >= SEVERAL).map(([file]) => file)
  return [...new Set([...own, ...parent].flatMap(({ files }) => files).concat(shared))]
}
