import type { SessionView } from '../../domain/api.ts'
import type { EscalationView } from '../../domain/escalation.ts'
import { questionOf, sessionOf, TYPES } from '../commands/decide/pending-lines.ts'
import { ago } from '../render/format.ts'
import { decisionsWait } from '../render/list-table.ts'
import type { Terminal } from '../render/paint.ts'
import { cut, firstLine, pad, widthOf } from '../render/text.ts'

/** More are counted: who has that many goes to the inbox. */
const MOST = 5
/** Wider ones are cut here. */
const QUESTION_WIDTH = 60

interface Waiting {
  rows: EscalationView[]
  sessions: SessionView[]
}

/** What a person is wanted for, first things first, and how to answer. Nothing where nobody is. */
export function needsYouLines({ rows, sessions }: Waiting, terminal: Terminal, now: number): string[] {
  const calls = askingElsewhere({ rows, sessions }).map(
    ({ id, name }) => `Session ${id} (${firstLine(name)}) asks at its terminal: pcc attach ${id}`,
  )
  if (rows.length === 0) return calls
  const shown = rows.slice(0, MOST)
  const session = Math.max(...shown.map(row => widthOf(sessionOf(row))))
  return [
    terminal.paint('yellow', decisionsWait(rows.length)),
    ...shown.map(row => {
      const head = `${String(row.number).padStart(4)}  ${pad(TYPES[row.kind], 6)}  ${pad(sessionOf(row), session)}  `
      const room = Math.max(16, Math.min(QUESTION_WIDTH, terminal.width - widthOf(head) - 12))
      return `${head}${pad(cut(firstLine(questionOf(row)), room), room)}  ${ago(now - row.created_at)}`
    }),
    ...(rows.length > MOST ? [`      and ${rows.length - MOST} more`] : []),
    'Work through them by keys: pcc inbox',
    ...calls,
  ]
}

/** Sessions that wait for an answer which has no number: it is asked at a terminal. */
export function askingElsewhere({ rows, sessions }: Waiting): SessionView[] {
  const listed = new Set(rows.filter(({ state }) => state === 'open').flatMap(row => [row.session_id, ...row.sessions]))
  return sessions.filter(({ id, status }) => status === 'waiting_input' && !listed.has(id))
}
