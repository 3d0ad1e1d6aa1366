import type { Assessment } from '../../domain/assessment.ts'
import type { StoredReason } from '../../domain/session.ts'

/** Enough to see why; the rest of a long script says the same again. */
const MOST = 8
const LONGEST = 300

/** The reasons of a request as they are stored and shown, highest first and capped. */
export function storedReasons(assessment: Assessment | undefined): StoredReason[] {
  return (assessment?.reasons ?? []).slice(0, MOST).map(({ code, risk, text }) => ({
    code,
    risk,
    text: text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text,
  }))
}
