import { AppError } from '../../../base/errors.ts'
import type { TaskView } from '../../../domain/task.ts'
import type { ImportedTask, TaskMention } from '../../../domain/task-requests.ts'
import { importedFromRequirements, parseRequirements } from '../../../tasks/requirements/requirements.ts'
import type { DaemonConnection } from '../../connection/connection.ts'
import { readRequirements } from '../../requirements.ts'
import type { TakenTasks } from './page.ts'

/** What a file of requirements asks for, checked before anything is written. */
export async function tasksIn(path: string): Promise<ImportedTask[]> {
  const text = readRequirements(path)
  const parsed = await parseRequirements(path, text)
  const tasks = importedFromRequirements({ path, text, parsed })
  if (tasks.length === 0) throw new AppError('requirements_done', { path, count: parsed.requirements.tasks.length })
  return tasks
}

/** The one whose parts the others are. */
export function aboveAll(tasks: readonly ImportedTask[]): ImportedTask | undefined {
  return tasks.find(({ id }) => tasks.some(({ parent }) => parent === id))
}

/** Takes the tasks of a file into a project, those that are there already, by their title, left as they are. */
export async function importNew(
  tasks: readonly ImportedTask[],
  project: string,
  client: DaemonConnection,
): Promise<Pick<TakenTasks, 'added' | 'known' | 'above'>> {
  const query = `/tasks?project=${encodeURIComponent(project)}`
  const there = (await client.request<{ tasks: TaskView[] }>('GET', query)).tasks
  const byTitle = new Map(there.map(({ id, title }) => [title, { id, title }]))
  const idOf = new Map(tasks.flatMap(({ id, title }) => (id === undefined ? [] : [[id, byTitle.get(title)?.id ?? id]])))
  const fresh = tasks
    .filter(({ title }) => !byTitle.has(title))
    .map(task => ({
      ...task,
      ...(task.after && { after: task.after.map(id => idOf.get(id) ?? id) }),
      ...(task.parent !== undefined && { parent: idOf.get(task.parent) ?? task.parent }),
    }))
  const added = fresh.length === 0 ? [] : await imported(fresh, project, client)
  const holder = aboveAll(tasks)
  const above = holder && (byTitle.get(holder.title) ?? added.find(({ title }) => title === holder.title))
  const parts = added.filter(({ id }) => id !== above?.id)
  const count = tasks.length - (holder ? 1 : 0)
  return { added: parts, known: count - parts.length, above: above ?? null }
}

async function imported(tasks: ImportedTask[], project: string, client: DaemonConnection): Promise<TaskMention[]> {
  return (await client.request<{ tasks: TaskMention[] }>('POST', '/tasks/import', { project, tasks })).tasks
}
