import type { EscalationView } from '../../../domain/escalation.ts'
import type { QuestionItem } from '../../../domain/session.ts'
import { questionsIn } from '../../../human/questions.ts'
import type { ShownEscalation } from '../../render/escalation-lines.ts'

/**
 * What the inbox shows and how far the person has come with it. The current row is kept by its number: whatever other rows
 * come and go, a key can only answer that one. When another row becomes current without the person's doing, no answer is
 * accepted for a moment (`armed`), because a key may be on its way that was meant for the previous row. A row that was
 * settled elsewhere while it was current stays on the screen (`gone`) until the person goes on.
 */
export interface Inbox {
  /** In the order in which they are worked through: skipped rows come last. */
  rows: ShownEscalation[]
  loaded: boolean
  /** The number of the current row. */
  current: number | undefined
  gone: ShownEscalation | undefined
  skipped: readonly number[]
  /** Whether the current row fills the screen, without the list. */
  fullScreen: boolean
  /** How many of its lines are scrolled off the top. */
  scroll: number
  /** The answers so far to a question of several parts, and the options chosen for the current part. */
  answers: Record<string, string | string[]>
  chosen: readonly number[]
  draft: Draft | undefined
  /** Whether the person is asked if the task of a refused request is to be done again. */
  asksAgain: boolean
  armed: boolean
  /** Whether an answer is being sent. */
  sending: boolean
  notice: string
  /** Why nothing new is shown while the daemon does not answer; empty otherwise. */
  offline: string
  /** When each row was answered here: a list that was requested before that still contains it. */
  done: Readonly<Record<number, number>>
}

/** What waits for a person, as of a time. */
export interface InboxContents {
  rows: ShownEscalation[]
  as_of: number
}

/** The text that is being typed. */
export interface Draft {
  what: 'reason' | 'answer'
  text: string
}

/** What is begun about a row and ends with it. */
const NOTHING_BEGUN = {
  gone: undefined,
  fullScreen: false,
  scroll: 0,
  answers: {},
  chosen: [],
  draft: undefined,
  asksAgain: false,
} satisfies Partial<Inbox>

export const EMPTY_INBOX: Inbox = {
  ...NOTHING_BEGUN,
  rows: [],
  loaded: false,
  current: undefined,
  skipped: [],
  armed: false,
  sending: false,
  notice: '',
  offline: '',
  done: {},
}

/** The row that the keys apply to. */
export function currentRow({ rows, current, gone }: Inbox): ShownEscalation | undefined {
  return gone ?? rows.find(({ number }) => number === current)
}

/** Updates the inbox with what waits now. */
export function updateRows(inbox: Inbox, { rows, as_of }: InboxContents): Inbox {
  // The answer that is being sent changes the list too; the next poll has both changes.
  if (inbox.sending) return { ...inbox, offline: '' }
  const open = rows.filter(({ number }) => (inbox.done[number] ?? 0) < as_of)
  const next = { ...inbox, rows: sortSkippedLast(open, inbox.skipped), loaded: true, offline: '' }
  const shown = currentRow(inbox)
  const isThere = next.rows.some(({ number }) => number === inbox.current)
  if (isThere || inbox.gone) return next
  return shown ? { ...next, gone: shown, draft: undefined } : showRow(next, next.rows[0]?.number, false)
}

/** Makes a row the current one. `armed` is true if the person chose it. */
export function showRow(inbox: Inbox, number: number | undefined, armed: boolean): Inbox {
  return { ...inbox, ...NOTHING_BEGUN, current: number, armed }
}

/** Makes the row after or before the current one current. */
export function moveBy(inbox: Inbox, by: 1 | -1): Inbox {
  const numbers = inbox.rows.map(({ number }) => number)
  const index = numbers.indexOf(inbox.current ?? Number.NaN)
  if (index < 0) return showRow({ ...inbox, notice: '' }, numbers[0], true)
  const next = numbers[Math.min(numbers.length - 1, Math.max(0, index + by))]
  return next === inbox.current ? inbox : showRow({ ...inbox, notice: '' }, next, true)
}

/** Puts the current row last and makes the next one current. */
export function skipCurrent(inbox: Inbox): Inbox {
  const { current, rows } = inbox
  if (current === undefined) return inbox
  const after = findFollower(inbox, current)
  const later = [...inbox.skipped.filter(number => number !== current), current]
  const next = { ...inbox, skipped: later, rows: sortSkippedLast(rows, later), notice: '' }
  return showRow(next, after ?? current, true)
}

/** Removes a row whose answer was accepted and makes the next one current. */
export function removeAnswered(inbox: Inbox, number: number, { notice, at }: { notice: string; at: number }): Inbox {
  const after = findFollower(inbox, number)
  const rows = inbox.rows.filter(row => row.number !== number)
  const done = { ...inbox.done, [number]: at }
  return showRow({ ...inbox, rows, done, sending: false, notice }, after ?? rows.at(-1)?.number, false)
}

/** Keeps the row current after its answer was refused, with the reason as notice. */
export function keepRefused(inbox: Inbox, notice: string): Inbox {
  return { ...inbox, sending: false, draft: undefined, answers: {}, chosen: [], notice }
}

function findFollower({ rows }: Inbox, number: number): number | undefined {
  return rows[rows.findIndex(row => row.number === number) + 1]?.number
}

function sortSkippedLast(rows: ShownEscalation[], later: readonly number[]): ShownEscalation[] {
  return rows.toSorted((a, b) => later.indexOf(a.number) - later.indexOf(b.number))
}

/** One part of a question. */
export interface QuestionPart {
  item: QuestionItem
  index: number
  count: number
  /** The answer that the brain suggests. */
  suggested: string | string[] | undefined
}

/** The questions of a row; none if it is not a question, or was too long to be stored. */
export function readQuestions({ kind, input }: Pick<EscalationView, 'kind' | 'input'>): QuestionItem[] {
  return kind === 'question' ? (questionsIn(input) ?? []) : []
}

/** The part of a question to answer next; `undefined` if the row is not a question or all parts are answered. */
export function nextPart(row: EscalationView, { answers }: Pick<Inbox, 'answers'>): QuestionPart | undefined {
  const parts = readQuestions(row)
  const index = parts.findIndex(({ question }) => answers[question] === undefined)
  const item = parts[index]
  if (!item) return undefined
  const suggested = row.context.suggestion?.answer[index]
  return { item, index, count: parts.length, suggested: suggested?.length === 0 ? undefined : suggested }
}
