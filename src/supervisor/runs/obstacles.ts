import type { AppError } from '../../base/errors.ts'
import type { EventBody } from '../../domain/event.ts'
import type { Store } from '../../store/store.ts'

/** Something that keeps tasks of a run from beginning until a person mends it: a branch that is gone, a full disk. */
export type Obstacle = EventBody<'run.held_up'>['by'][number]

/** The message of the error names the task; the obstacle is the same for all of them. */
export function toObstacle({ code, message, next, detail }: AppError): Obstacle {
  return { code, why: `${detail['why'] ?? detail['reason'] ?? message}`, next }
}

/** Two obstacles with the same cause are one. How little space a full disk has changes all the time. */
export function causeOf({ code, why }: Obstacle): string {
  return code === 'disk_full' ? code : why
}

/** What is in the way of a run, by its last event about that, and since when. */
export async function findObstacles(
  run: string,
  { events }: Pick<Store, 'events'>,
): Promise<{ by: readonly Obstacle[]; since: number }> {
  const [last] = await events({ subject: run, kinds: ['run.held_up'], tail: 1 })
  return last?.kind === 'run.held_up' ? { by: last.body.by, since: last.time } : { by: [], since: 0 }
}

interface ObstacleDeps {
  store: Store
  heldBack: { stuckIn(run: string): readonly { task: string; obstacle: Obstacle }[] }
}

/**
 * Records what is in the way of a run, when that has changed: the list of what waits for a person is made from it. `more` comes
 * beside what holds back single tasks.
 */
export async function noteObstacles(
  run: string,
  { store, heldBack }: ObstacleDeps,
  more: readonly Obstacle[] = [],
): Promise<void> {
  const now = new Map(more.map(obstacle => [causeOf(obstacle), obstacle]))
  for (const { task, obstacle } of heldBack.stuckIn(run)) {
    // A person may have settled the task meanwhile.
    if ((await store.tasks.get(task))?.state === 'ready') now.set(causeOf(obstacle), obstacle)
  }
  const { by: before } = await findObstacles(run, store)
  if (before.length === now.size && before.every(obstacle => now.has(causeOf(obstacle)))) return
  await store.append([{ actor: 'daemon', subject: run, kind: 'run.held_up', body: { by: [...now.values()] } }])
}
