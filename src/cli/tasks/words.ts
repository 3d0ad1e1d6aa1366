import type { TaskState, TaskView } from '../../domain/task.ts'
import type { Tone } from '../render/paint.ts'
import { neutral } from '../render/text.ts'

/** How a state looks. */
export const STATE_LOOKS: Record<TaskState, { glyph: string; tone: Tone }> = {
  blocked: { glyph: '○', tone: 'dim' },
  ready: { glyph: '○', tone: 'cyan' },
  running: { glyph: '●', tone: 'green' },
  waiting: { glyph: '⏳', tone: 'yellow' },
  verifying: { glyph: '●', tone: 'cyan' },
  merging: { glyph: '●', tone: 'cyan' },
  done: { glyph: '✓', tone: 'green' },
  failed: { glyph: '✗', tone: 'red' },
  cancelled: { glyph: '–', tone: 'dim' },
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
