import type { Escalation } from '../../../domain/escalation.ts'
import { ago } from '../../render/format.ts'
import { boxTable, type Cell } from '../../render/list-table.ts'
import type { Terminal } from '../../render/paint.ts'
import { cut, firstLine, neutral, wrap } from '../../render/text.ts'

export type ShownEscalation = Omit<Escalation, 'fingerprint'>

const HEADINGS = ['#', 'Session', 'Type', 'Question', 'Waiting']
const QUESTION = 3
/** A question wider than this is shown whole under the table. */
const QUESTION_WIDTH = 60

/** The page of `pcc pending`. Whatever the table has to cut stands whole below it: nobody should approve what they have not seen. */
export function pendingLines(waiting: ShownEscalation[], terminal: Terminal, now: number): string[] {
  const [first] = waiting
  if (!first) return ['Nothing waits for you.']
  const giveWay = [[QUESTION, 16]] as const
  const rows = waiting.flatMap(row => rowsOf(row, now))
  const long = waiting.filter(row => questionOf(row) !== shortQuestion(row) || terminal.width < QUESTION_WIDTH + 50)
  return [
    'Pending Human Decisions:',
    ...boxTable({ headings: HEADINGS, rows, terminal, giveWay }),
    ...long.flatMap(row => ['', `${row.number} in full:`, ...wholeLines(row, terminal.width)]),
    '',
    `Respond with: pcc respond ${first.number} --approve`,
    `          or: pcc respond ${first.number} --deny`,
  ]
}

/** Everything of a request that counts, line by line and harmless. */
export function wholeLines(row: ShownEscalation, width: number): string[] {
  return wrap(neutral(wantedOf(row)), width - 2).map(line => `  ${line}`)
}

/** The tool and what it is aimed at, on one line. */
export function shortWanted(row: ShownEscalation): string {
  return cut(firstLine(wantedOf(row)), QUESTION_WIDTH)
}

function rowsOf(row: ShownEscalation, now: number): Cell[][] {
  const times = row.count > 1 ? `, asked ${row.count} times` : ''
  const state = row.state === 'denied' ? 'refused for now' : 'waits'
  const below: Cell = {
    text: cut(`${row.risk} risk, ${state}${times}: ${firstLine(row.reason)}`, QUESTION_WIDTH),
    tone: row.risk === 'HIGH' ? 'red' : 'yellow',
  }
  const blank: Cell = { text: '' }
  return [
    [
      { text: String(row.number) },
      { text: firstLine(row.session_id) },
      { text: 'Perm.' },
      { text: shortQuestion(row) },
      { text: ago(now - row.created_at) },
    ],
    [blank, blank, blank, below, blank],
  ]
}

function shortQuestion(row: ShownEscalation): string {
  return cut(firstLine(questionOf(row)), QUESTION_WIDTH)
}

function questionOf(row: ShownEscalation): string {
  return `Approve: ${wantedOf(row)}`
}

/** A command speaks for itself; other tools need their name. A request of which only the tool is known shows its input. */
function wantedOf({ tool, normalised, input }: ShownEscalation): string {
  if (tool === 'Bash' && normalised.startsWith('Bash ')) return normalised.slice('Bash '.length)
  return normalised === tool ? `${tool} ${JSON.stringify(input)}` : normalised
}
