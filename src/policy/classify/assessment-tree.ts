import { neutral } from '../../base/neutral.ts'
import {
  type Assessment,
  highestRisk,
  isHigherRisk,
  type Piece,
  type Reason,
  type Span,
} from '../../domain/assessment.ts'
import type { Arg } from '../shell/args.ts'

/** Adds a piece below another, for a node of the shell tree. */
export function addNodePiece(parent: Piece, node: { at: Piece['at'] }, text: string): Piece {
  return addPiece(parent, { text, ...(node.at && { at: node.at }) })
}

/** Adds a piece below another. */
export function addPiece(parent: Piece, { text, at }: { text: string; at?: Arg['at'] }): Piece {
  const piece: Piece = { text, risk: 'LOW', reasons: [], pieces: [], ...(at && { at }) }
  parent.pieces.push(piece)
  return piece
}

/** Adds a reason to a piece. */
export function addReason(piece: Piece, reason: Reason): undefined {
  piece.reasons.push(reason)
}

/** Makes all reasons of a piece and of the pieces below it point at one place. */
export function pointAt(piece: Piece, at: Arg['at']): undefined {
  piece.at = at
  for (const reason of piece.reasons) reason.at = at
  for (const inner of piece.pieces) pointAt(inner, at)
}

/** Sets the risk of every piece from its own reasons and those below it, and returns all reasons. */
function collectReasons(piece: Piece): Reason[] {
  const below = piece.pieces.flatMap(collectReasons)
  const all = [...piece.reasons, ...below]
  piece.risk = highestRisk(all.map(reason => reason.risk))
  return all
}

/** Builds an assessment: every reason of every piece, highest risk first. */
export function buildAssessment(piece: Piece, normalised: string, settle?: (piece: Piece) => void): Assessment {
  const all = collectReasons(piece)
  // What comes from the network or is decoded is not written unseen, in a sandbox neither: the next call could run it.
  if (all.some(({ code, held }) => !held && /^(net(?!\.look)|obfuscation)\./.test(code)))
    for (const reason of all) {
      if (reason.code === 'write.temp') reason.risk = 'HIGH'
      if (/^(write\.|path\.outside$)/.test(reason.code)) {
        delete reason.held
        delete reason.own
      }
    }
  settle?.(piece)
  collectReasons(piece)
  // A migration that is routine on this machine is not routine in an environment that others use.
  if (all.some(({ code }) => code === 'env.far'))
    for (const reason of all) {
      if (/^db\.(migrate|read)$/.test(reason.code)) reason.code = 'db.change'
      if (reason.code === 'env.far' && hasDataStep(piece)) reason.risk = 'MEDIUM'
    }
  const reasons = unique(all).sort((one, other) =>
    isHigherRisk(one.risk, other.risk) ? -1 : isHigherRisk(other.risk, one.risk) ? 1 : 0,
  )
  return { risk: highestRisk(reasons.map(reason => reason.risk)), reasons, pieces: [piece], normalised }
}

/** Whether a command sounds as if it changed a database: `npm run migrate`, `mix run priv/seeds.exs`. */
function hasDataStep({ argv = [], pieces }: Piece): boolean {
  return argv.some(word => DATA_STEP.test(word)) || pieces.some(hasDataStep)
}

const DATA_STEP = /(^|[:./_-])(migrat\w*|seeds?|seeder|db|database|backfill|fixtures)([:./_-]|$)/i

/** Notes what was read, if anything was. */
export function addHashes(assessment: Assessment, files: Readonly<Record<string, string>>): Assessment {
  return Object.keys(files).length === 0 ? assessment : { ...assessment, files }
}

function unique(reasons: Reason[]): Reason[] {
  const seen = new Set<string>()
  // In a loop a command may be held for one value and not for another.
  return reasons.filter(({ code, risk, text, at, held }) => {
    const key = `${code} ${risk} ${text} ${held} ${at?.[0]} ${at?.[1]}`
    return seen.has(key) ? false : seen.add(key)
  })
}

/** The assessment as a small tree: one line per piece with its risk, and its reasons below. */
export function explainTree({ pieces }: Assessment): string[] {
  return pieces.flatMap(piece => lines(unwrap(piece), ''))
}

/** A request that is one plain command is shown once. */
function unwrap(piece: Piece): Piece {
  const [only, second] = piece.pieces
  const isSame =
    only !== undefined && second === undefined && piece.reasons.length === 0 && only.text === piece.text.trim()
  return isSame ? only : piece
}

function lines(piece: Piece, indent: string): string[] {
  const reasons = piece.reasons.map(({ risk, code, text }) => `${indent}  - ${risk} ${code}: ${toSafeLine(text)}`)
  return [
    `${indent}${piece.risk} ${toSafeLine(piece.text)}`,
    ...reasons,
    ...piece.pieces.flatMap(inner => lines(inner, `${indent}  `)),
  ]
}

/** The text on one line, with characters that a terminal would act on drawn. */
function toSafeLine(text: string): string {
  const flat = neutral(text).replace(/\s+/g, ' ')
  return flat.length > 100 ? `${flat.slice(0, 99)}…` : flat
}

/** The nesting of wrappers and scripts. Nobody writes more levels, except to hide something. */
export const MAX_DEPTH = 8

export function tooDeepReason(at: Span): Reason {
  return { code: 'wrapper.deep', risk: 'HIGH', text: `commands in commands, more than ${MAX_DEPTH} deep`, at }
}
