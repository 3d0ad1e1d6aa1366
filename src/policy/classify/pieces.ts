import { highest, type Piece, type Reason } from '../../domain/assessment.ts'
import type { Arg } from './words/arg.ts'

/** A new piece below another, for a node of the tree. */
export function child(parent: Piece, node: { at: Piece['at'] }, text: string): Piece {
  return childOf(parent, { text, ...(node.at && { at: node.at }) })
}

/** A new piece below another. */
export function childOf(parent: Piece, { text, at }: { text: string; at?: Arg['at'] }): Piece {
  const piece: Piece = { text, risk: 'LOW', reasons: [], pieces: [], ...(at && { at }) }
  parent.pieces.push(piece)
  return piece
}

/** Says something about a piece. */
export function add(piece: Piece, reason: Reason): undefined {
  piece.reasons.push(reason)
}

/** Makes everything said about a piece and what is below it point at one place. */
export function point(piece: Piece, at: Arg['at']): undefined {
  piece.at = at
  for (const reason of piece.reasons) reason.at = at
  for (const inner of piece.pieces) point(inner, at)
}

/** Fills in the risk of every piece from its own reasons and those below it, and gives the reasons of all. */
export function settle(piece: Piece): Reason[] {
  const below = piece.pieces.flatMap(settle)
  const all = [...piece.reasons, ...below]
  piece.risk = highest(all.map(reason => reason.risk))
  return all
}
