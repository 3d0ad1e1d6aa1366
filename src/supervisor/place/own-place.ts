import { AppError } from '../../base/errors.ts'
import { shortId } from '../../base/ids.ts'
import type { StartSession } from '../../domain/api.ts'
import type { FirstTask } from '../../domain/task.ts'
import type { Place } from '../../domain/workspace/place.ts'
import type { Floor } from '../floor.ts'

/** A worktree for a session that a person starts in one: made before its task has a row, under the id that it will have. */
export async function ownPlace(
  request: StartSession & { tasks: FirstTask[] },
  { ground, parts }: Floor,
): Promise<{ place: Place; leave(): Promise<void> }> {
  const { project, tasks, resume } = request
  if (tasks.length > 1) throw refused(`one task lands from a worktree, and ${tasks.length} were given; see pcc run`)
  if (resume) throw refused('a conversation that is resumed goes on where it began')
  const task = await freeId(parts.store.tasks)
  const made = await ground.make({ project, task, attempt: 1 }, request)
  if ('why' in made) {
    const remedy = 'Leave --worktree out: it then works in the project itself.'
    throw new AppError('place_refused', { task, project, why: made.why, remedy })
  }
  return { place: made, leave: () => ground.leave(made, { project, settings: request }) }
}

async function freeId({ get }: Floor['parts']['store']['tasks']): Promise<string> {
  for (;;) {
    const id = shortId('t')
    if (!(await get(id))) return id
  }
}

function refused(problem: string): AppError {
  return new AppError('bad_request', { route: 'POST /sessions', problem: `worktree: ${problem}` })
}
