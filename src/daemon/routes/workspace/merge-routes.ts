import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../../base/errors.ts'
import type { MergeView } from '../../../domain/workspace/merge.ts'
import { type Merge, type MergeState, OPEN_MERGES } from '../../../domain/workspace/merge.ts'
import { checked } from '../../http/errors.ts'
import type { World } from '../../world.ts'
import { real } from '../tasks/task-routes.ts'

const Ref = z.object({ ref: z.string().min(1) })
const ListQuery = z.strictObject({ project: z.string().min(1).optional(), all: z.literal('true').optional() })

/** Over ones that are shown: the newest. */
const LATEST = 100

/** Work that is on its way into its target, or was: look at it, try it again, call it off. */
export function mergeRoutes(app: FastifyInstance, world: World): void {
  const { store, supervisor } = world

  app.get('/merges', async (request): Promise<{ merges: MergeView[] }> => {
    const { project, all } = checked(ListQuery, request.query, 'GET /merges')
    const of = project === undefined ? {} : { project: await real(project) }
    const rows = await store.merges.list({ ...of, ...(all ? { limit: LATEST } : { states: OPEN_MERGES }) })
    return { merges: await views(rows, world) }
  })

  app.post('/merges/:ref/retry', async (request): Promise<{ merge: MergeView }> => {
    const merge = await mergeOf(checked(Ref, request.params, 'POST /merges/:ref/retry').ref, world)
    const task = await store.tasks.get(merge.task_id)
    if (STANDS.has(merge.state)) supervisor.landing.look(merge.task_id)
    else if (GIVEN_UP.has(merge.state) && (task?.state === 'merging' || task?.state === 'verifying')) {
      await supervisor.landing.again(merge.task_id)
    } else throw refusal(merge)
    return shown(merge, world)
  })

  app.post('/merges/:ref/abort', async (request): Promise<{ merge: MergeView }> => {
    const merge = await mergeOf(checked(Ref, request.params, 'POST /merges/:ref/abort').ref, world)
    if (!CALLED_OFF.has(merge.state)) throw refusal(merge)
    const patch = { state: 'aborted', reason: 'called off by a person', updated_at: Date.now() } as const
    if (!(await store.transaction(tx => store.merges.move(merge, patch, tx)))) {
      throw new AppError('merge_moved', { id: merge.id })
    }
    supervisor.landing.look(merge.task_id)
    return shown({ ...merge, ...patch }, world)
  })
}

const STANDS: ReadonlySet<MergeState> = new Set(['queued', 'waiting'])
/** A conflict that was given to a person is theirs to resolve; one that is with its conversation has a task that works. */
const GIVEN_UP: ReadonlySet<MergeState> = new Set(['failed', 'aborted', 'conflicted'])
/** One that is landing may be in its target at this moment; a conflict is with the task's conversation. */
const CALLED_OFF: ReadonlySet<MergeState> = new Set(['queued', 'waiting', 'review', 'rebasing', 'verifying'])

function refusal({ id, task_id, state }: Merge): AppError {
  return new AppError('merge_not_so', { id, task: task_id, state })
}

/** The number of a merge, or a task by its id or the beginning of it: then its newest one. */
async function mergeOf(ref: string, { store }: World): Promise<Merge> {
  const byNumber = /^\d+$/.test(ref) ? await store.merges.get(Number(ref)) : undefined
  if (byNumber) return byNumber
  const wanted = ref.startsWith('t-') ? ref : `t-${ref}`
  const found = (await store.merges.list()).filter(({ task_id }) => task_id.startsWith(wanted))
  const tasks = new Set(found.map(({ task_id }) => task_id))
  const newest = found.at(-1)
  if (!newest) throw new AppError('merge_unknown', { ref })
  const some = [...tasks].slice(0, 3).join(', ')
  if (tasks.size > 1) throw new AppError('merge_ambiguous', { ref, found: tasks.size, tasks: some })
  return newest
}

async function shown(merge: Merge, world: World): Promise<{ merge: MergeView }> {
  const [view] = await views([merge], world)
  return { merge: view ?? { ...merge, title: null, task_state: null, ahead: 0 } }
}

async function views(rows: readonly Merge[], { store }: World): Promise<MergeView[]> {
  const open = await store.merges.list({ states: OPEN_MERGES })
  return Promise.all(
    rows.map(async row => {
      const task = await store.tasks.get(row.task_id)
      const isBefore = ({ id, repository, target }: Merge) =>
        id < row.id && repository === row.repository && target === row.target
      const isOpen = OPEN_MERGES.some(state => state === row.state)
      const ahead = isOpen ? open.filter(isBefore).length : 0
      return { ...row, title: task?.title ?? null, task_state: task?.state ?? null, ahead }
    }),
  )
}
