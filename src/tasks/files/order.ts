import type { ImportedTask } from '../../domain/tasks/requests.ts'

/** Tasks so that each comes behind what it comes after and what it is a part of; or ids that go round in a circle. */
export type Ordered = { order: ImportedTask[] } | { circle: string[]; line: number }

/**
 * Puts the tasks of a file in the order in which they can be stored. A task begins after its blockers have ended and once what
 * it is a part of may begin; it ends after its parts. Whatever goes round in that would wait for itself for ever.
 */
export function orderOf(tasks: readonly ImportedTask[]): Ordered {
  const points = pointsOf(tasks)
  const state = new Map<Point, 'open' | 'left'>()
  const order: ImportedTask[] = []
  for (const point of points.all) {
    if (state.has(point)) continue
    // By hand and not by calling itself: a chain may be as long as the file.
    const way: { point: Point; next: number }[] = [{ point, next: 0 }]
    state.set(point, 'open')
    for (let top = way.at(-1); top; top = way.at(-1)) {
      const before = top.point.waitsFor[top.next++]
      if (!before) {
        state.set(top.point, 'left')
        if (top.point.at === 'begin') order.push(top.point.task)
        way.pop()
      } else if (state.get(before) === 'open') {
        const round = [...way.slice(way.findIndex(step => step.point === before)).map(step => step.point), before]
        const names = round.map(({ task }) => nameOf(task)).filter((name, index, all) => name !== all[index - 1])
        return { circle: names.length === 1 ? [...names, ...names] : names, line: before.task.line ?? 0 }
      } else if (!state.has(before)) {
        state.set(before, 'open')
        way.push({ point: before, next: 0 })
      }
    }
  }
  return { order }
}

interface Point {
  task: ImportedTask
  at: 'begin' | 'end'
  waitsFor: Point[]
}

function pointsOf(tasks: readonly ImportedTask[]): { all: Point[] } {
  const begins = tasks.map((task): Point => ({ task, at: 'begin', waitsFor: [] }))
  const ends = begins.map((begin): Point => ({ task: begin.task, at: 'end', waitsFor: [begin] }))
  const places = new Map(tasks.flatMap(({ id }, index) => (id === undefined ? [] : [[id, index] as const])))
  for (const [index, { after = [], parent }] of tasks.entries()) {
    const [begin, end] = [begins[index], ends[index]]
    const above = parent === undefined ? undefined : places.get(parent)
    for (const place of after.map(name => places.get(name))) {
      const blocker = place === undefined ? undefined : ends[place]
      if (blocker) begin?.waitsFor.push(blocker)
    }
    const [parentBegin, parentEnd] = above === undefined ? [] : [begins[above], ends[above]]
    if (parentBegin) begin?.waitsFor.push(parentBegin)
    if (parentEnd && end) parentEnd.waitsFor.push(end)
  }
  return { all: [...begins, ...ends] }
}

function nameOf({ id, line }: ImportedTask): string {
  return id ?? `line ${line ?? '?'}`
}
