import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../../base/errors.ts'
import type { JournalPage } from '../../../domain/runs/journal.ts'
import { searchJournal } from '../../../tasks/journal/search.ts'
import { checked } from '../../http/errors.ts'
import type { World } from '../../world.ts'
import { real } from '../tasks/task-routes.ts'
import { tasksOf } from '../tasks-of.ts'

const Query = z.strictObject({
  project: z.string().min(1).optional(),
  /** Id of a run, or a unique beginning of it. */
  run: z.string().min(1).optional(),
  task: z.string().min(1).optional(),
  words: z.string().max(1_000).optional(),
  /** Milliseconds since the epoch. */
  since: z.coerce.number().int().min(0).optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(20),
})

/** What became of every attempt of a run. Reads only. */
export function journalRoutes(app: FastifyInstance, world: World): void {
  app.get('/journal', async (request): Promise<JournalPage> => {
    const { project, run, task, ...rest } = checked(Query, request.query, 'GET /journal')
    return searchJournal(world.store, {
      ...rest,
      project: project === undefined ? undefined : await real(project),
      run: run === undefined ? undefined : (await world.store.runs.resolve(run)).id,
      task: task === undefined ? undefined : await taskNamed(task, world),
    })
  })
}

/** One that was deleted has its entries still: it is named by its whole id. */
async function taskNamed(ref: string, world: World): Promise<string> {
  try {
    return (await tasksOf(world).find(ref)).id
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'task_not_there')) throw error
    if ((await world.store.journal.count({ task: ref })) === 0) throw error
    return ref
  }
}
