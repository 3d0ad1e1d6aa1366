import { resolve } from 'node:path'
import type { FeatureView } from '../../domain/features/feature.ts'
import type { TaskView } from '../../domain/task.ts'
import { openClient } from '../client.ts'
import { confirm } from '../confirm.ts'
import type { Context } from '../context.ts'
import { taskLines } from '../tasks/list.ts'
import { featurePath } from './path.ts'
import { listLines, pageLines } from './words.ts'

/** `pcc feature list` */
export async function listFeatures(project = '.', context: Context): Promise<void> {
  const client = await openClient(context.places, context)
  const path = `/features?project=${encodeURIComponent(resolve(project))}`
  const { features } = await client.request<{ features: FeatureView[] }>('GET', path)
  print({ features }, () => listLines(features, context.terminal), context)
}

/** `pcc feature show` */
export async function showFeature(name: string, project = '.', context: Context): Promise<void> {
  const client = await openClient(context.places, context)
  const home = { project: resolve(project), name }
  const feature = await client.request<FeatureView>('GET', featurePath(home))
  const query = `project=${encodeURIComponent(feature.project)}&feature=${encodeURIComponent(name)}`
  const { tasks } = await client.request<{ tasks: TaskView[] }>('GET', `/tasks?${query}`)
  const below = tasks.length === 0 ? [] : ['', ...taskLines(tasks, context.terminal)]
  print({ ...feature, task_list: tasks }, () => [...pageLines(feature, context.terminal), ...below], context)
}

interface DeleteFlags {
  project?: string
  files?: true
  tasks?: true
  yes?: true
}

/** `pcc feature delete` */
export async function deleteFeature(name: string, flags: DeleteFlags, context: Context): Promise<void> {
  const client = await openClient(context.places, context)
  const home = { project: resolve(flags.project ?? '.'), name }
  const feature = await client.request<FeatureView>('GET', featurePath(home))
  const also = [...(flags.files ? ['its files'] : []), ...(flags.tasks ? ['its tasks'] : [])]
  const what = [`the feature ${name}`, ...also].join(' with ').replace(' with its tasks', ' and its tasks')
  await confirm({ action: `Deleting ${what}`, question: `Delete ${what}?`, yes: flags.yes === true })
  const more = `${flags.files ? '&files=true' : ''}${flags.tasks ? '&tasks=true' : ''}`
  await client.request('DELETE', `${featurePath(home)}${more}`)
  const kept = feature.spec.exists && !flags.files ? [`Its files are left: ${feature.spec.path}`] : []
  print({ deleted: name }, () => [`Deleted ${what}.`, ...kept], context)
}

function print(answer: unknown, lines: () => string[], { json, out }: Context): void {
  for (const line of json ? [JSON.stringify(answer, null, 2)] : lines()) out(line)
}
