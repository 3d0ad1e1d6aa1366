import type { SessionView } from '../../../domain/api.ts'
import type { EscalationView } from '../../../domain/escalation.ts'
import type { QuestionItem } from '../../../domain/session.ts'
import { questionsIn } from '../../../human/questions.ts'

/**
 * What the inbox shows and how far the person came with it. One row is in sight, by its number: whatever comes and goes
 * around it, a key can only answer that one. When something else comes into sight without the person's doing, no answer
 * counts for a moment (`armed`), because a key may be on its way that was meant for the one before. A row that was settled
 * elsewhere while it was in sight stays there (`gone`) until the person goes on.
 */
export interface Inbox {
  /** In the order in which they are worked through: those that were skipped come last. */
  rows: EscalationView[]
  /** Sessions that ask at a terminal of their own. */
  asking: SessionView[]
  loaded: boolean
  /** The number of the row in sight. */
  current: number | undefined
  gone: EscalationView | undefined
  skipped: readonly number[]
  /** The row in sight has the screen for itself. */
  whole: boolean
  /** Lines of it that were scrolled away. */
  scroll: number
  /** What was said so far to a question of several parts, and chosen of the one that is asked. */
  answers: Record<string, string | string[]>
  chosen: readonly number[]
  draft: Draft | undefined
  armed: boolean
  /** An answer is on its way. */
  sending: boolean
  notice: string
  /** Why nothing new is shown, while the daemon does not answer. */
  offline: string
  /** When rows were answered here: a list that was asked for before still has them. */
  done: Readonly<Record<number, number>>
}

/** What waits, as of a time. */
export interface InboxContents {
  rows: EscalationView[]
  asking: SessionView[]
  as_of: number
}

/** Something that is being typed. */
export interface Draft {
  what: 'reason' | 'answer'
  text: string
}

export const EMPTY_INBOX: Inbox = {
  rows: [],
  asking: [],
  loaded: false,
  current: undefined,
  gone: undefined,
  skipped: [],
  whole: false,
  scroll: 0,
  answers: {},
  chosen: [],
  draft: undefined,
  armed: false,
  sending: false,
  notice: '',
  offline: '',
  done: {},
}

/** The row that the keys are about. */
export function rowInSight({ rows, current, gone }: Inbox): EscalationView | undefined {
  return gone ?? rows.find(({ number }) => number === current)
}

/** The inbox with what waits now. */
export function withRows(inbox: Inbox, { rows, asking, as_of }: InboxContents): Inbox {
  // What is on its way changes the list as well; the next look has both.
  if (inbox.sending) return { ...inbox, offline: '' }
  const left = rows.filter(({ number }) => (inbox.done[number] ?? 0) < as_of)
  const next = { ...inbox, rows: inOrder(left, inbox.skipped), asking, loaded: true, offline: '' }
  const shown = rowInSight(inbox)
  const isThere = next.rows.some(({ number }) => number === inbox.current)
  if (isThere || inbox.gone) return next
  return shown ? { ...next, gone: shown, draft: undefined } : inSight(next, next.rows[0]?.number, false)
}

/** Another row comes into sight; by the person's doing or not. */
export function inSight(inbox: Inbox, number: number | undefined, armed: boolean): Inbox {
  const blank = { gone: undefined, whole: false, scroll: 0, answers: {}, chosen: [], draft: undefined }
  return { ...inbox, ...blank, current: number, armed }
}

/** The row after the one in sight, or before it. */
export function moved(inbox: Inbox, by: 1 | -1): Inbox {
  const numbers = inbox.rows.map(({ number }) => number)
  const at = numbers.indexOf(inbox.current ?? Number.NaN)
  if (at < 0) return inSight({ ...inbox, notice: '' }, numbers[0], true)
  const next = numbers[Math.min(numbers.length - 1, Math.max(0, at + by))]
  return next === inbox.current ? inbox : inSight({ ...inbox, notice: '' }, next, true)
}

/** The row in sight comes last from now on, and the next one is shown. */
export function skipped(inbox: Inbox): Inbox {
  const { current, rows } = inbox
  if (current === undefined) return inbox
  const after = followerOf(inbox, current)
  const later = [...inbox.skipped.filter(number => number !== current), current]
  const next = { ...inbox, skipped: later, rows: inOrder(rows, later), notice: '' }
  return inSight(next, after ?? current, true)
}

/** The answer is in: its row is gone, and the next one comes into sight. */
export function answered(inbox: Inbox, number: number, { notice, at }: { notice: string; at: number }): Inbox {
  const after = followerOf(inbox, number)
  const rows = inbox.rows.filter(row => row.number !== number)
  const done = { ...inbox.done, [number]: at }
  return inSight({ ...inbox, rows, done, sending: false, notice }, after ?? rows.at(-1)?.number, false)
}

/** The answer was not taken: the row stays in sight, and with it why. */
export function refused(inbox: Inbox, notice: string): Inbox {
  return { ...inbox, sending: false, draft: undefined, answers: {}, chosen: [], notice }
}

function followerOf({ rows }: Inbox, number: number): number | undefined {
  return rows[rows.findIndex(row => row.number === number) + 1]?.number
}

function inOrder(rows: EscalationView[], later: readonly number[]): EscalationView[] {
  return rows.toSorted((a, b) => later.indexOf(a.number) - later.indexOf(b.number))
}

/** The part of a question that is to be answered next. */
export interface QuestionPart {
  item: QuestionItem
  index: number
  of: number
  /** What the brain would say to it. */
  suggested: string | string[] | undefined
}

/** The questions of a row; none where it is no question, or too long to be kept. */
export function partsOf({ kind, input }: Pick<EscalationView, 'kind' | 'input'>): QuestionItem[] {
  return kind === 'question' ? (questionsIn(input) ?? []) : []
}

/** What of a question is to be answered next; nothing when it is no question. */
export function nextPart(row: EscalationView, { answers }: Pick<Inbox, 'answers'>): QuestionPart | undefined {
  const parts = partsOf(row)
  const index = parts.findIndex(({ question }) => answers[question] === undefined)
  const item = parts[index]
  if (!item) return undefined
  const suggested = row.context.suggestion?.answer[index]
  return { item, index, of: parts.length, suggested: suggested?.length === 0 ? undefined : suggested }
}
