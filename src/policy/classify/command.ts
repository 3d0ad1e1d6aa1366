import type { Assessment, Piece, Reason } from '../../domain/assessment.ts'
import type { Fence } from '../paths/place.ts'
import { precheck } from '../shell/precheck.ts'
import type { Reading } from '../shell/tree.ts'
import { assessmentOf } from './assessment-of.ts'
import { Walk } from './walk.ts'
import { newScope } from './words/scope.ts'

export interface Surroundings {
  fence: Fence
  cwd: string
}

/** What a command is, from its text and its reading. */
export function assessCommand(command: string, reading: Reading | undefined, { fence, cwd }: Surroundings): Assessment {
  const early = precheck(command)
  if (reading === undefined) return assessmentOf(emptyPiece(command, early), normalised(command))
  if (command.trim() === '') {
    const reason: Reason = { code: 'shell.empty', risk: 'MEDIUM', text: 'it is empty', at: [0, command.length] }
    return assessmentOf(emptyPiece(command, [...early, reason]), normalised(command))
  }
  const piece = new Walk(command, fence).reading(reading, newScope(cwd, fence.home))
  piece.reasons.unshift(...early)
  return assessmentOf(piece, normalised(command))
}

function emptyPiece(text: string, reasons: Reason[]): Piece {
  return { text, risk: 'LOW', reasons, pieces: [], at: [0, text.length] }
}

/** Blanks are put together only where that cannot change the meaning. */
function normalised(command: string): string {
  const text = command.replaceAll('\r\n', '\n').trim()
  return `Bash ${/['"\\\n#`$<]/.test(text) ? text : text.replace(/[ \t]+/g, ' ')}`
}
