import type { FirstTask } from '../../domain/task.ts'
import type { Parsed } from './reading.ts'
import { inRunOrder } from './run-order.ts'

/** A file of requirements: where it lies, what it holds, and what was read out of it. */
export interface RequirementsFile {
  path: string
  text: string
  parsed: Parsed
}

/**
 * The queue of a session that works through a file: what is open, in the order in which it runs. The rest of the file stands
 * under the first task, since one conversation does them all.
 */
export function queueFrom(file: RequirementsFile): FirstTask[] {
  const order = inRunOrder(file.parsed.requirements.tasks)
  return order.map(({ id, text, priority, depends_on }, index) => ({
    text: index === 0 ? withBackground(text, order.length, file) : text,
    priority,
    ...(id !== undefined && { id }),
    after: depends_on,
  }))
}

/** What a file says besides its tasks. */
export function backgroundOf({ text, parsed: { taskLines } }: RequirementsFile): string {
  const isTask = (line: number) => taskLines.some(([from, to]) => line >= from && line <= to)
  return text
    .split(/\r?\n/)
    .filter((_, index) => !isTask(index + 1))
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

function withBackground(task: string, count: number, file: RequirementsFile): string {
  const background = backgroundOf(file)
  const others =
    count === 1 ? '' : `This is the first of ${count} tasks: do only this one, the others follow one at a time.`
  const from = background && `Requirements (${file.path}):\n\n${background}`
  return [task, others, from].filter(Boolean).join('\n\n')
}
