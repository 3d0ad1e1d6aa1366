import { AppError } from '../../base/errors.ts'
import type { ImportedTask } from '../../domain/tasks/requests.ts'
import { readTasks } from '../files/read-tasks.ts'
import { documentPath, type FeatureHome } from './files.ts'

/** The tasks that the check-list of a plan names. Throws `no_plan` where it names none. */
export async function tasksOfPlan(plan: string | undefined, home: FeatureHome): Promise<ImportedTask[]> {
  const path = documentPath(home, 'plan')
  const tasks = plan === undefined ? [] : await readTasks(plan, 'markdown', path)
  if (tasks.length === 0) throw new AppError('no_plan', { name: home.name, path })
  return tasks
}
