import type { Checkpoint } from '../../domain/checkpoint.ts'
import type { History } from './history.ts'

/** Makes a summary of what is known, or gives nothing where it cannot. */
export type Summarize = (material: string, signal?: AbortSignal) => Promise<string | undefined>

const MAX_SUMMARY = 4_000
const MAX_SAID = 1_500

/** What was done so far in words: a brain's where there is one and it answers, else what the agent itself said last. */
export async function summaryOf(
  history: History,
  previous: Checkpoint | undefined,
  { summarize, signal }: { summarize?: Summarize | undefined; signal?: AbortSignal | undefined },
): Promise<string> {
  const own = ownSummary(history)
  const words = own === '' ? (previous?.conversation_summary ?? '') : own
  if (!summarize) return words
  // A summary is a comfort: whatever goes wrong with it must not cost the checkpoint.
  const made = await summarize(words, signal).catch(() => undefined)
  return made?.trim() ? capped(made.trim(), MAX_SUMMARY) : words
}

function ownSummary({ said, calls }: History): string {
  const tools = [...calls].toSorted(([, a], [, b]) => b - a).map(([tool, count]) => `${tool} ${count}×`)
  const newest = said.toReversed().map(text => capped(text, MAX_SAID))
  const words: string[] = []
  let left = MAX_SUMMARY
  for (const text of newest) {
    left -= text.length
    if (left < 0) break
    words.unshift(text)
  }
  return [...(tools.length > 0 ? [`Tools used: ${tools.slice(0, 20).join(', ')}.`] : []), ...words].join('\n\n')
}

function capped(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)} …`
}
