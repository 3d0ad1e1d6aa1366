import { existsSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import type { Worktree } from '../../../domain/workspace/place.ts'
import type { WorktreeView } from '../../../domain/workspace/worktree-view.ts'
import { checked } from '../../http/errors.ts'
import { worktreeParts } from '../../worktrees/parts.ts'
import type { World } from '../../world.ts'
import { real } from '../tasks/task-routes.ts'

const Task = z.object({ task: z.string().min(1) })
const ListQuery = z.strictObject({ project: z.string().min(1).optional(), all: z.literal('true').optional() })
const PruneBody = z.strictObject({ project: z.string().min(1).optional() })

/** Worktrees: look at them, put them away, bring them back. */
export function worktreeRoutes(app: FastifyInstance, world: World): void {
  const { store, places, log, agentEnv: env } = world
  const opened = async () => {
    const { openWorktrees } = await import('../../../workspace/worktrees/worktrees.ts')
    return openWorktrees(await worktreeParts({ places, env, store, log }))
  }
  const taskOf = (params: unknown, route: string) => checked(Task, params, route).task

  app.get('/worktrees', async (request): Promise<{ worktrees: WorktreeView[] }> => {
    const { project, all } = checked(ListQuery, request.query, 'GET /worktrees')
    const of = project === undefined ? {} : { project: await real(project) }
    return { worktrees: await views(await (await opened()).list({ ...of, all: all !== undefined }), world) }
  })

  app.get('/worktrees/:task', async request => {
    const worktrees = await opened()
    const rows = await worktrees.show(taskOf(request.params, 'GET /worktrees/:task'))
    return { worktrees: await views(rows, world), forecast: await worktrees.forecast(rows) }
  })

  app.post('/worktrees/prune', async request => {
    const { project } = checked(PruneBody, request.body ?? {}, 'POST /worktrees/prune')
    const of = project === undefined ? {} : { project: await real(project) }
    return { pruned: await (await opened()).prune(of) }
  })

  app.post('/worktrees/:task/remove', async request =>
    (await opened()).remove(taskOf(request.params, 'POST /worktrees/:task/remove')),
  )

  app.post('/worktrees/:task/archive', async request =>
    (await opened()).archive(taskOf(request.params, 'POST /worktrees/:task/archive')),
  )

  app.post('/worktrees/:task/restore', async request =>
    (await opened()).restore(taskOf(request.params, 'POST /worktrees/:task/restore')),
  )
}

function views(rows: Worktree[], { store }: World): Promise<WorktreeView[]> {
  return Promise.all(
    rows.map(async row => {
      const task = await store.tasks.get(row.task)
      return { ...row, task_state: task?.state ?? null, title: task?.title ?? null, exists: existsSync(row.top) }
    }),
  )
}
