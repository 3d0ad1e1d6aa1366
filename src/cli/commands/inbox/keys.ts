import { messageOf } from '../../../base/errors.ts'
import { neutral } from '../../../base/neutral.ts'
import type { EscalationView } from '../../../domain/escalation.ts'
import { isCutInput, reviewCommand } from '../../../domain/shown-request.ts'
import { RemoteError } from '../../errors.ts'
import { type AskReply, hasOptionKeys } from '../../live/asks.ts'
import { NOT_WHOLE } from '../../render/ask-lines.ts'
import { belowOf, isDecision, type ShownEscalation } from '../../render/escalation-lines.ts'
import {
  currentRow,
  EMPTY_INBOX,
  type Inbox,
  type InboxContents,
  keepRefused,
  moveBy,
  nextPart,
  type QuestionPart,
  readQuestions,
  removeAnswered,
  showRow,
  skipCurrent,
  updateRows,
} from './state.ts'

/** A key: its name if it has one, otherwise the text that it types. */
export interface InboxKey {
  name: 'up' | 'down' | 'pageUp' | 'pageDown' | 'return' | 'escape' | 'backspace' | 'text'
  text: string
}

/** Which part of the current row's details is on the screen. */
export interface ScrollState {
  /** Whether their last line is on the screen. */
  isAtEnd: boolean
  /** How many of their lines the screen shows. */
  page: number
  /** The largest scroll offset. */
  furthest: number
}

/** An answer by keys; `again`: exactly this is allowed once, and its task is done again. */
export type InboxReply = AskReply & { again?: true }

/** The effect of a key: the new state of the inbox, an answer to send, or the wish to leave. */
export interface InboxKeyResult {
  inbox: Inbox
  send?: { row: EscalationView; reply: InboxReply }
  leave?: true
}

/** Applies a key. Nothing can be approved before its end was on the screen. */
export function pressInboxKey(inbox: Inbox, key: InboxKey, scrollState: ScrollState): InboxKeyResult {
  if (inbox.sending) return { inbox }
  const row = currentRow(inbox)
  if (inbox.draft && row) return typeDraft(inbox, row, key)
  if (key.text.toLowerCase() === 'q') return { inbox, leave: true }
  if (inbox.gone) return { inbox: key.name === 'text' ? inbox : leaveSettledRow(inbox) }
  if (key.name !== 'text') return navigate({ ...inbox, asksAgain: false }, key.name, { row, scrollState })
  if (!row || !inbox.armed) return { inbox }
  return pressLetter(key.text.toLowerCase(), { inbox, row, scrollState })
}

function leaveSettledRow(inbox: Inbox): Inbox {
  return showRow({ ...inbox, notice: '' }, inbox.rows[0]?.number, true)
}

type NamedKey = Exclude<InboxKey['name'], 'text'>

function navigate(
  inbox: Inbox,
  name: NamedKey,
  { row, scrollState }: { row: EscalationView | undefined; scrollState: ScrollState },
): InboxKeyResult {
  const scrollBy = (by: number) => ({
    inbox: { ...inbox, scroll: Math.max(0, Math.min(scrollState.furthest, inbox.scroll + by)) },
  })
  switch (name) {
    case 'up':
      return inbox.fullScreen ? scrollBy(-1) : { inbox: moveBy(inbox, -1) }
    case 'down':
      return inbox.fullScreen ? scrollBy(1) : { inbox: moveBy(inbox, 1) }
    case 'pageUp':
      return scrollBy(-scrollState.page)
    case 'pageDown':
      return scrollBy(scrollState.page)
    case 'return': {
      const part = row && nextPart(row, inbox)
      if (row && part?.item.multiSelect && inbox.chosen.length > 0 && inbox.armed) {
        return answerPart(inbox, row, { part, answer: labels(part, inbox.chosen) })
      }
      return { inbox: row ? { ...inbox, fullScreen: !inbox.fullScreen, scroll: 0 } : inbox }
    }
    case 'escape':
    case 'backspace':
      return { inbox: { ...inbox, fullScreen: false, scroll: 0, chosen: [], notice: '' } }
  }
}

interface KeyContext {
  inbox: Inbox
  row: ShownEscalation
  scrollState: ScrollState
}

function pressLetter(letter: string, { inbox, row, scrollState }: KeyContext): InboxKeyResult {
  if (inbox.asksAgain) return answerAgain(letter, { inbox, row })
  if (letter === 's') return { inbox: skipCurrent(inbox) }
  if (!isDecision(row)) return { inbox: { ...inbox, notice: `No key answers this. ${belowOf(row)}` } }
  if (letter === 'd') return sendReply(inbox, row, { verdict: 'deny' })
  const part = nextPart(row, inbox)
  if (row.kind === 'question') return part ? pressAnswerKey(letter, part, { inbox, row }) : { inbox }
  if (letter === 't') return { inbox: { ...inbox, draft: { what: 'reason', text: '' }, notice: '' } }
  if (letter !== 'a') return { inbox }
  const review = reviewCommand(row)
  if (review !== undefined)
    return { inbox: { ...inbox, notice: `Look at the work, and approve it there: ${neutral(review)}` } }
  if (isCutInput(row.input)) return { inbox: { ...inbox, notice: NOT_WHOLE } }
  if (!scrollState.isAtEnd)
    return { inbox: { ...inbox, notice: 'Read it to its end first: PgDn, or Enter for the whole screen' } }
  if (row.again) return { inbox: { ...inbox, asksAgain: true, notice: '' } }
  return sendReply(inbox, row, { verdict: 'allow' })
}

/** Y allows exactly this once and does the task again, N only notes the yes, any other key leaves it. */
function answerAgain(letter: string, { inbox, row }: Pick<KeyContext, 'inbox' | 'row'>): InboxKeyResult {
  const closed = { ...inbox, asksAgain: false }
  if (letter === 'y') return sendReply(closed, row, { verdict: 'allow', again: true })
  return letter === 'n' ? sendReply(closed, row, { verdict: 'allow' }) : { inbox: closed }
}

function pressAnswerKey(
  letter: string,
  part: QuestionPart,
  { inbox, row }: Pick<KeyContext, 'inbox' | 'row'>,
): InboxKeyResult {
  if (letter === 't') return { inbox: { ...inbox, draft: { what: 'answer', text: '' }, notice: '' } }
  if (letter === 'a') {
    return part.suggested === undefined ? { inbox } : answerPart(inbox, row, { part, answer: part.suggested })
  }
  const index = /^[1-9]$/.test(letter) && hasOptionKeys(part.item) ? Number(letter) - 1 : -1
  const option = part.item.options[index]
  if (!option) return { inbox }
  if (!part.item.multiSelect) return answerPart(inbox, row, { part, answer: option.label })
  const { chosen } = inbox
  const toggled = chosen.includes(index)
    ? chosen.filter(each => each !== index)
    : [...chosen, index].sort((a, b) => a - b)
  return { inbox: { ...inbox, chosen: toggled } }
}

/** The daemon refuses longer answers; nobody types that much by hand. */
const MAX_LENGTH = 65_536

function typeDraft(inbox: Inbox, row: EscalationView, key: InboxKey): InboxKeyResult {
  const { what, text } = inbox.draft ?? { what: 'answer', text: '' }
  if (key.name === 'escape') return { inbox: { ...inbox, draft: undefined } }
  if (key.name === 'backspace') {
    return { inbox: { ...inbox, draft: { what, text: Array.from(text).slice(0, -1).join('') } } }
  }
  if (key.name === 'text') return { inbox: { ...inbox, draft: { what, text: (text + key.text).slice(0, MAX_LENGTH) } } }
  if (key.name !== 'return') return { inbox }
  const answer = text.trim()
  const closed = { ...inbox, draft: undefined }
  if (answer === '') return { inbox: closed }
  if (what === 'reason') return sendReply(closed, row, { verdict: 'deny', reason: answer })
  const part = nextPart(row, inbox)
  if (!part) return { inbox: closed }
  const { options, multiSelect } = part.item
  if (!hasOptionKeys(part.item))
    return answerPart(closed, row, { part, answer: options[Number(answer) - 1]?.label ?? answer })
  return answerPart(closed, row, { part, answer: multiSelect ? [...labels(part, inbox.chosen), answer] : answer })
}

/** Records the answer to one part; after the last part all answers are sent. */
function answerPart(
  inbox: Inbox,
  row: EscalationView,
  { part, answer }: { part: QuestionPart; answer: string | string[] },
): InboxKeyResult {
  const answers = { ...inbox.answers, [part.item.question]: answer }
  const isLast = readQuestions(row).every(({ question }) => answers[question] !== undefined)
  return isLast ? sendReply(inbox, row, { answers }) : { inbox: { ...inbox, answers, chosen: [], notice: '' } }
}

function sendReply(inbox: Inbox, row: EscalationView, reply: InboxReply): InboxKeyResult {
  return { inbox: { ...inbox, sending: true, notice: '' }, send: { row, reply } }
}

function labels({ item }: QuestionPart, chosen: readonly number[]): string[] {
  return item.options.filter((_, index) => chosen.includes(index)).map(({ label }) => label)
}

export interface InboxStoreDeps {
  /** Delivers an answer and returns a line that says what came of it. */
  send(row: EscalationView, reply: InboxReply): Promise<string>
  leave(): void
}

/** Holds the state of the inbox and everything that changes it. It is separate from the view, so that no key is applied to an old state. */
export interface InboxStore {
  inbox(): Inbox
  onChange(listener: () => void): () => void
  press(key: InboxKey, scrollState: ScrollState): void
  show(contents: InboxContents): void
  /** The daemon does not answer. */
  lost(problem: string): void
  /** From now on keys answer the current row. */
  arm(): void
}

/** Opens the store with an empty inbox. */
export function openInboxStore({ send, leave }: InboxStoreDeps): InboxStore {
  let inbox = EMPTY_INBOX
  const listeners = new Set<() => void>()
  const set = (next: Inbox) => {
    if (next === inbox) return
    inbox = next
    for (const listener of listeners) listener()
  }
  const deliver = async (row: EscalationView, reply: InboxReply) => {
    const close = (notice: string) => set(removeAnswered(inbox, row.number, { notice, at: Date.now() }))
    try {
      close(await send(row, reply))
    } catch (error) {
      if (error instanceof RemoteError && TOO_LATE.has(error.code)) close(messageOf(error))
      else set(keepRefused(inbox, messageOf(error)))
    }
  }
  return {
    inbox: () => inbox,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    press(key, scrollState) {
      const result = pressInboxKey(inbox, key, scrollState)
      set(result.inbox)
      if (result.leave) leave()
      if (result.send) void deliver(result.send.row, result.send.reply)
    },
    show: contents => set(updateRows(inbox, contents)),
    lost: problem => set({ ...inbox, offline: `${problem}; trying again` }),
    arm: () => set({ ...inbox, armed: true }),
  }
}

/** Error codes of an answer that came too late: another person was faster, so nothing is left to decide. */
const TOO_LATE: ReadonlySet<string> = new Set(['escalation_answered', 'escalation_withdrawn', 'escalation_unknown'])
