import type { RequiredTask } from '../../domain/brain/requirements.ts'

/**
 * What is open, in the order in which it runs: higher priority first, then as written, and nothing before what it depends on.
 * What depends on something that is done does not wait for it.
 */
export function inRunOrder(tasks: readonly RequiredTask[]): RequiredTask[] {
  const open = tasks.filter(({ done }) => !done)
  const left = new Set(open.flatMap(({ id }) => id ?? []))
  const waiting = open.map(task => ({ ...task, depends_on: task.depends_on.filter(id => left.has(id)) }))
  waiting.sort((a, b) => b.priority - a.priority) // stable: as written among equals
  const order: RequiredTask[] = []
  for (let next = takeFree(waiting, left); next; next = takeFree(waiting, left)) {
    order.push(next)
    if (next.id !== undefined) left.delete(next.id)
  }
  return order
}

/** Tasks that wait for one another, in the order in which each depends on the next; undefined where there are none. */
export function cycleIn(tasks: readonly RequiredTask[]): RequiredTask[] | undefined {
  const byId = new Map(tasks.flatMap(task => (task.id === undefined ? [] : [[task.id, task] as const])))
  const sound = new Set<RequiredTask>()
  for (const task of byId.values()) {
    if (sound.has(task)) continue
    const way = [{ task, rest: [...task.depends_on] }]
    for (let at = way.at(-1); at; at = way.at(-1)) {
      const next = byId.get(at.rest.shift() ?? '')
      const seen = way.findIndex(step => step.task === next)
      if (next && seen >= 0) return way.slice(seen).map(step => step.task)
      if (next && !sound.has(next)) way.push({ task: next, rest: [...next.depends_on] })
      else if (at.rest.length === 0) {
        sound.add(at.task)
        way.pop()
      }
    }
  }
  return undefined
}

function takeFree(waiting: RequiredTask[], left: ReadonlySet<string>): RequiredTask | undefined {
  const index = waiting.findIndex(({ depends_on }) => !depends_on.some(id => left.has(id)))
  return index < 0 ? undefined : waiting.splice(index, 1)[0]
}
