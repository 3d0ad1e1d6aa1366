import { AppError } from '../../base/errors.ts'
import type { TaskView } from '../../domain/task.ts'
import type { ImportedTask, TaskMention } from '../../domain/tasks/requests.ts'
import { importedFrom } from '../../tasks/requirements/import-list.ts'
import { parseRequirements } from '../../tasks/requirements/parse.ts'
import type { Connection } from '../connection/connection.ts'
import { requirementsText } from '../requirements.ts'

/** What a file of requirements asks for, checked before anything is written. */
export async function tasksIn(path: string): Promise<ImportedTask[]> {
  const text = requirementsText(path)
  const parsed = await parseRequirements(path, text)
  const tasks = importedFrom({ path, text, parsed })
  if (tasks.length === 0) throw new AppError('requirements_done', { path, count: parsed.requirements.tasks.length })
  return tasks
}

export interface ImportOutcome {
  added: TaskMention[]
  /** How many of the file were there already. */
  known: number
}

/** Takes the tasks of a file into a project, those that are there already, by their title, left as they are. */
export async function importNew(
  tasks: readonly ImportedTask[],
  project: string,
  client: Connection,
): Promise<ImportOutcome> {
  const query = `/tasks?project=${encodeURIComponent(project)}`
  const there = (await client.request<{ tasks: TaskView[] }>('GET', query)).tasks
  const byTitle = new Map(there.map(task => [task.title, task.id]))
  const idOf = new Map(tasks.flatMap(({ id, title }) => (id === undefined ? [] : [[id, byTitle.get(title) ?? id]])))
  const fresh = tasks
    .filter(({ title }) => !byTitle.has(title))
    .map(task => ({
      ...task,
      ...(task.after && { after: task.after.map(id => idOf.get(id) ?? id) }),
      ...(task.parent !== undefined && { parent: idOf.get(task.parent) ?? task.parent }),
    }))
  if (fresh.length === 0) return { added: [], known: tasks.length }
  const body = { project, tasks: fresh }
  const { tasks: added } = await client.request<{ tasks: TaskMention[] }>('POST', '/tasks/import', body)
  return { added, known: tasks.length - fresh.length }
}
