import { messageOf } from '../../../base/errors.ts'
import type { EscalationView } from '../../../domain/escalation.ts'
import { RemoteError } from '../../errors.ts'
import { type AskReply, hasOptionKeys } from '../../live/asks.ts'
import {
  answered,
  EMPTY_INBOX,
  type Inbox,
  type InboxContents,
  inSight,
  moved,
  nextPart,
  partsOf,
  type QuestionPart,
  refused,
  rowInSight,
  skipped,
  withRows,
} from './state.ts'

/** One key: its name where it has one, else what it types. */
export interface InboxKey {
  name: 'up' | 'down' | 'pageUp' | 'pageDown' | 'return' | 'escape' | 'backspace' | 'text'
  text: string
}

/** What of the row can be seen now. */
export interface ScrollState {
  /** Its last line is on the screen. */
  ends: boolean
  /** Lines of it on the screen. */
  page: number
  /** How far it can be scrolled. */
  furthest: number
}

/** What a key did: the inbox as it is then, an answer to send, or the wish to leave. */
export interface InboxKeyResult {
  inbox: Inbox
  send?: { row: EscalationView; reply: AskReply }
  leave?: true
}

/** What a key does. Nothing is approved whose end was not on the screen. */
export function pressInboxKey(inbox: Inbox, key: InboxKey, sight: ScrollState): InboxKeyResult {
  if (inbox.sending) return { inbox }
  const row = rowInSight(inbox)
  if (inbox.draft && row) return typed(inbox, row, key)
  if (key.text.toLowerCase() === 'q') return { inbox, leave: true }
  if (inbox.gone) return { inbox: key.name === 'text' ? inbox : afterGone(inbox) }
  if (key.name !== 'text') return turned(inbox, key.name, { row, sight })
  if (!row || !inbox.armed) return { inbox }
  return answeredBy(key.text.toLowerCase(), { inbox, row, sight })
}

function afterGone(inbox: Inbox): Inbox {
  return inSight({ ...inbox, notice: '' }, inbox.rows[0]?.number, true)
}

type Turn = Exclude<InboxKey['name'], 'text'>

function turned(
  inbox: Inbox,
  name: Turn,
  { row, sight }: { row: EscalationView | undefined; sight: ScrollState },
): InboxKeyResult {
  const scrolled = (by: number) => ({
    inbox: { ...inbox, scroll: Math.max(0, Math.min(sight.furthest, inbox.scroll + by)) },
  })
  switch (name) {
    case 'up':
      return inbox.whole ? scrolled(-1) : { inbox: moved(inbox, -1) }
    case 'down':
      return inbox.whole ? scrolled(1) : { inbox: moved(inbox, 1) }
    case 'pageUp':
      return scrolled(-sight.page)
    case 'pageDown':
      return scrolled(sight.page)
    case 'return': {
      const part = row && nextPart(row, inbox)
      if (row && part?.item.multiSelect && inbox.chosen.length > 0 && inbox.armed) {
        return said(inbox, row, { part, answer: labels(part, inbox.chosen) })
      }
      return { inbox: row ? { ...inbox, whole: !inbox.whole, scroll: 0 } : inbox }
    }
    case 'escape':
    case 'backspace':
      return { inbox: { ...inbox, whole: false, scroll: 0, chosen: [], notice: '' } }
  }
}

interface KeyContext {
  inbox: Inbox
  row: EscalationView
  sight: ScrollState
}

function answeredBy(letter: string, { inbox, row, sight }: KeyContext): InboxKeyResult {
  if (letter === 's') return { inbox: skipped(inbox) }
  if (letter === 'd') return sent(inbox, row, { verdict: 'deny' })
  const part = nextPart(row, inbox)
  if (row.kind === 'question') return part ? toPart(letter, part, { inbox, row }) : { inbox }
  if (letter === 't') return { inbox: { ...inbox, draft: { what: 'reason', text: '' }, notice: '' } }
  if (letter !== 'a') return { inbox }
  if (!sight.ends)
    return { inbox: { ...inbox, notice: 'Read it to its end first: PgDn, or Enter for the whole screen' } }
  return sent(inbox, row, { verdict: 'allow' })
}

function toPart(letter: string, part: QuestionPart, { inbox, row }: Pick<KeyContext, 'inbox' | 'row'>): InboxKeyResult {
  if (letter === 't') return { inbox: { ...inbox, draft: { what: 'answer', text: '' }, notice: '' } }
  if (letter === 'a') {
    return part.suggested === undefined ? { inbox } : said(inbox, row, { part, answer: part.suggested })
  }
  const index = /^[1-9]$/.test(letter) && hasOptionKeys(part.item) ? Number(letter) - 1 : -1
  const option = part.item.options[index]
  if (!option) return { inbox }
  if (!part.item.multiSelect) return said(inbox, row, { part, answer: option.label })
  const { chosen } = inbox
  const toggled = chosen.includes(index)
    ? chosen.filter(one => one !== index)
    : [...chosen, index].sort((a, b) => a - b)
  return { inbox: { ...inbox, chosen: toggled } }
}

/** Longer answers are refused by the daemon; nobody types that much by hand. */
const LONGEST = 65_536

function typed(inbox: Inbox, row: EscalationView, key: InboxKey): InboxKeyResult {
  const { what, text } = inbox.draft ?? { what: 'answer', text: '' }
  if (key.name === 'escape') return { inbox: { ...inbox, draft: undefined } }
  if (key.name === 'backspace') {
    return { inbox: { ...inbox, draft: { what, text: Array.from(text).slice(0, -1).join('') } } }
  }
  if (key.name === 'text') return { inbox: { ...inbox, draft: { what, text: (text + key.text).slice(0, LONGEST) } } }
  if (key.name !== 'return') return { inbox }
  const words = text.trim()
  const closed = { ...inbox, draft: undefined }
  if (words === '') return { inbox: closed }
  if (what === 'reason') return sent(closed, row, { verdict: 'deny', reason: words })
  const part = nextPart(row, inbox)
  if (!part) return { inbox: closed }
  const { options, multiSelect } = part.item
  if (!hasOptionKeys(part.item)) return said(closed, row, { part, answer: options[Number(words) - 1]?.label ?? words })
  return said(closed, row, { part, answer: multiSelect ? [...labels(part, inbox.chosen), words] : words })
}

/** An answer to one part: the next is asked, or all of them are sent. */
function said(
  inbox: Inbox,
  row: EscalationView,
  { part, answer }: { part: QuestionPart; answer: string | string[] },
): InboxKeyResult {
  const answers = { ...inbox.answers, [part.item.question]: answer }
  const isLast = partsOf(row).every(({ question }) => answers[question] !== undefined)
  return isLast ? sent(inbox, row, { answers }) : { inbox: { ...inbox, answers, chosen: [], notice: '' } }
}

function sent(inbox: Inbox, row: EscalationView, reply: AskReply): InboxKeyResult {
  return { inbox: { ...inbox, sending: true, notice: '' }, send: { row, reply } }
}

function labels({ item }: QuestionPart, chosen: readonly number[]): string[] {
  return item.options.filter((_, index) => chosen.includes(index)).map(({ label }) => label)
}

export interface InboxStoreDeps {
  /** Delivers an answer and says in a line what became of it. */
  send(row: EscalationView, reply: AskReply): Promise<string>
  leave(): void
}

/** The inbox as it is, and everything that changes it. It stands outside of what draws it, so that no key meets an old state. */
export interface InboxStore {
  inbox(): Inbox
  onChange(listener: () => void): () => void
  press(key: InboxKey, sight: ScrollState): void
  show(now: InboxContents): void
  /** The daemon does not answer. */
  lost(problem: string): void
  /** From now on keys answer what is in sight. */
  arm(): void
}

/** A desk with nothing on it yet. */
export function openInboxStore({ send, leave }: InboxStoreDeps): InboxStore {
  let inbox = EMPTY_INBOX
  const listeners = new Set<() => void>()
  const set = (next: Inbox) => {
    if (next === inbox) return
    inbox = next
    for (const listener of listeners) listener()
  }
  const deliver = async (row: EscalationView, reply: AskReply) => {
    const close = (notice: string) => set(answered(inbox, row.number, { notice, at: Date.now() }))
    try {
      close(await send(row, reply))
    } catch (error) {
      if (error instanceof RemoteError && LATE.has(error.code)) close(messageOf(error))
      else set(refused(inbox, messageOf(error)))
    }
  }
  return {
    inbox: () => inbox,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    press(key, sight) {
      const pressed = pressInboxKey(inbox, key, sight)
      set(pressed.inbox)
      if (pressed.leave) leave()
      if (pressed.send) void deliver(pressed.send.row, pressed.send.reply)
    },
    show: now => set(withRows(inbox, now)),
    lost: problem => set({ ...inbox, offline: `${problem}; trying again` }),
    arm: () => set({ ...inbox, armed: true }),
  }
}

/** Of two people who answer at once one is late: it is told, and there is nothing left to decide. */
const LATE: ReadonlySet<string> = new Set(['escalation_answered', 'escalation_withdrawn', 'escalation_unknown'])
