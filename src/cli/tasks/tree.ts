import type { TaskView } from '../../domain/task.ts'
import type { Terminal } from '../render/paint.ts'
import { neutral } from '../render/text.ts'
import { STATE_LOOKS, stateWord } from './words.ts'

/** Tasks with their parts under them. A task whose own parent is not among them stands at the margin. */
export function treeLines(tasks: readonly TaskView[], { paint }: Terminal): string[] {
  const ids = new Set(tasks.map(({ id }) => id))
  const parts = Map.groupBy(tasks, ({ parent_id }) => (parent_id !== null && ids.has(parent_id) ? parent_id : ''))
  const lines: string[] = []
  // By hand and not by calling itself: nobody says how deep parts go.
  const open = rowsOf(parts.get('') ?? [], '', true)
  for (let row = open.pop(); row; row = open.pop()) {
    const { task, branch, below } = row
    const { glyph, tone } = STATE_LOOKS[task.state]
    const progress = task.children > 0 ? ` (${task.children_done}/${task.children})` : ''
    lines.push(
      `${paint('dim', branch)}${paint(tone, glyph)} ${task.id} ${neutral(task.title)}${progress}: ${stateWord(task)}`,
    )
    open.push(...rowsOf(parts.get(task.id) ?? [], below, false))
  }
  return lines.length > 0 ? lines : ['No tasks here yet.']
}

interface Row {
  task: TaskView
  /** What stands before it, and before what is under it. */
  branch: string
  below: string
}

/** The first comes last, where it is taken from. */
function rowsOf(tasks: readonly TaskView[], before: string, atMargin: boolean): Row[] {
  const rows = tasks.map((task, index) => {
    if (atMargin) return { task, branch: '', below: '' }
    const isLast = index === tasks.length - 1
    return { task, branch: `${before}${isLast ? '└ ' : '├ '}`, below: `${before}${isLast ? '  ' : '│ '}` }
  })
  return rows.reverse()
}
