import type { History } from '../history.ts'
import { taskText } from '../plan/scenario.ts'
import { bodiesOf } from './events.ts'
import type { Violation } from './violation.ts'

/** Every task of a run is done, its work is in the branch once, and the checkout and the repository are intact. */
export function mergedOnce(history: History): Violation[] {
  const { run } = history
  if (!run) return []
  const violation = (text: string): Violation => ({ invariant: 'merged-once', text })
  const landed = bodiesOf(history, 'merge.landed')
  const finished = bodiesOf(history, 'task.finished')
  const ofTasks = Object.entries(run.commits).flatMap(([token, commits]) => {
    const rows = history.rows.tasks.filter(({ title }) => title === taskText(token))
    const [row] = rows
    if (!row || rows.length > 1) return [violation(`${token} was submitted ${rows.length} times`)]
    const merges = landed.filter(({ body }) => body.task === row.id).length
    const ends = finished.filter(({ body }) => body.task_id === row.id).length
    return [
      ...(row.state === 'done' ? [] : [violation(`${token} is ${row.state}`)]),
      ...(commits === 1 ? [] : [violation(`the work of ${token} is in the branch ${commits} times`)]),
      ...(merges === 1 ? [] : [violation(`${token} was said to have landed ${merges} times`)]),
      ...(ends === 1 ? [] : [violation(`${token} was finished ${ends} times`)]),
    ]
  })
  const { loose, broken, left } = run
  const unmended = Object.entries(run.mends).filter(([, commits]) => commits === 0)
  return [
    ...ofTasks,
    ...unmended.map(([token]) => violation(`what ${token} was sent back for is not in the branch`)),
    ...history.overwritten.map(violation),
    ...(loose === '' ? [] : [violation(`the checkout is not as its branch says: ${loose}`)]),
    ...(broken === '' ? [] : [violation(`the repository is damaged: ${broken}`)]),
    ...(left === '' ? [] : [violation(`left behind: ${left}`)]),
  ]
}
