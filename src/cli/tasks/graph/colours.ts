import type { TaskState } from '../../../domain/task.ts'

/** Colours of states, for pictures: background and line. */
export const STATE_COLOURS = {
  blocked: ['#eeeeee', '#888888'],
  ready: ['#e3f2fd', '#1565c0'],
  running: ['#fff8e1', '#ff8f00'],
  waiting: ['#fff3e0', '#ef6c00'],
  verifying: ['#e0f7fa', '#00838f'],
  merging: ['#e0f7fa', '#00838f'],
  done: ['#e8f5e9', '#2e7d32'],
  failed: ['#ffebee', '#c62828'],
  cancelled: ['#f5f5f5', '#bdbdbd'],
} as const satisfies Record<TaskState, readonly [string, string]>
