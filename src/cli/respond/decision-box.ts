import type { EscalationView } from '../../domain/escalation.ts'
import { contextLines } from '../commands/decide/context-lines.ts'
import { wholeLines } from '../commands/decide/pending-lines.ts'
import { clockTime } from '../render/format.ts'
import type { Terminal } from '../render/paint.ts'
import { cut, pad, wrap } from '../render/text.ts'

/** Wider boxes are hard to read. */
const WIDEST = 100

/** Everything a person judges by, in a frame. */
export function decisionBox(row: EscalationView, terminal: Terminal, now: number): string[] {
  const width = Math.min(terminal.width, WIDEST) - 4
  const title = `[${clockTime(row.created_at)}] ⚠️  Human input needed for session ${row.session_id}`
  const asks = row.kind === 'question' ? 'Claude asks:' : row.kind === 'permission' ? 'Claude wants:' : 'It says:'
  const body = ['', asks, ...wholeLines(row, width - 2), ...contextLines(row, { width: width - 2, now }), '']
  const bar = terminal.paint('dim', '│')
  const rule = (left: string, right: string) => terminal.paint('dim', `${left}${'─'.repeat(width + 2)}${right}`)
  const line = (text: string) => `${bar} ${pad(cut(text, width), width)} ${bar}`
  return [
    rule('┌', '┐'),
    line(title),
    rule('├', '┤'),
    ...body.flatMap(text => wrap(text, width)).map(line),
    rule('└', '┘'),
  ]
}
