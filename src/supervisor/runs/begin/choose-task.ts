import type { Task } from '../../../domain/task.ts'
import type { RunRow } from '../../../store/runs/rows.ts'
import type { Store } from '../../../store/store.ts'
import { apartText, keepApart } from '../overlap/keep-apart.ts'
import { touchingNow } from '../overlap/touching.ts'
import { scopeOf } from '../scope.ts'

/** The task that a run takes next, or why there is none although some are ready. */
export type Choice = { task: Task } | { why: string | undefined }

/**
 * The ready task of the highest priority, else the oldest. Where several are done at once, one that will probably touch the same files
 * as a task at work is passed over until that one is over. `not`: those that are passed over in any case.
 */
export async function chooseTask(
  run: RunRow,
  { parallel, not }: { parallel: number; not: ReadonlySet<string> },
  store: Store,
): Promise<Choice> {
  if (parallel === 1) {
    const [scope, many] = [scopeOf(run), not.size + 1]
    const task = await store.transaction(async tx =>
      many === 1
        ? store.tasks.nextFree(scope, tx)
        : (await store.tasks.free(scope, many, tx)).find(({ id }) => !not.has(id)),
    )
    return task ? { task } : { why: undefined }
  }
  const { ready, atWork, tasks } = await touchingNow(scopeOf(run), store)
  const { next, apart } = keepApart(
    ready.filter(({ id }) => !not.has(id)),
    atWork,
  )
  const task = next === undefined ? undefined : tasks.get(next)
  return task ? { task } : { why: apart.map(apartText)[0] }
}
