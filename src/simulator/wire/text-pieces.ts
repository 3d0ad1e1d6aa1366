/** Short enough that a sentence arrives in pieces; a long text comes in larger ones, so that a big file is not 20,000 events. */
const PIECE = 48
const MAX_PIECES = 200

/** The pieces in which a text arrives: cut between characters, never inside one. */
export function* textPieces(text: string): Generator<string> {
  const size = Math.max(PIECE, Math.ceil(text.length / MAX_PIECES))
  let piece = ''
  for (const character of text) {
    piece += character
    if (piece.length < size) continue
    yield piece
    piece = ''
  }
  if (piece) yield piece
}
