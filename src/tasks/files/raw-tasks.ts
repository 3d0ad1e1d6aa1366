import { AppError } from '../../base/errors.ts'

/** The forms in which tasks are written down. */
export const TASK_FORMATS = ['yaml', 'jsonl', 'markdown'] as const
export type TaskFormat = (typeof TASK_FORMATS)[number]

/** One task as a file has it, before it is checked. */
export interface RawTask {
  line: number
  value: unknown
}

/** Something wrong in a file, and where. */
export interface FileProblem {
  line: number
  problem: string
}

/** What a reader makes of a text. */
export interface RawTasks {
  tasks: RawTask[]
  problems: FileProblem[]
}

/** Problems named in one error: who has more mends these first. */
const SHOWN = 8

/** `tasks_wrong` with the first few problems. */
export function wrong(path: string, problems: FileProblem[]): AppError {
  const sorted = problems.toSorted((a, b) => a.line - b.line)
  const told = sorted.slice(0, SHOWN).map(({ line, problem }) => `line ${line}: ${problem}`)
  const more = problems.length - told.length
  return new AppError('tasks_wrong', {
    path,
    problems: [...told, ...(more > 0 ? [`and ${more} more`] : [])].join('; '),
  })
}
