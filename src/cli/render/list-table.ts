import type { SessionView } from '../../domain/api.ts'
import { isOver, shortCount, statusWords, wakeTime } from './format.ts'
import { cut, firstLine, pad, type Terminal, type Tone, widthOf } from './text.ts'

export interface Cell {
  text: string
  tone?: Tone
}

const HEADINGS = ['ID', 'Name', 'Status', 'Current Task', 'Context']
const TASK = 3
const NAME = 1
/** One long name must not take the space of all tasks; full names are in `pcc status` and `--json`. */
const WIDEST_NAME = 32
/** Beyond this a piped table is no easier to read. */
const PIPED_WIDTH = 120

/** The table of `pcc list`, as wide as the terminal allows. The task column shrinks first, then the name. */
export function listTable(sessions: SessionView[], terminal: Terminal, now: number): string[] {
  const rows = sessions.flatMap(session => sessionRows(session, now))
  return boxTable({
    headings: HEADINGS,
    rows,
    terminal,
    giveWay: [
      [TASK, 16],
      [NAME, 8],
      [TASK, 6],
    ],
    widest: [[NAME, WIDEST_NAME]],
  })
}

/** The line below the table when decisions wait for a person. */
export function decisionsWait(count: number): string {
  return count === 1 ? '1 decision waits for you: pcc pending' : `${count} decisions wait for you: pcc pending`
}

export interface BoxTable {
  headings: string[]
  rows: Cell[][]
  terminal: Terminal
  /** The columns that shrink when there is too little space, in this order, and their least widths. */
  giveWay: readonly (readonly [column: number, least: number])[]
  /** The greatest widths of columns. */
  widest?: readonly (readonly [column: number, most: number])[]
}

/** A table with a frame. It is not in a file of its own because every loaded file slows `pcc list` down. */
export function boxTable({ headings, rows, terminal, giveWay, widest = [] }: BoxTable): string[] {
  const widths = headings.map((heading, column) =>
    Math.max(widthOf(heading), ...rows.map(row => widthOf(row[column]?.text ?? ''))),
  )
  for (const [column, most] of widest) widths[column] = Math.min(widths[column] ?? 0, most)
  shrink(widths, Math.min(terminal.width, PIPED_WIDTH), giveWay)
  const rule = (left: string, middle: string, right: string) =>
    terminal.paint('dim', left + widths.map(width => '─'.repeat(width + 2)).join(middle) + right)
  const bar = terminal.paint('dim', '│')
  const line = (cells: Cell[]) =>
    `${bar}${widths.map((width, column) => ` ${drawCell(cells[column], width, terminal)} `).join(bar)}${bar}`
  return [
    rule('┌', '┬', '┐'),
    line(headings.map(text => ({ text, tone: 'bold' }))),
    rule('├', '┼', '┤'),
    ...rows.map(line),
    rule('└', '┴', '┘'),
  ]
}

function sessionRows(session: SessionView, now: number): Cell[][] {
  const status = statusWords(session)
  const first: Cell[] = [
    { text: session.id },
    { text: `${firstLine(session.name)}${nameSuffix(session)}` },
    { text: status.text, tone: status.tone },
    { text: firstLine((isOver(session) ? undefined : session.activity) ?? session.task) },
    { text: contextUsage(session) },
  ]
  const below = belowTask(session, now)
  return below ? [first, [{ text: '' }, { text: '' }, { text: '' }, below, { text: '' }]] : [first]
}

/** What differs from the default: another agent, or a branch of its own. */
function nameSuffix({ agent, place }: SessionView): string {
  const parts = [...(agent === 'claude' ? [] : [firstLine(agent)]), ...(place ? [firstLine(place.branch)] : [])]
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}

/** How much of the model's context is used, as far as the vendor has reported it. */
function contextUsage({ tokens }: SessionView): string {
  if (tokens.context === 0) return '–'
  return tokens.window === 0 ? shortCount(tokens.context) : `${shortCount(tokens.context)}/${shortCount(tokens.window)}`
}

function belowTask(session: SessionView, now: number): Cell | undefined {
  if (session.status === 'rate_limited' && session.held) {
    return { text: `Go on: pcc quota release${session.held === 'session' ? ` ${session.id}` : ''}`, tone: 'yellow' }
  }
  if (session.resumes_at !== null && session.resumes_at > now) {
    return { text: `Resumes: ${wakeTime(session.resumes_at, now)}`, tone: 'yellow' }
  }
  if (session.asks.length > 0 || session.status === 'waiting_input') {
    return { text: `Needs you: pcc attach ${session.id}`, tone: 'yellow' }
  }
  if (session.queued) return { text: 'Waits for a free slot', tone: 'dim' }
  return undefined
}

function shrink(widths: number[], total: number, giveWay: BoxTable['giveWay']): void {
  const excess = () => widths.reduce((sum, width) => sum + width + 3, 1) - total
  for (const [column, least] of giveWay) {
    const width = widths[column] ?? 0
    widths[column] = Math.max(Math.min(width, least), width - Math.max(0, excess()))
  }
}

function drawCell(cell: Cell | undefined, width: number, terminal: Terminal): string {
  const text = pad(cut(cell?.text ?? '', width), width)
  return cell?.tone ? terminal.paint(cell.tone, text) : text
}
