import { wakeTime } from '../../base/clock.ts'
import type { SessionView } from '../../domain/api.ts'
import type { ObservedView } from '../../domain/hook-capture.ts'
import { age, counted, money, shortCount, statusWords } from './format.ts'
import { cut, firstLine, pad, type Terminal, type Tone, widthOf, wrap } from './text.ts'

export interface Cell {
  text: string
  tone?: Tone
}

/** The columns of `pcc list`, from left to right. */
const COLUMNS = {
  ID: ({ id }) => ({ text: id }),
  Name: session => ({ text: `${firstLine(session.name)}${nameSuffix(session)}` }),
  Project: (_, { project }) => ({ text: project }),
  Status: session => statusWords(session),
  Task: ({ title, task }) => ({ text: firstLine(title ?? task) }),
  Context: session => ({ text: contextUsage(session) }),
  Age: ({ created_at }, { now }) => ({ text: age(now - created_at) }),
} satisfies Record<string, (session: SessionView, given: { project: string; now: number }) => Cell>
const HEADINGS = Object.keys(COLUMNS)
const [NAME, PROJECT, TASK] = [HEADINGS.indexOf('Name'), HEADINGS.indexOf('Project'), HEADINGS.indexOf('Task')]
/** One long name must not take the space of all tasks; full names are in `pcc status` and `--json`. */
const WIDEST_NAME = 24
/** What a session needs is cut last: `pcc attach s-3f9a2c`. */
const WIDEST_HINT = 19
/** Beyond this a line is no easier to read. */
const WIDEST_TABLE = 120

/** The table of `pcc list`, as wide as the terminal allows. The task column shrinks first, then the name and the project. */
export function listTable(sessions: SessionView[], terminal: Terminal, now: number): string[] {
  const projects = projectNames(sessions)
  return boxTable({
    headings: HEADINGS,
    rows: sessions.flatMap(session => sessionRows(session, projects.get(session.project) ?? '', now)),
    terminal,
    giveWay: [
      [TASK, 30],
      [NAME, 8],
      [PROJECT, 6],
      [TASK, WIDEST_HINT],
      [NAME, 5],
      [TASK, 6],
    ],
    widest: [[NAME, WIDEST_NAME]],
    isFramed: Number.isFinite(terminal.width),
  })
}

/** The last part of each project's path; the whole path where several end alike. */
function projectNames(sessions: SessionView[]): Map<string, string> {
  const paths = [...new Set(sessions.map(({ project }) => project))]
  const lastPart = (path: string) => path.slice(path.lastIndexOf('/') + 1) || path
  const isAlone = (path: string) => paths.every(other => other === path || lastPart(other) !== lastPart(path))
  return new Map(paths.map(path => [path, firstLine(isAlone(path) ? lastPart(path) : path)]))
}

/** Agents that pcc did not start and only observes, through their hooks. */
export function observedLines(sessions: readonly ObservedView[], now: number): string[] {
  return sessions.map(session => {
    const { id, vendor, project, calls, denied, input_tokens, output_tokens, quota, last_at } = session
    const refused = denied === 0 ? '' : `, ${denied} refused`
    const used = input_tokens + output_tokens
    const share = quota < 0.005 ? '' : ` (${vendor}: ${Math.round(quota * 100)}% of an hour)`
    const tokens = used === 0 ? '' : `, ${shortCount(used)} tokens${share}, ${observedCost(session)}`
    return `${id}  observed  ${vendor} in ${firstLine(project)}: ${counted(calls, 'call')}${refused}${tokens}, last ${age(now - last_at)} ago`
  })
}

function observedCost({ cost_usd, cost_estimated }: ObservedView): string {
  if (cost_usd === null) return 'cost not known'
  return cost_estimated ? `about ${money(cost_usd)}` : money(cost_usd)
}

/** The line below the table when something waits for a person. */
export function thingsWait(count: number): string {
  return count === 1 ? '1 thing waits for you: pcc pending' : `${count} things wait for you: pcc pending`
}

export interface BoxTable {
  headings: string[]
  rows: Cell[][]
  terminal: Terminal
  /** The columns that shrink when there is too little space, in this order, and their least widths. */
  giveWay: readonly (readonly [column: number, least: number])[]
  /** The greatest widths of columns. */
  widest?: readonly (readonly [column: number, most: number])[]
  /** Without a frame, columns are separated by spaces, as other programs expect them. */
  isFramed?: boolean
}

/**
 * A table with a frame; where it does not fit, each row becomes a few lines. It is not in a file of its own because every loaded
 * file slows `pcc list` down.
 */
export function boxTable(table: BoxTable): string[] {
  const { headings, rows, terminal, giveWay, widest = [], isFramed = true } = table
  const widths = headings.map((heading, column) =>
    Math.max(widthOf(heading), ...rows.map(row => widthOf(row[column]?.text ?? ''))),
  )
  for (const [column, most] of widest) widths[column] = Math.min(widths[column] ?? 0, most)
  if (shrink(widths, Math.min(terminal.width, WIDEST_TABLE), giveWay) > 0) return stackedRows(table)
  const headingCells = headings.map(text => ({ text, tone: 'bold' as const }))
  const drawn = (cells: Cell[]) => widths.map((width, column) => drawCell(cells[column], width, terminal))
  if (!isFramed) return [headingCells, ...rows].map(cells => drawn(cells).join('  ').trimEnd())
  const rule = (left: string, middle: string, right: string) =>
    terminal.paint('dim', left + widths.map(width => '─'.repeat(width + 2)).join(middle) + right)
  const bar = terminal.paint('dim', '│')
  const line = (cells: Cell[]) => `${bar} ${drawn(cells).join(` ${bar} `)} ${bar}`
  return [rule('┌', '┬', '┐'), line(headingCells), rule('├', '┼', '┤'), ...rows.map(line), rule('└', '┴', '┘')]
}

/** The rows for a narrow terminal: the first cell is a line of its own, and each other one a line with its heading below. */
function stackedRows({ headings, rows, terminal }: BoxTable): string[] {
  return rows.flatMap(row => {
    const isContinued = row[0]?.text === ''
    return row.flatMap(({ text, tone }, column) => {
      if (text === '') return []
      if (column === 0) return [terminal.paint('bold', cut(text, terminal.width))]
      const lines = wrap(isContinued ? text : `${headings[column]}: ${text}`, terminal.width - 2)
      return lines.map(line => `  ${tone ? terminal.paint(tone, line) : line}`)
    })
  })
}

function sessionRows(session: SessionView, project: string, now: number): Cell[][] {
  const first: Cell[] = Object.values(COLUMNS).map(cellOf => cellOf(session, { project, now }))
  const below = belowTask(session, now)
  return below ? [first, first.map((_, column) => (column === TASK ? below : { text: '' }))] : [first]
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
    const cause = session.status === 'paused' ? pauseCause(session) : ''
    return { text: `Resumes: ${wakeTime(session.resumes_at, now)}${cause && `, ${cause}`}`, tone: 'yellow' }
  }
  if (session.asks.length > 0 || session.status === 'waiting_input') {
    return { text: `pcc attach ${session.id}`, tone: 'yellow' }
  }
  const answer = session.status === 'paused' ? /pcc respond \d+[^;\n]*/.exec(session.reason ?? '')?.[0] : undefined
  if (answer !== undefined) return { text: `Waits for your yes: ${answer}`, tone: 'yellow' }
  if (session.queued) return { text: 'Waits for a free slot', tone: 'dim' }
  const cause = session.status === 'paused' ? pauseCause(session) : ''
  return cause === '' ? undefined : { text: cause, tone: 'yellow' }
}

/** The reason without the command that follows, which every paused session has. */
function pauseCause({ reason }: SessionView): string {
  return firstLine((reason ?? '').replace(/; go on with: pcc .*/s, ''))
}

/** Returns how many columns are still missing. */
function shrink(widths: number[], total: number, giveWay: BoxTable['giveWay']): number {
  const excess = () => widths.reduce((sum, width) => sum + width + 3, 1) - total
  for (const [column, least] of giveWay) {
    const width = widths[column] ?? 0
    widths[column] = Math.max(Math.min(width, least), width - Math.max(0, excess()))
  }
  return excess()
}

function drawCell(cell: Cell | undefined, width: number, terminal: Terminal): string {
  const text = pad(cut(cell?.text ?? '', width), width)
  return cell?.tone ? terminal.paint(cell.tone, text) : text
}
