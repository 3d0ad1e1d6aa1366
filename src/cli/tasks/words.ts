import type { TaskState, TaskView } from '../../domain/task.ts'
import { LOOKS } from '../render/format.ts'
import type { Tone } from '../render/paint.ts'
import { neutral } from '../render/text.ts'

/** How a state looks. */
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

type Shown = Pick<TaskView, 'state' | 'verification'>

/** `done (unverified)`: the state, and what is known of the claim that it is done. */
export function stateWord({ state, verification }: Shown): string {
  return state === 'done' && verification === 'unverified' ? 'done (unverified)' : state
}

/** `✓ done (unverified)` */
export function stateText(task: Shown): string {
  return `${STATE_LOOKS[task.state].glyph} ${stateWord(task)}`
}

/** `t-3fa91c Build it: ready` */
export function taskLine(task: Shown & { id: string; title: string }): string {
  return `${task.id} ${neutral(task.title)}: ${stateWord(task)}`
}
