import { type Assessment, highest, isHigher, type Piece, type Reason } from '../../domain/assessment.ts'
import { settle } from './pieces.ts'

/** Puts an assessment together: every reason of every piece, the highest first. */
export function assessmentOf(piece: Piece, normalised: string): Assessment {
  const reasons = unique(settle(piece)).sort((one, other) =>
    isHigher(one.risk, other.risk) ? -1 : isHigher(other.risk, one.risk) ? 1 : 0,
  )
  return { risk: highest(reasons.map(reason => reason.risk)), reasons, pieces: [piece], normalised }
}

function unique(reasons: Reason[]): Reason[] {
  const seen = new Set<string>()
  return reasons.filter(({ code, text, at }) => {
    const key = `${code} ${text} ${at?.[0]} ${at?.[1]}`
    return seen.has(key) ? false : seen.add(key)
  })
}
