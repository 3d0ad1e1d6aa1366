import type { Assessment } from '../../src/domain/assessment.ts'
import type { Risk } from '../../src/domain/session.ts'

/** The assessment that the policy would have made. */
export function assessed(normalised: string, risk: Risk): Assessment {
  return { normalised, risk, reasons: [], pieces: [] }
}
