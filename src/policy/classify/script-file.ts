import type { Piece, Reason } from '../../domain/assessment.ts'
import type { Fence } from '../paths/fence.ts'

/** The text of a shell script; `undefined` if it cannot be read, is no text, or another program runs it. */
export function readScript(path: string, fence: Fence): string | undefined {
  // Maven's wrapper downloads and unpacks Maven, and is part of most Java projects.
  if (/(^|\/)mvnw$/.test(path)) return undefined
  const found = fence.look?.(path)
  if (found?.is !== 'file' || found.bytes.includes(0)) return undefined
  const text = found.bytes.toString('utf8')
  const [, program] = /^#!\s*(.*)/.exec(text) ?? []
  return program === undefined || SHELL_LINE.test(program) ? text : undefined
}

const SHELL_LINE = /(^|[/\s])(ba|da|z|k|mk|a|ya)?sh(\s|$)/

/** At most this many lines of a script are named. */
const MAX_NAMED = 3

/** What is HIGH in a script that was walked, with its line, and whether it was too long to be walked to its end. */
export function findScriptRisks(piece: Piece, text: string): Omit<Reason, 'at'>[] {
  const found: Omit<Reason, 'at'>[] = []
  const visit = ({ reasons, pieces }: Piece) => {
    for (const reason of reasons) {
      if (reason.code === 'shell.too-many')
        found.push({ code: 'script.unread', risk: 'MEDIUM', text: `has ${reason.text}` })
      if (reason.risk !== 'HIGH' || isOrdinary(reason, text)) continue
      const line = text.slice(0, reason.at?.[0] ?? 0).split('\n').length
      found.push({ code: reason.code, risk: 'HIGH', text: `line ${line}: ${reason.text}` })
    }
    pieces.forEach(visit)
  }
  visit(piece)
  return found.slice(0, MAX_NAMED)
}

/**
 * What is HIGH for a typed command and ordinary in a script: setting variables for what the script itself starts, writing files (a
 * file outside of the project, or one that steers others, has a reason of its own), and words that depend on the script's arguments.
 * A program whose name a command prints is not ordinary.
 */
function isOrdinary({ code, at }: Reason, text: string): boolean {
  if (code === 'name.unknown') return at === undefined || !/\$\(|`/.test(text.slice(...at))
  return ORDINARY.has(code)
}

const ORDINARY = new Set([
  'env.hijack',
  'write.redirect',
  'write.flag',
  'write.unknown',
  'script.unknown',
  'code.unknown',
  'shell.unknown-text',
  'shell.unreadable',
  'shell.too-many',
  'wrapper.deep',
])
