import type { OutboxRow } from '../../store/tables.ts'
import type { Message, Notice, NoticeKind } from './notice.ts'

/** A row with its notice read. */
export interface Told {
  row: OutboxRow
  notice: Notice
}

/** More than this at once are one message. */
export const ROLL_UP_ABOVE = 3
const LISTED = 5

/** The messages that tell rows that are due together, each with the rows it tells. */
export function compose(rows: Told[], sound: boolean): { message: Message; rows: Told[] }[] {
  if (rows.length > ROLL_UP_ABOVE) return [{ message: rolledUp(rows, sound), rows }]
  return rows.map(told => ({ message: single(told, sound), rows: [told] }))
}

function single({ row, notice }: Told, sound: boolean): Message {
  const { kind, title, text, decision } = notice
  return { kind, title: row.state === 'told' ? `Still waiting: ${title}` : title, text, decision, sound }
}

function rolledUp(rows: Told[], sound: boolean): Message {
  const counts = Map.groupBy(rows, ({ notice }) => notice.kind)
  const said = ORDER.flatMap(kind => {
    const count = counts.get(kind)?.length ?? 0
    return count === 0 ? [] : [`${count} ${NOUNS[kind](count)}`]
  })
  const first = ORDER.find(kind => counts.has(kind)) ?? 'question'
  const listed = rows.slice(0, LISTED).map(({ notice }) => `• ${notice.title}`)
  const more = rows.length > LISTED ? [`… and ${rows.length - LISTED} more`] : []
  const ask = rows.some(({ notice }) => notice.decision) ? ['Answer them: pcc pending'] : []
  return { kind: first, title: said.join(', '), text: [...listed, ...more, ...ask].join('\n'), sound }
}

/** What a person must act on stands first. */
const ORDER: readonly NoticeKind[] = ['question', 'error', 'report', 'rate_limit', 'complete']

const NOUNS: Record<NoticeKind, (count: number) => string> = {
  question: count => (count === 1 ? 'question waiting' : 'questions waiting'),
  error: count => (count === 1 ? 'failure' : 'failures'),
  rate_limit: count => (count === 1 ? 'limit hit' : 'limits hit'),
  report: count => (count === 1 ? 'report' : 'reports'),
  complete: count => (count === 1 ? 'session completed' : 'sessions completed'),
}
