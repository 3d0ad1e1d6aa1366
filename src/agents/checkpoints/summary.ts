import type { Checkpoint } from '../../domain/checkpoint.ts'

/** Makes a summary of what is known, or gives nothing where it cannot. */
export type Summarize = (material: string, signal?: AbortSignal) => Promise<string | undefined>

export interface SummaryOf {
  /** What the agent said since the last checkpoint, the latest last. */
  said: string[]
  previous: Checkpoint | undefined
  summarize?: Summarize | undefined
  signal?: AbortSignal | undefined
}

const MAX_SUMMARY = 4_000
const MAX_SAID = 1_500

/** What was done so far in words: a brain's where there is one and it answers, else what the agent itself said last. */
export async function summaryOf({ said, previous, summarize, signal }: SummaryOf): Promise<string> {
  const words = lastWords([previous?.conversation_summary ?? '', ...said.map(text => text.slice(0, MAX_SAID))])
  if (!summarize) return words
  // A summary is a comfort: whatever goes wrong with it must not cost the checkpoint.
  const made = await summarize(words, signal).catch(() => undefined)
  return made?.trim().slice(0, MAX_SUMMARY) || words
}

/** The newest first as far as there is room; of the one that does not fit, its end. */
function lastWords(texts: string[]): string {
  const kept: string[] = []
  let left = MAX_SUMMARY
  for (const text of texts.filter(text => text !== '').toReversed()) {
    kept.unshift(text.slice(-left))
    left -= text.length
    if (left <= 0) break
  }
  return kept.join('\n\n').toWellFormed()
}
