import type { PastAttempt } from '../../domain/runs/past-attempt.ts'
import type { BriefPiece, BriefSection } from './build-brief.ts'

/** What failed before, the last attempt with everything that was seen of it; `note` is a word of advice (`retryPlan`). */
export function retrySection(history: readonly PastAttempt[], note: string | undefined): BriefSection {
  const failed = history.filter(({ outcome }) => outcome === 'failed')
  const last = failed.at(-1)
  return {
    name: 'retry report',
    title: 'It was tried before',
    pieces: last ? [...(note ? [{ text: note }] : []), ...lastOne(last, failed.length), ...earlier(failed)] : [],
    tokens: 6_000,
    weight: 70,
  }
}

function lastOne({ number, reason, result, evidence = [] }: PastAttempt, count: number): BriefPiece[] {
  const times = count === 1 ? 'once' : `${count} times`
  const why = `It failed ${times}. Look at what is there already before you begin. Why attempt ${number} failed:`
  return [
    { text: why, verbatim: reason ?? 'no reason was given' },
    ...evidence.map(({ what, text }) => ({ text: `What ${what} said:`, verbatim: text })),
    ...(result ? [{ text: 'What the agent reported at its end:', verbatim: result }] : []),
  ]
}

/** Newest first: they are cut from the end. */
function earlier(failed: readonly PastAttempt[]): BriefPiece[] {
  return failed
    .slice(0, -1)
    .reverse()
    .map(({ number, reason }) => ({
      text: `Why attempt ${number} failed:`,
      verbatim: reason ?? 'no reason was given',
    }))
}
