import { neutral } from '../../../base/neutral.ts'
import type { TaskState, TaskView } from '../../../domain/task.ts'
import { LOOKS } from '../../render/format.ts'
import { cutAtWord, firstLine, pad, type Terminal, type Tone, widthOf } from '../../render/text.ts'

/** `pcc task list`: one line for each task, in the order of submission, with the counts below. `waits`: why finished work waits. */
export function taskLines(
  listed: readonly TaskView[],
  terminal: Terminal,
  waits: ReadonlyMap<string, string> = new Map(),
): string[] {
  const tasks = listed.map((task): TaskView => {
    const reason = waits.get(task.id)
    return reason === undefined ? task : { ...task, state: 'waiting', reason }
  })
  const states = tasks.map(stateText)
  const widest = states.reduce((most, text) => Math.max(most, widthOf(text)), 0)
  const lines = tasks.map((task, index) => {
    const state = terminal.paint(STATE_LOOKS[task.state].tone, pad(states[index] ?? '', widest))
    const text = [firstLine(task.title), ...taskDetails(task)].join('  ')
    return `${task.id}  ${state}  ${cutAtWord(text, terminal.width - widest - 12)}`
  })
  return [...lines, '', countLine(tasks)]
}

/** `12 tasks: 3 done (unverified), 2 ready` */
function countLine(tasks: readonly TaskView[]): string {
  const counts = new Map<string, number>()
  for (const task of tasks) {
    const word = stateText(task).slice(2)
    counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  const countTexts = [...counts].map(([word, count]) => `${count} ${word}`).join(', ')
  return `${tasks.length} ${tasks.length === 1 ? 'task' : 'tasks'}: ${countTexts}`
}

function taskDetails({ priority, labels, feature, after, state, reason, children, children_done }: TaskView): string[] {
  return [
    ...(children > 0 ? [`(${children_done}/${children})`] : []),
    ...(priority === 0 ? [] : [`priority ${priority}`]),
    ...(feature === null ? [] : [`feature ${feature}`]),
    ...labels.map(label => `#${label}`),
    ...(state === 'blocked' && after.length > 0
      ? [`after ${after.slice(0, 3).join(', ')}${after.length > 3 ? ' …' : ''}`]
      : []),
    ...(reason === null ? [] : [`· ${firstLine(reason)}`]),
  ]
}

/** The glyph and colour of each state. */
export const STATE_LOOKS: Record<TaskState, { glyph: string; tone: Tone }> = {
  blocked: LOOKS.still,
  ready: LOOKS.next,
  running: LOOKS.works,
  waiting: LOOKS.waits,
  verifying: LOOKS.checks,
  merging: LOOKS.checks,
  done: LOOKS.done,
  failed: LOOKS.failed,
  cancelled: LOOKS.dropped,
}

type StateFields = Pick<TaskView, 'state' | 'verification'>

/** The state in words; a task that is done but was not verified is `done (unverified)`. */
export function stateWord({ state, verification }: StateFields): string {
  return state === 'done' && verification === 'unverified' ? 'done (unverified)' : state
}

/** `✓ done (unverified)` */
export function stateText(task: StateFields): string {
  return `${STATE_LOOKS[task.state].glyph} ${stateWord(task)}`
}

/** `t-3fa91c Build it: ready` */
export function taskLine(task: StateFields & { id: string; title: string }): string {
  return `${task.id} ${neutral(task.title)}: ${stateWord(task)}`
}

/** The formats in which a graph can be drawn. */
export const GRAPH_FORMATS = ['text', 'dot', 'mermaid', 'svg'] as const
export type GraphFormat = (typeof GRAPH_FORMATS)[number]
