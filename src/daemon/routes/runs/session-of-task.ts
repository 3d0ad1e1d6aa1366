import { AppError } from '../../../base/errors.ts'
import type { SessionRow } from '../../../store/tables.ts'
import type { World } from '../../world.ts'
import { tasksOf } from '../tasks-of.ts'

/** The session that does a task, or did it last. */
export async function sessionOfTask(ref: string, world: World): Promise<SessionRow> {
  const { store } = world
  const { id, state, session_id } = await tasksOf(world).find(ref)
  const last = (await store.runs.attempts({ task: id })).at(-1)
  const of = session_id ?? last?.session_id
  const session = of === undefined ? undefined : await store.sessions.get(of)
  if (!session) throw new AppError('task_without_session', { id, state })
  return session
}
