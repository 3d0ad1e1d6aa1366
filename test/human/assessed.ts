import type { Assessment } from '../../src/domain/assessment.ts'
import type { Risk } from '../../src/domain/session.ts'

/** What the policy would have found out. */
export function assessed(normalised: string, risk: Risk): Assessment {
  return { normalised, risk, reasons: [], pieces: [] }
}
