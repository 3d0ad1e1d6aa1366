import type { SessionView } from '../../domain/api.ts'
import { nameOf, shownPath, statusWords } from './format.ts'
import type { Terminal } from './paint.ts'
import { brainWords, type PageOptions } from './session-page.ts'
import { cut, firstLine, neutral, pad, widthOf } from './text.ts'

/** The manual's box is 65 columns; a narrow terminal gets a narrower one. */
const BOX_WIDTH = 65

/** The box at the head of a session that was just started. */
export function startHeader(session: SessionView, { terminal, cwd, home }: Omit<PageOptions, 'now'>): string[] {
  const inside = Math.min(BOX_WIDTH, terminal.width) - 2
  const title = cut(` PerpetualCC Session: ${firstLine(session.name)} `, inside - 2)
  const rows = [
    `Project: ${neutral(shownPath(session.project, cwd, home))}`,
    ...(session.place ? [`Worktree: ${neutral(session.place.branch)}, for ${neutral(session.place.target)}`] : []),
    `Brain: ${neutral(brainWords(session))}`,
    `Agent: ${session.agent}${session.model ? ` (${neutral(session.model)})` : ''}`,
    `Status: ${statusWords(session).text.replace(/^\S+ /, '')}`,
  ]
  const side = terminal.paint('dim', '│')
  return [
    terminal.paint('dim', '╭─') +
      terminal.paint('bold', title) +
      edge('─'.repeat(inside - 1 - widthOf(title)), '╮', terminal),
    ...rows.map(row => `${side} ${pad(cut(row, inside - 2), inside - 2)} ${side}`),
    edge(`╰${'─'.repeat(inside)}`, '╯', terminal),
    '',
  ]
}

/** What stands above the live view of a session that was already there. */
export function attachHeader(session: SessionView, terminal: Terminal): string[] {
  return underlined(`Attached to session ${nameOf(session)}`, terminal)
}

function underlined(line: string, terminal: Terminal): string[] {
  return [terminal.paint('bold', line), terminal.paint('dim', '─'.repeat(Math.min(widthOf(line), terminal.width))), '']
}

/** What stands above the live view of a session that goes on. */
export function resumeHeader(session: SessionView, terminal: Terminal): string[] {
  return underlined(`Going on with session ${nameOf(session)}`, terminal)
}

/** Which keys end the watching, and which end the session. */
export function keysHint(terminal: Terminal): string[] {
  return ['Ctrl+C to detach (session continues in background)', 'Ctrl+D to stop session', ''].map(line =>
    terminal.paint('dim', line),
  )
}

function edge(text: string, corner: string, terminal: Terminal): string {
  return terminal.paint('dim', text + corner)
}
