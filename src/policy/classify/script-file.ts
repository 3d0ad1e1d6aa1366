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
 * What is HIGH for a typed command and ordinary in a script: removing what a build makes, setting variables for what the script itself starts, writing files (a
 * file outside of the project, or one that steers others, has a reason of its own), and words that depend on the script's arguments.
 * A program whose name a command prints is not ordinary.
 */
function isOrdinary({ code, at }: Reason, text: string): boolean {
  if (code === 'name.unknown') return at === undefined || !/\$\(|`/.test(text.slice(...at))
  if (code === 'file.delete') return at !== undefined && removesBuild(text, at[0])
  return ORDINARY.has(code)
}

/** Whether the command at this place removes folders that builds make, and nothing else, in a script that stays in its project. */
function removesBuild(text: string, from: number): boolean {
  const [command = ''] = /^[^;&|\n]*/.exec(text.slice(from)) ?? []
  const moves = [...text.matchAll(/\b(?:cd|pushd)\b([^;&|\n]*)/g)].map(([, target = '']) => target.trim())
  return REMOVES_BUILD.test(command) && moves.every(target => OWN_FOLDER.test(target))
}

const REMOVES_BUILD =
  /^rm\s+(-[rRfv]+\s+|--\s+)*((\.\/)?(dist|build|out|target|coverage|\.cache|\.next|\.turbo|node_modules)(\/[\w@-][\w.@-]*)*\/?(\s+|$))+$/
/** The folder of the script itself, or the one above it, where scripts usually go first. */
const OWN_FOLDER = /^(--\s+)?"?\$\(dirname\s+("\$0"|"\$\{BASH_SOURCE(\[0\])?\}"|\$0)\)(\/\.\.)?"?$/

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
