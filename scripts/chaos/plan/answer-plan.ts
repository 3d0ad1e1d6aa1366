import { randomFrom } from './random.ts'

/** A person who is away: answers some time after the notice, possibly after the daemon was restarted. */
export interface AnswerPlan {
  /** The delay after the notice arrived. */
  lateMs: number
  /** How often the daemon is ended while a question waits. */
  restarts: number
}

/** In every other round answers come late; in half of these the daemon is ended in between. */
export function planAnswers(seed: number): AnswerPlan | undefined {
  const random = randomFrom(seed ^ 0x1b873593)
  if (!random.chance(0.5)) return undefined
  return { lateMs: random.int(500, 3_000), restarts: random.chance(0.5) ? random.int(1, 2) : 0 }
}
