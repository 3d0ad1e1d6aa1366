/** What the thread that watches is given. */
export interface Watched {
  memory: SharedArrayBuffer
  limitMs: number
  everyMs: number
  logs: string
  log: string
}

/** Places in the shared memory: beats of the event loop, and how many sessions ran at the last one. */
export const BEATS = 0
export const LIVE = 1
