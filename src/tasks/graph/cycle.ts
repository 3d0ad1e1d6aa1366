import type { Edge } from '../../store/tasks/shapes.ts'

/** What a task is told of before it can begin (`begin`), or before it is over (`end`). */
export interface Point {
  id: string
  at: 'begin' | 'end'
}

/** What is known of the graph around tasks. */
export interface Around {
  blockersOf(ids: readonly string[]): Promise<Edge[]>
  /** Pairs of a task and one of its parts. */
  partsOf(ids: readonly string[]): Promise<{ id: string; parent_id: string | null }[]>
  parentsOf(ids: readonly string[]): Promise<{ id: string; parent_id: string | null }[]>
}

/**
 * The way by which one point waits for another, by ids from the first to the last; nothing where it does not.
 *
 * A task ends after it has begun and after its parts have ended. It begins after its blockers have ended and once the task that
 * it is a part of may begin. A new wait is impossible exactly where what is waited for waits for the one that is to wait.
 */
export async function wayTo(from: Point, to: Point, around: Around): Promise<string[] | undefined> {
  const cameFrom = new Map<string, string>()
  const goal = nameOf(to)
  const seen = new Set([nameOf(from)])
  for (let level = [from]; level.length > 0 && !seen.has(goal); ) {
    const next: Point[] = []
    for (const { before, waits } of await waitsOf(level, around)) {
      const name = nameOf(before)
      if (seen.has(name)) continue
      seen.add(name)
      cameFrom.set(name, nameOf(waits))
      next.push(before)
    }
    level = next
  }
  if (!seen.has(goal)) return undefined
  const way = [idOf(goal)]
  for (let at = cameFrom.get(goal); at !== undefined; at = cameFrom.get(at)) {
    if (way.at(-1) !== idOf(at)) way.push(idOf(at))
  }
  return way.reverse()
}

async function waitsOf(level: Point[], around: Around): Promise<{ waits: Point; before: Point }[]> {
  const ending = level.filter(({ at }) => at === 'end').map(({ id }) => id)
  const beginning = level.filter(({ at }) => at === 'begin').map(({ id }) => id)
  const parts = await around.partsOf(ending)
  const blockers = await around.blockersOf(beginning)
  const parents = await around.parentsOf(beginning)
  return [
    ...ending.map(id => ({ waits: end(id), before: begin(id) })),
    ...parts.flatMap(({ id, parent_id }) => (parent_id === null ? [] : [{ waits: end(parent_id), before: end(id) }])),
    ...blockers.map(({ task_id, blocker_id }) => ({ waits: begin(task_id), before: end(blocker_id) })),
    ...parents.flatMap(({ id, parent_id }) =>
      parent_id === null ? [] : [{ waits: begin(id), before: begin(parent_id) }],
    ),
  ]
}

/** The point at which a task may begin. */
export function begin(id: string): Point {
  return { id, at: 'begin' }
}

/** The point at which a task is over. */
export function end(id: string): Point {
  return { id, at: 'end' }
}

function nameOf({ id, at }: Point): string {
  return `${at}:${id}`
}

function idOf(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}
