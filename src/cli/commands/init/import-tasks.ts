import { AppError } from '../../../base/errors.ts'
import type { TaskView } from '../../../domain/task.ts'
import type { ImportedTask, TaskMention } from '../../../domain/task-requests.ts'
import { importedFromRequirements, parseRequirements } from '../../../tasks/requirements/requirements.ts'
import type { DaemonConnection } from '../../connection/connection.ts'
import { readRequirements } from '../../requirements.ts'
import type { TakenTasks } from './page.ts'

/** Reads the open tasks of a requirements file, before anything is written. */
export async function readTasks(path: string): Promise<ImportedTask[]> {
  const text = readRequirements(path)
  const parsed = await parseRequirements(path, text)
  const tasks = importedFromRequirements({ path, text, parsed })
  if (tasks.length === 0) throw new AppError('requirements_done', { path, count: parsed.requirements.tasks.length })
  return tasks
}

/** The parent of the other tasks, if there is one. */
export function findParent(tasks: readonly ImportedTask[]): ImportedTask | undefined {
  return tasks.find(({ id }) => tasks.some(({ parent }) => parent === id))
}

/** Imports the tasks of a file into a project; tasks whose title exists already are left as they are. */
export async function importNewTasks(
  tasks: readonly ImportedTask[],
  project: string,
  client: DaemonConnection,
): Promise<Pick<TakenTasks, 'added' | 'known' | 'above'>> {
  const query = `/tasks?project=${encodeURIComponent(project)}`
  const existing = (await client.request<{ tasks: TaskView[] }>('GET', query)).tasks
  const byTitle = new Map(existing.map(({ id, title }) => [title, { id, title }]))
  const ids = new Map(tasks.flatMap(({ id, title }) => (id === undefined ? [] : [[id, byTitle.get(title)?.id ?? id]])))
  const fresh = tasks
    .filter(({ title }) => !byTitle.has(title))
    .map(task => ({
      ...task,
      ...(task.after && { after: task.after.map(id => ids.get(id) ?? id) }),
      ...(task.parent !== undefined && { parent: ids.get(task.parent) ?? task.parent }),
    }))
  const added = fresh.length === 0 ? [] : await importTasks(fresh, project, client)
  const parent = findParent(tasks)
  const above = parent && (byTitle.get(parent.title) ?? added.find(({ title }) => title === parent.title))
  const parts = added.filter(({ id }) => id !== above?.id)
  const count = tasks.length - (parent ? 1 : 0)
  return { added: parts, known: count - parts.length, above: above ?? null }
}

async function importTasks(tasks: ImportedTask[], project: string, client: DaemonConnection): Promise<TaskMention[]> {
  return (await client.request<{ tasks: TaskMention[] }>('POST', '/tasks/import', { project, tasks, update: true }))
    .tasks
}
