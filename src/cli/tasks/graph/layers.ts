import type { TaskView } from '../../../domain/task.ts'

/** Tasks by how many steps come before them: each stands one behind the last of what it comes after. */
export function layersOf(tasks: readonly TaskView[]): TaskView[][] {
  const byId = new Map(tasks.map(task => [task.id, task]))
  const dependents = new Map<string, TaskView[]>()
  const missing = new Map<string, number>()
  for (const task of tasks) {
    const before = task.after.filter(id => byId.has(id))
    missing.set(task.id, before.length)
    for (const id of before) {
      const known = dependents.get(id)
      if (known) known.push(task)
      else dependents.set(id, [task])
    }
  }
  const layers: TaskView[][] = []
  for (let layer = tasks.filter(({ id }) => missing.get(id) === 0); layer.length > 0; ) {
    layers.push(layer)
    const next: TaskView[] = []
    for (const task of layer.flatMap(({ id }) => dependents.get(id) ?? [])) {
      const left = (missing.get(task.id) ?? 0) - 1
      missing.set(task.id, left)
      if (left === 0) next.push(task)
    }
    layer = next
  }
  return layers
}
