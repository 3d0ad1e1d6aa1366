import type { RememberedAnswer } from '../../domain/remembered-answer.ts'

/** How far earlier answers are trusted (`memory.answers_*`). */
export interface MemorySettings {
  /** Of an answer to the very same request, 0 to 1. */
  confidence: number
  /** After this an answer counts no more, unless it was said to last. */
  ttlMs: number
}

const DAY_MS = 86_400_000

/** A person's word on the very same request: only a fresh word is worth more. */
export const STANDARD_MEMORY: MemorySettings = { confidence: 0.95, ttlMs: 90 * DAY_MS }

/** The settings as this part wants them. */
export function memorySettings(config: { answers_ttl_days: number; answers_confidence: number }): MemorySettings {
  return { confidence: config.answers_confidence, ttlMs: config.answers_ttl_days * DAY_MS }
}

/** Whether an answer still counts. */
export function isFresh(
  { lasting, answered_at }: Pick<RememberedAnswer, 'lasting' | 'answered_at'>,
  { ttlMs }: MemorySettings,
  now: number,
): boolean {
  return lasting || now - answered_at < ttlMs
}
