import { type Assessment, highestRisk, isHigherRisk, type Piece, type Reason } from '../../domain/assessment.ts'
import type { Arg } from '../shell/args.ts'

/** A new piece below another, for a node of the tree. */
export function addNodePiece(parent: Piece, node: { at: Piece['at'] }, text: string): Piece {
  return addPiece(parent, { text, ...(node.at && { at: node.at }) })
}

/** A new piece below another. */
export function addPiece(parent: Piece, { text, at }: { text: string; at?: Arg['at'] }): Piece {
  const piece: Piece = { text, risk: 'LOW', reasons: [], pieces: [], ...(at && { at }) }
  parent.pieces.push(piece)
  return piece
}

/** Says something about a piece. */
export function addReason(piece: Piece, reason: Reason): undefined {
  piece.reasons.push(reason)
}

/** Makes everything said about a piece and what is below it point at one place. */
export function pointAt(piece: Piece, at: Arg['at']): undefined {
  piece.at = at
  for (const reason of piece.reasons) reason.at = at
  for (const inner of piece.pieces) pointAt(inner, at)
}

/** Fills in the risk of every piece from its own reasons and those below it, and gives the reasons of all. */
function collectReasons(piece: Piece): Reason[] {
  const below = piece.pieces.flatMap(collectReasons)
  const all = [...piece.reasons, ...below]
  piece.risk = highestRisk(all.map(reason => reason.risk))
  return all
}

/** Puts an assessment together: every reason of every piece, the highest first. */
export function buildAssessment(piece: Piece, normalised: string): Assessment {
  const reasons = unique(collectReasons(piece)).sort((one, other) =>
    isHigherRisk(one.risk, other.risk) ? -1 : isHigherRisk(other.risk, one.risk) ? 1 : 0,
  )
  return { risk: highestRisk(reasons.map(reason => reason.risk)), reasons, pieces: [piece], normalised }
}

function unique(reasons: Reason[]): Reason[] {
  const seen = new Set<string>()
  return reasons.filter(({ code, text, at }) => {
    const key = `${code} ${text} ${at?.[0]} ${at?.[1]}`
    return seen.has(key) ? false : seen.add(key)
  })
}

/** The parse as a small tree, one line a piece with its risk, and under it what was said about it. */
export function explainTree({ pieces }: Assessment): string[] {
  return pieces.flatMap(piece => lines(unwrapped(piece), ''))
}

/** A request that is one plain command is shown once. */
function unwrapped(piece: Piece): Piece {
  const [only, second] = piece.pieces
  const same =
    only !== undefined && second === undefined && piece.reasons.length === 0 && only.text === piece.text.trim()
  return same ? only : piece
}

function lines(piece: Piece, indent: string): string[] {
  const said = piece.reasons.map(({ risk, code, text }) => `${indent}  - ${risk} ${code}: ${shown(text)}`)
  return [
    `${indent}${piece.risk} ${shown(piece.text)}`,
    ...said,
    ...piece.pieces.flatMap(inner => lines(inner, `${indent}  `)),
  ]
}

/** One line, nothing that a terminal would obey. */
function shown(text: string): string {
  const flat = text.replace(/\s+/g, ' ').replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '?')
  return flat.length > 100 ? `${flat.slice(0, 99)}…` : flat
}
