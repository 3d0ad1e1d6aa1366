import { AppError } from '../../base/errors.ts'
import { MAX_REQUIRED_TASKS, type RequiredTask } from '../../domain/brain/requirements.ts'
import { cycleIn } from './run-order.ts'

/** One thing that is wrong in a file of requirements. */
export interface Problem {
  line: number
  field: string
  problem: string
}

/** Problems named in one error: who has more mends these first. */
const SHOWN = 8

/** Throws where a file cannot be taken as it is. */
export function refuse(path: string, problems: Problem[], tasks: RequiredTask[]): void {
  const all = [...problems, ...tooMany(tasks)].sort((a, b) => a.line - b.line)
  if (all.length > 0) throw new AppError('requirements_wrong', { path, problems: told(all) })
  const cycle = cycleIn(tasks)
  if (!cycle) return
  const way = cycle.map(({ id, line }) => `${id} (line ${line})`)
  throw new AppError('requirements_cycle', { path, cycle: [...way, cycle[0]?.id].join(' → ') })
}

/** A value of the file in a message. */
export function quoted(value: string): string {
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 59)}…` : value)
}

function tooMany(tasks: RequiredTask[]): Problem[] {
  const first = tasks[MAX_REQUIRED_TASKS]
  if (!first) return []
  const problem = `there are ${tasks.length} tasks; a file may hold ${MAX_REQUIRED_TASKS}`
  return [{ line: first.line, field: 'tasks', problem }]
}

function told(problems: Problem[]): string {
  const lines = problems.slice(0, SHOWN).map(({ line, field, problem }) => `line ${line}, ${field}: ${problem}`)
  const more = problems.length - lines.length
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}
