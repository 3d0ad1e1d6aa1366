import { messageOf } from '../../base/errors.ts'
import type { RawTasks } from './raw-tasks.ts'

/** One JSON object a line; empty lines do not count. */
export function fromJsonLines(text: string): RawTasks {
  const raw: RawTasks = { tasks: [], problems: [] }
  for (const [index, source] of text.split('\n').entries()) {
    const line = index + 1
    if (source.trim() === '') continue
    try {
      raw.tasks.push({ line, value: JSON.parse(source) })
    } catch (error) {
      raw.problems.push({ line, problem: `this is no JSON: ${messageOf(error).slice(0, 100)}` })
    }
  }
  return raw
}
