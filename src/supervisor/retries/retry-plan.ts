import { isTransient } from '../../domain/failure.ts'
import type { PastAttempt } from '../../domain/runs/past-attempt.ts'
import type { FailureKind } from '../../domain/session.ts'

export interface RetryRules {
  /** Tries after the first. */
  maxRetries: number
  /** How long each try in a row waits after a failure that may pass by itself; the last holds for all later ones. */
  retryMs?: readonly number[]
}

export type RetryPlan =
  /** `note`: what the next attempt is told beside the report. */
  | { again: true; afterMs: number; note?: string }
  /** `story`: every failed attempt with its reason, for the task's row and the person who reads it. */
  | { again: false; why: string; story: string }

/** As `sessions.retry_seconds` has it where nothing else is said (`runs/run-settings.ts`). */
const RETRY_MS = [60_000, 300_000, 900_000]

/** What no other attempt and no other model mends: somebody has to do something first. */
const NEEDS_A_PERSON: ReadonlySet<FailureKind> = new Set(['auth', 'billing', 'agent_missing', 'model_not_found'])

/**
 * Whether a task whose last attempt is over is tried again, when, and with which word of advice. `history` holds the task's
 * attempts, oldest first. Interruptions are no failures: they are neither counted nor waited for. Pure.
 */
export function retryPlan(history: readonly PastAttempt[], { maxRetries, retryMs = RETRY_MS }: RetryRules): RetryPlan {
  const failures = history.filter(({ outcome }) => outcome === 'failed')
  const last = history.at(-1)
  if (last?.outcome !== 'failed') return { again: true, afterMs: 0 }
  if (last.failure != null && NEEDS_A_PERSON.has(last.failure)) {
    return { again: false, why: 'another attempt would fail in the same way', story: storyOf(failures) }
  }
  if (failures.length > maxRetries) {
    const why = maxRetries === 0 ? 'no retries are allowed' : `tried ${failures.length} times`
    return { again: false, why, story: storyOf(failures) }
  }
  const ofTheWork = failures.filter(past => !mayPass(past)).length
  return {
    again: true,
    afterMs: waitAfter(history, retryMs),
    ...(ofTheWork >= 2 && { note: OTHER_WAY }),
  }
}

/** What is left of a task's attempts when a person had it done anew since: its row counts the failures from there on. */
export function sinceReset<T extends PastAttempt>(history: readonly T[], retries: number): readonly T[] {
  const failures = history.filter(({ outcome }) => outcome === 'failed')
  const first = retries === 0 ? undefined : failures.at(-Math.min(retries, failures.length))
  return first ? history.slice(history.indexOf(first)) : []
}

const OTHER_WAY =
  'It has failed more than once. Do not repeat what was tried: find out first why it failed, then take a different approach, and say in your report which.'

/** Failures that may pass wait longer with each in a row; the agent's own failures are tried again at once. */
function waitAfter(history: readonly PastAttempt[], retryMs: readonly number[]): number {
  const inARow = history.length - 1 - history.findLastIndex(past => !mayPass(past))
  if (inARow === 0) return 0
  return retryMs[Math.min(inARow, retryMs.length) - 1] ?? 0
}

function mayPass({ outcome, failure }: PastAttempt): boolean {
  return outcome === 'failed' && failure != null && isTransient(failure)
}

/** Longer stories are told from both ends: how it began, and what came of it. */
const MOST_TOLD = 10
const LONGEST_REASON = 500

function storyOf(failures: readonly PastAttempt[]): string {
  const lines = failures.map(({ number, model, reason, result }) => {
    const why = shortened(reason ?? result ?? 'no reason was given')
    return `attempt ${number}${model === null ? '' : ` (${model})`}: ${why}`
  })
  if (lines.length <= MOST_TOLD) return lines.join('\n')
  const half = MOST_TOLD / 2
  return [...lines.slice(0, half), `(${lines.length - MOST_TOLD} more)`, ...lines.slice(-half)].join('\n')
}

function shortened(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length > LONGEST_REASON ? `${line.slice(0, LONGEST_REASON - 1).toWellFormed()}…` : line
}
