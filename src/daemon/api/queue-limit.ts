import { AppError } from '../../base/errors.ts'
import { OPEN_STATES } from '../../domain/task.ts'
import type { DaemonContext } from '../context.ts'

/** How long a count of open tasks is good enough. */
const COUNTED_FOR_MS = 1_000

/** Refuses tasks for a project whose queue is full. */
export interface QueueLimit {
  /** Adds a task to the queue of a project by `work`. Throws `queue_full`. */
  add<T>(project: string, work: () => Promise<T>): Promise<T>
}

interface Queue {
  /** Places that were free at the last count, at most half of them. */
  free: number
  countedAt: number
  /** Tasks that are being added right now, and all that were begun: a count may not see them yet. */
  adding: number
  begun: number
}

/**
 * Counting a long queue for every task would cost more than storing it. So half of the places that were free at the last count are
 * given out without another one: what others add meanwhile makes that wrong by little, and near the limit every task is counted.
 */
export function openQueueLimit({ store }: Pick<DaemonContext, 'store'>, limit: number): QueueLimit {
  const queues = new Map<string, Queue>()
  const countOpen = async (project: string) => {
    const counts = await store.tasks.counts({ project })
    return OPEN_STATES.reduce((sum, state) => sum + (counts[state] ?? 0), 0)
  }
  return {
    async add(project, work) {
      const queue = queues.get(project) ?? { free: 0, countedAt: 0, adding: 0, begun: 0 }
      queues.set(project, queue)
      queue.adding += 1
      queue.begun += 1
      try {
        if (queue.free > 0 && Date.now() - queue.countedAt < COUNTED_FOR_MS) queue.free -= 1
        else {
          const { adding, begun } = queue
          const open = await countOpen(project)
          const unseen = adding + queue.begun - begun
          if (open + unseen > limit) throw new AppError('queue_full', { project, open, limit })
          queue.free = Math.floor((limit - open - unseen) / 2)
          queue.countedAt = Date.now()
        }
        return await work()
      } finally {
        queue.adding -= 1
        if (queue.adding === 0 && queues.size > MOST_PROJECTS) queues.delete(project)
      }
    },
  }
}

/** How many projects are remembered. */
const MOST_PROJECTS = 1_000
