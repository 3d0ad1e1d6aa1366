import type { KeptApart } from '../../../domain/runs/run-view.ts'
import { mayMeet } from './may-meet.ts'

/** A task and what it will probably touch; nothing where nobody knows. */
export interface Touching {
  id: string
  title: string
  paths: readonly string[]
}

/**
 * The first task, in their order, that may be begun beside those at work, and those before it that would touch the same files. What
 * nobody knows anything of is in nobody's way. Pure.
 */
export function keepApart(
  ready: readonly Touching[],
  atWork: readonly Touching[],
): { next: string | undefined; apart: KeptApart[] } {
  const apart: KeptApart[] = []
  for (const task of ready) {
    const met = firstMet(task, atWork)
    if (!met) return { next: task.id, apart }
    apart.push({ id: task.id, title: task.title, ...met })
  }
  return { next: undefined, apart }
}

/** All that have to wait now, wherever they stand in the line. */
export function allApart(ready: readonly Touching[], atWork: readonly Touching[]): KeptApart[] {
  return ready.flatMap(task => {
    const met = firstMet(task, atWork)
    return met ? [{ id: task.id, title: task.title, ...met }] : []
  })
}

function firstMet(
  { id, paths }: Touching,
  atWork: readonly Touching[],
): Pick<KeptApart, 'beside' | 'path'> | undefined {
  for (const other of atWork) {
    if (other.id === id) continue
    const path = paths.find(mine => other.paths.some(theirs => mayMeet(mine, theirs)))
    if (path !== undefined) return { beside: other.id, path }
  }
  return undefined
}

/** Why one waits, for the person. */
export function apartText({ id, beside, path }: KeptApart): string {
  return `${id} waits for ${beside}, which is at work: both will probably touch ${path}`
}
