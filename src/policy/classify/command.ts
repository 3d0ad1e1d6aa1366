import type { Assessment, Piece, Reason } from '../../domain/assessment.ts'
import type { Fence } from '../paths/place.ts'
import { parseShell } from '../shell/parse.ts'
import { isUnreadable, precheck } from '../shell/precheck.ts'
import { assessmentOf } from './assessment-of.ts'
import { Walk } from './walk.ts'
import { newScope } from './words/scope.ts'

export interface Surroundings {
  fence: Fence
  cwd: string
}

/** What a command is. Never throws: what goes wrong inside is a reason, and HIGH. */
export function assessCommand(command: string, around: Surroundings): Assessment {
  const early = precheck(command)
  if (isUnreadable(command)) return assessmentOf(pieceOf(command, early), normalised(command))
  try {
    return assessmentOf(pieceOf(command, early, walked(command, around)), normalised(command))
  } catch (error) {
    return refused(
      command,
      `the policy failed on it: ${error instanceof Error ? error.message.slice(0, 100) : 'unknown'}`,
    )
  }
}

/** The assessment of a command that nothing could be found out about. */
export function refused(command: string, text: string): Assessment {
  const reason: Reason = { code: 'policy.failed', risk: 'HIGH', text, at: [0, command.length] }
  return assessmentOf(pieceOf(command, [reason]), normalised(command))
}

function walked(command: string, { fence, cwd }: Surroundings): Piece {
  const all = [0, command.length] as const
  if (command.trim() === '')
    return pieceOf(command, [{ code: 'shell.empty', risk: 'MEDIUM', text: 'it is empty', at: all }])
  const piece = new Walk(command, fence).reading(parseShell(command), newScope(cwd, fence.home))
  if (fence.worktree && hijacksGit(piece))
    piece.reasons.push({ code: 'boundary.git', risk: 'HIGH', text: HIJACKED, at: all })
  return piece
}

const HIJACKED = 'a variable decides where git works or what it runs: call git plainly, in this worktree'

/** Whether a variable that decides what programs load, `GIT_DIR` among them, is set in a command that calls git. */
function hijacksGit(piece: Piece): boolean {
  const all = [piece]
  let isSet = false
  let isCalled = false
  for (let one = all.pop(); one !== undefined; one = all.pop()) {
    all.push(...one.pieces)
    isSet ||= one.reasons.some(({ code }) => code === 'env.hijack')
    isCalled ||= /(^|\/)git(-[^/]*)?$/.test(one.argv?.[0] ?? '')
  }
  return isSet && isCalled
}

function pieceOf(text: string, early: Reason[], walked?: Piece): Piece {
  const piece: Piece = walked ?? { text, risk: 'LOW', reasons: [], pieces: [], at: [0, text.length] }
  piece.reasons.unshift(...early)
  return piece
}

/** Blanks are put together only where that cannot change the meaning. */
function normalised(command: string): string {
  const text = command.replaceAll('\r\n', '\n').trim()
  return `Bash ${/['"\\\n#`$<]/.test(text) ? text : text.replace(/[ \t]+/g, ' ')}`
}
