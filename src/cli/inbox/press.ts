import type { EscalationView } from '../../domain/escalation.ts'
import type { Reply } from '../live/person.ts'
import { hasOptionKeys } from '../live/prompts.ts'
import { type Inbox, inSight, moved, rowInSight, skipped } from './inbox.ts'
import { nextPart, type Part, partsOf } from './parts.ts'

/** One key: its name where it has one, else what it types. */
export interface Press {
  name: 'up' | 'down' | 'pageUp' | 'pageDown' | 'return' | 'escape' | 'backspace' | 'text'
  text: string
}

/** What of the row can be seen now. */
export interface Sight {
  /** Its last line is on the screen. */
  ends: boolean
  /** Lines of it on the screen. */
  page: number
  /** How far it can be scrolled. */
  furthest: number
}

/** What a key did: the inbox as it is then, an answer to send, or the wish to leave. */
export interface Pressed {
  inbox: Inbox
  send?: { row: EscalationView; reply: Reply }
  leave?: true
}

/** What a key does. Nothing is approved whose end was not on the screen. */
export function press(inbox: Inbox, key: Press, sight: Sight): Pressed {
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

type Turn = Exclude<Press['name'], 'text'>

function turned(inbox: Inbox, name: Turn, { row, sight }: { row: EscalationView | undefined; sight: Sight }): Pressed {
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

interface Facing {
  inbox: Inbox
  row: EscalationView
  sight: Sight
}

function answeredBy(letter: string, { inbox, row, sight }: Facing): Pressed {
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

function toPart(letter: string, part: Part, { inbox, row }: Pick<Facing, 'inbox' | 'row'>): Pressed {
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

function typed(inbox: Inbox, row: EscalationView, key: Press): Pressed {
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
function said(inbox: Inbox, row: EscalationView, { part, answer }: { part: Part; answer: string | string[] }): Pressed {
  const answers = { ...inbox.answers, [part.item.question]: answer }
  const isLast = partsOf(row).every(({ question }) => answers[question] !== undefined)
  return isLast ? sent(inbox, row, { answers }) : { inbox: { ...inbox, answers, chosen: [], notice: '' } }
}

function sent(inbox: Inbox, row: EscalationView, reply: Reply): Pressed {
  return { inbox: { ...inbox, sending: true, notice: '' }, send: { row, reply } }
}

function labels({ item }: Part, chosen: readonly number[]): string[] {
  return item.options.filter((_, index) => chosen.includes(index)).map(({ label }) => label)
}
