import type { SessionView } from '../../../domain/api.ts'
import type { Escalation } from '../../../domain/escalation.ts'
import { ago } from '../../render/format.ts'
import { boxTable, type Cell } from '../../render/list-table.ts'
import type { Terminal } from '../../render/paint.ts'
import { cut, firstLine, neutral, wrap } from '../../render/text.ts'

export type ShownEscalation = Omit<Escalation, 'fingerprint'>

const HEADINGS = ['#', 'Session', 'Type', 'Question', 'Waiting']
const QUESTION = 3
/** Wider ones are cut here. */
const QUESTION_WIDTH = 60

interface Page {
  /** Sessions that wait for an answer at a terminal. */
  asking: SessionView[]
  terminal: Terminal
  now: number
}

/** The page of `pcc pending`. Whatever the table has to cut stands whole below it: nobody should approve what they have not seen. */
export function pendingLines(waiting: ShownEscalation[], { asking, terminal, now }: Page): string[] {
  const calls = asking.map(({ id, name }) => `Session ${id} (${firstLine(name)}) waits for an answer: pcc attach ${id}`)
  const [first] = waiting
  if (!first) return calls.length > 0 ? calls : ['Nothing waits for you.']
  const rows = waiting.flatMap(row => rowsOf(row, now))
  const table = boxTable({ headings: HEADINGS, rows, terminal, giveWay: [[QUESTION, 16]] })
  const long = waiting.filter(row => !table.some(line => line.includes(` ${questionOf(row)} `)))
  return [
    'Pending Human Decisions:',
    ...table,
    ...long.flatMap(row => ['', `${row.number} in full:`, ...wholeLines(row, terminal.width)]),
    '',
    `Respond with: pcc respond ${first.number} --approve`,
    `          or: pcc respond ${first.number} --deny`,
    ...calls,
  ]
}

/** Everything of a request that counts, line by line and harmless. */
export function wholeLines(row: ShownEscalation, width: number): string[] {
  return wrap(neutral(wantedOf(row)), width - 2).map(line => `  ${line}`)
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
