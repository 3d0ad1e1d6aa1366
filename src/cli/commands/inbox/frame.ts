import type { EscalationView } from '../../../domain/escalation.ts'
import { hasOptionKeys } from '../../live/asks.ts'
import {
  belowOf,
  contextLines,
  ESCALATION_TYPES,
  questionOf,
  sessionOf,
  wholeLines,
} from '../../render/escalation-lines.ts'
import { ago, counted } from '../../render/format.ts'
import { cut, firstLine, neutral, pad, type Terminal, widthOf, wrap } from '../../render/text.ts'
import type { ScrollState } from './keys.ts'
import { type Inbox, nextPart, type QuestionPart, rowInSight } from './state.ts'

export interface InboxViewport {
  terminal: Terminal
  /** Lines there are on the screen. */
  height: number
  now: number
}

export interface Frame {
  lines: string[]
  sight: ScrollState
}

/** The title, and the rules above and below the row. */
const AROUND = 3
/** Of the list, so that the row below it has room. */
const MOST_ROWS = 12

/** The whole screen: the list, under it the row in sight with everything a person judges by, under that the keys. */
export function inboxFrame(inbox: Inbox, { terminal, height, now }: InboxViewport): Frame {
  const { width, paint } = terminal
  const row = rowInSight(inbox)
  const calls = inbox.asking
    .slice(0, 2)
    .map(({ id, name }) => `Session ${id} (${firstLine(name)}) asks at its terminal: pcc attach ${id}`)
  const below = [
    ...calls.map(line => cut(line, width - 1)),
    ...wrap(inbox.offline || inbox.notice, width - 1)
      .slice(0, 2)
      .map(line => paint('yellow', line)),
    ...wrap(footerLine(inbox, width), width - 1),
  ]
  const room = Math.max(2, height - AROUND - below.length)
  const list = inbox.whole
    ? []
    : listLines(inbox, { terminal, now, most: Math.min(MOST_ROWS, Math.max(1, Math.floor(room / 3))) })
  const detail = row ? detailLines(inbox, row, { width: width - 1, now }) : []
  const page = Math.max(1, room - list.length)
  const furthest = Math.max(0, detail.length - page)
  const from = Math.min(inbox.scroll, furthest)
  const ends = from === furthest
  const more = ends ? '' : ` ${counted(detail.length - from - page, 'more line')}: PgDn `
  const body = detail.slice(from, from + page)
  const lines = [
    paint('bold', cut(title(inbox), width - 1)),
    ...list,
    paint('dim', '─'.repeat(width - 1)),
    ...body,
    ...Array.from({ length: page - body.length }, () => ''),
    paint(more ? 'yellow' : 'dim', cut(`─${more}${'─'.repeat(Math.max(0, width - 2 - more.length))}`, width - 1)),
    ...below,
  ]
  // On a screen that is too low the top is left out, and what of the row is left out with it was not seen.
  const isSeen = lines.length - height <= list.length + 2
  return { lines: lines.slice(-height), sight: { ends: ends && isSeen, page, furthest } }
}

function title({ rows, loaded }: Inbox): string {
  if (!loaded) return 'Inbox: looking…'
  if (rows.length === 0) return 'Inbox: nothing waits for you.'
  const refused = rows.filter(({ state }) => state === 'denied').length
  const waiting = rows.length - refused
  const parts = [
    ...(waiting > 0 ? [`${counted(waiting, 'decision')} ${waiting === 1 ? 'waits' : 'wait'} for you`] : []),
    ...(refused > 0 ? [`${refused} ${refused === 1 ? 'was' : 'were'} refused`] : []),
  ]
  return `Inbox: ${parts.join(', ')}`
}

function listLines(
  { rows, current }: Inbox,
  { terminal, now, most }: { terminal: Terminal; now: number; most: number },
): string[] {
  const at = Math.max(
    0,
    rows.findIndex(({ number }) => number === current),
  )
  const first = Math.min(Math.max(0, at - Math.floor(most / 2)), Math.max(0, rows.length - most))
  const shown = rows.slice(first, first + most)
  const session = Math.max(10, ...shown.map(row => widthOf(sessionOf(row))))
  return shown.map(row => {
    const head = `${String(row.number).padStart(4)}  ${pad(ESCALATION_TYPES[row.kind], 6)}  ${pad(sessionOf(row), session)}  `
    const when = ago(now - row.created_at)
    const room = Math.max(8, terminal.width - head.length - when.length - 5)
    const text = `${head}${pad(cut(firstLine(questionOf(row)), room), room)}  ${when}`
    return row.number === current
      ? terminal.paint('bold', cut(`›${text}`, terminal.width - 1))
      : cut(` ${text}`, terminal.width - 1)
  })
}

function detailLines(
  { gone, answers }: Inbox,
  row: EscalationView,
  { width, now }: { width: number; now: number },
): string[] {
  return [
    ...(gone ? ['It was settled elsewhere; nothing is left to decide here.', ''] : []),
    ...wrap(`Decision ${row.number} of session ${sessionOf(row)} in ${neutral(row.project)}`, width),
    ...wholeLines(row, width),
    ...(row.kind === 'permission' || row.kind === 'review' ? wrap(belowOf(row), width) : []),
    ...contextLines(row, { width, now }),
    ...Object.entries(answers).flatMap(([question, said]) =>
      wrap(`  ${firstLine(question)} > ${firstLine([said].flat().join(', '))}`, width),
    ),
  ]
}

/** The last line: the keys that count right now, or what is being typed. */
function footerLine(inbox: Inbox, width: number): string {
  const row = rowInSight(inbox)
  if (inbox.sending) return 'Sending…'
  if (inbox.draft) return typing(inbox.draft.what === 'reason' ? 'Why not? > ' : '> ', inbox.draft.text, width)
  if (!row) return '[Q]uit'
  if (inbox.gone) return '[Enter] Go on  [Q]uit'
  // Keys that do not count yet are not shown.
  if (!inbox.armed) return '…'
  const part = nextPart(row, inbox)
  const turns = inbox.whole ? ['[Esc] List'] : endsChoice(part, inbox) ? [] : ['[Enter] Whole']
  const rest = ['[S]kip', ...turns, '[Q]uit'].join('  ')
  if (part) return `${partKeys(part, inbox)}  [D]ecline  ${rest}${chosenWords(inbox)}`
  if (row.kind === 'question') return `[D]ecline  ${rest}`
  if (row.kind === 'error') return `[A] Try again  [D] Leave it  [T]ype why not  ${rest}`
  return `[A]pprove  [D]eny  [T]ype why not  ${rest}`
}

/** Something is marked of what may be chosen: then Enter is the end of it. */
function endsChoice(part: QuestionPart | undefined, { chosen }: Inbox): boolean {
  return part?.item.multiSelect === true && chosen.length > 0
}

function partKeys(part: QuestionPart, inbox: Inbox): string {
  const { item, index, of, suggested } = part
  const { options, multiSelect } = item
  const range = options.length === 1 ? '[1]' : `[1-${options.length}]`
  return [
    ...(of > 1 ? [`(${index + 1} of ${of})`] : []),
    ...(suggested === undefined ? [] : ['[A]ccept brain']),
    ...(hasOptionKeys(item) ? [`${range} ${multiSelect ? 'Toggle' : 'Select'}`] : []),
    ...(endsChoice(part, inbox) ? ['[Enter] Done'] : []),
    options.length > 0 && !hasOptionKeys(item) ? `[T]ype ${range} or custom` : '[T]ype custom',
  ].join('  ')
}

function chosenWords({ chosen }: Inbox): string {
  return chosen.length === 0 ? '' : `  > ${chosen.map(index => index + 1).join(',')}`
}

/** The end of a text is where one types: a long one loses its beginning. */
function typing(label: string, text: string, width: number): string {
  const room = Math.max(8, width - label.length - 2)
  let shown = text.length > room * 2 ? text.slice(-room * 2) : text
  while (widthOf(shown) > room) shown = Array.from(shown).slice(1).join('')
  return `${label}${shown === text ? '' : '…'}${shown}_`
}
