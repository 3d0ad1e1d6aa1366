import type { Assessment, Piece } from '../../domain/assessment.ts'

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
