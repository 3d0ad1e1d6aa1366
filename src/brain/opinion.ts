import type { Opinion } from '../domain/brain/brain.ts'

/** "I do not know": the next brain is asked, or a person. */
export function notConfident<T>(by: string, reasoning: string): Opinion<T> {
  return { value: undefined, confidence: 0, reasoning, by }
}

/** The opinion with a confidence that is a number from 0 to 1; one that is none counts as no confidence at all. */
export function inBounds<T>(opinion: Opinion<T>): Opinion<T> {
  const { confidence } = opinion
  if (!Number.isFinite(confidence)) return { ...opinion, confidence: 0 }
  return { ...opinion, confidence: Math.min(1, Math.max(0, confidence)) }
}
