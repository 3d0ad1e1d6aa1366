import type { SessionView } from '../../../domain/api.ts'
import type { EscalationView } from '../../../domain/escalation.ts'
import { ago } from '../../render/format.ts'
import { suggestionLine } from '../../render/lines/suggestion-line.ts'
import { boxTable, type Cell } from '../../render/list-table.ts'
import type { Terminal } from '../../render/paint.ts'
import { cut, firstLine, neutral, wrap } from '../../render/text.ts'
import { changeLines } from './change-lines.ts'
import { hasMore, optionsLine, questionLine, questionLines } from './question-lines.ts'

export type ShownEscalation = EscalationView

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
  const unnumbered = asking.filter(({ id }) => !waiting.some(row => row.state === 'open' && row.session_id === id))
  const calls = unnumbered.map(
    ({ id, name }) => `Session ${id} (${firstLine(name)}) waits for an answer: pcc attach ${id}`,
  )
  if (waiting.length === 0) return calls.length > 0 ? calls : ['Nothing waits for you.']
  const rows = waiting.flatMap(row => rowsOf(row, now))
  const table = boxTable({ headings: HEADINGS, rows, terminal, giveWay: [[QUESTION, 16]] })
  const fits = (text: string) => table.some(line => line.includes(` ${text} `))
  const long = waiting.filter(
    row =>
      !fits(questionOf(row)) ||
      (row.kind === 'question' && !fits(belowOf(row))) ||
      hasMore(row) ||
      changeLines(row, terminal.width).length > 0,
  )
  return [
    'Pending Human Decisions:',
    ...table,
    ...long.flatMap(row => [
      '',
      `${row.number} in full:`,
      ...wholeLines(row, terminal.width),
      ...changeLines(row, terminal.width - 2).map(line => `  ${line}`),
    ]),
    '',
    ...responses(waiting),
    ...calls,
  ]
}

/** How to answer, by the first of each kind. */
function responses(waiting: ShownEscalation[]): string[] {
  const review = waiting.find(({ kind }) => kind === 'review')
  const permission = waiting.find(({ kind }) => kind !== 'question' && kind !== 'review')
  const question = waiting.find(({ kind }) => kind === 'question')
  const ways = [
    ...(permission ? [`pcc respond ${permission.number} --approve`, `pcc respond ${permission.number} --deny`] : []),
    ...(review ? [`pcc review ${reviewedTask(review)}`] : []),
    ...(question ? [`pcc respond ${question.number} "your words, or the number of an option"`] : []),
  ]
  const number = waiting[0]?.number
  const wasRefused = waiting.some(({ state }) => state === 'denied')
  return [
    ...ways.map((way, index) => `${index === 0 ? 'Respond with' : '          or'}: ${way}`),
    `Or interactive: pcc respond ${number} --interactive`,
    ...(wasRefused
      ? ['What was refused stays so: its session went on without it, and your word counts for the next time.']
      : []),
  ]
}

/** Its target is the task's id and title. */
function reviewedTask({ target }: ShownEscalation): string {
  return firstLine(target).split(' ', 1).join('')
}

/** Everything of a request that counts, line by line and harmless. */
export function wholeLines(row: ShownEscalation, width: number): string[] {
  if (row.kind === 'question') return questionLines(row, width - 2).map(line => `  ${line}`)
  return wrap(neutral(wantedOf(row)), width - 2).map(line => `  ${line}`)
}

function rowsOf(row: ShownEscalation, now: number): Cell[][] {
  const below: Cell = {
    text: cut(belowOf(row), QUESTION_WIDTH),
    tone: row.risk === 'HIGH' ? 'red' : 'yellow',
  }
  const blank: Cell = { text: '' }
  const suggestion = suggestionLine(row.context.suggestion)
  return [
    [
      { text: String(row.number) },
      { text: sessionOf(row) },
      { text: TYPES[row.kind] },
      { text: shortQuestion(row) },
      { text: ago(now - row.created_at) },
    ],
    [blank, blank, blank, below, blank],
    ...(suggestion === undefined ? [] : [[blank, blank, blank, { text: cut(suggestion, QUESTION_WIDTH) }, blank]]),
  ]
}

/** The one that asked, and how many others wait for the same. */
export function sessionOf({ session_id, sessions }: ShownEscalation): string {
  return sessions.length > 1 ? `${firstLine(session_id)} +${sessions.length - 1}` : firstLine(session_id)
}

/** Kinds as a column shows them. */
export const TYPES: Record<ShownEscalation['kind'], string> = {
  permission: 'Perm.',
  question: 'Q&A',
  error: 'Error',
  review: 'Review',
}

/** What is told under a request: how dangerous it is and why it waits, or what may be chosen. */
export function belowOf(row: ShownEscalation): string {
  if (row.kind === 'question') return optionsLine(row)
  const times = row.count > 1 ? `, asked ${row.count} times` : ''
  if (row.kind === 'error') return `in session: ${firstLine(row.task)}${times}`
  if (row.kind === 'review') return firstLine(row.reason)
  const state = row.state === 'denied' ? 'was refused' : 'waits'
  return `${row.risk} risk, ${state}${times}: ${firstLine(row.reason)}`
}

function shortQuestion(row: ShownEscalation): string {
  return cut(firstLine(questionOf(row)), QUESTION_WIDTH)
}

/** What is asked, in a line. */
export function questionOf(row: ShownEscalation): string {
  if (row.kind === 'question') return questionLine(row)
  if (row.kind === 'error') return firstLine(row.reason)
  if (row.kind === 'review') return `May it be merged? ${firstLine(row.target)}`
  return `Approve: ${wantedOf(row)}`
}

/** A command speaks for itself; other tools need their name. A request of which only the tool is known shows its input. */
function wantedOf({ kind, reason, tool, target, normalised, input }: ShownEscalation): string {
  if (kind === 'error') return reason
  if (kind === 'review') return `May it be merged? ${target}`
  if (tool === 'Bash' && normalised.startsWith('Bash ')) return normalised.slice('Bash '.length)
  return normalised === tool ? `${tool} ${JSON.stringify(input)}` : normalised
}
