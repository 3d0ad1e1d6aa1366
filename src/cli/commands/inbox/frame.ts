import { neutral } from '../../../base/neutral.ts'
import { isCutInput } from '../../../domain/shown-request.ts'
import { hasOptionKeys } from '../../live/asks.ts'
import {
  belowOf,
  contextLines,
  isDecision,
  NARROW,
  questionOf,
  type ShownEscalation,
  sessionOf,
  typeOf,
  wholeLines,
} from '../../render/escalation-lines.ts'
import { ago, counted } from '../../render/format.ts'
import { cut, firstLine, pad, type Terminal, widthOf, wrap } from '../../render/text.ts'
import type { ScrollState } from './keys.ts'
import { currentRow, type Inbox, nextPart, type QuestionPart } from './state.ts'

export interface InboxViewport {
  terminal: Terminal
  /** How many lines the screen has. */
  height: number
  now: number
}

export interface Frame {
  lines: string[]
  scrollState: ScrollState
}

/** The title, and the rules above and below the row's details. */
const FIXED_LINES = 3
/** The most rows of the list, so that the details below have room. */
const MAX_ROWS = 12

/** Draws the whole screen: the list, below it everything a person needs to judge the current row, below that the keys. */
export function inboxFrame(inbox: Inbox, { terminal, height, now }: InboxViewport): Frame {
  const { width, paint } = terminal
  const row = currentRow(inbox)
  const bottom = [
    ...wrap(inbox.offline || inbox.notice, width - 1)
      .slice(0, Math.max(2, Math.floor(height / 5)))
      .map(line => paint('yellow', line)),
    ...wrap(footerLine(inbox, width), width - 1),
  ]
  const room = Math.max(2, height - FIXED_LINES - bottom.length)
  const list = inbox.fullScreen
    ? []
    : listLines(inbox, { terminal, now, maxRows: Math.min(MAX_ROWS, Math.max(1, Math.floor(room / 3))) })
  const detail = row ? detailLines(inbox, row, { width: width - 1, now }) : []
  const page = Math.max(1, room - list.length)
  const furthest = Math.max(0, detail.length - page)
  const from = Math.min(inbox.scroll, furthest)
  const isAtEnd = from === furthest
  const more = isAtEnd ? '' : ` ${counted(detail.length - from - page, 'more line')}: PgDn `
  const body = detail.slice(from, from + page)
  const lines = [
    paint('bold', cut(titleLine(inbox), width - 1)),
    ...list,
    paint('dim', '─'.repeat(width - 1)),
    ...body,
    ...Array.from({ length: page - body.length }, () => ''),
    paint(more ? 'yellow' : 'dim', cut(`─${more}${'─'.repeat(Math.max(0, width - 2 - more.length))}`, width - 1)),
    ...bottom,
  ]
  // A screen that is too low loses the top lines; details that are cut off there were not seen.
  const isSeen = lines.length - height <= list.length + 2
  return { lines: lines.slice(-height), scrollState: { isAtEnd: isAtEnd && isSeen, page, furthest } }
}

function titleLine({ rows, loaded }: Inbox): string {
  if (!loaded) return 'Inbox: loading…'
  if (rows.length === 0) return 'Inbox: nothing waits for you.'
  const refused = rows.filter(({ isRefused }) => isRefused).length
  const waiting = rows.length - refused
  const parts = [
    ...(waiting > 0 ? [`${counted(waiting, 'thing')} ${waiting === 1 ? 'waits' : 'wait'} for you`] : []),
    ...(refused > 0 ? [`${refused} ${refused === 1 ? 'was' : 'were'} refused`] : []),
  ]
  return `Inbox: ${parts.join(', ')}`
}

function listLines(
  { rows, current }: Inbox,
  { terminal, now, maxRows }: { terminal: Terminal; now: number; maxRows: number },
): string[] {
  const index = Math.max(
    0,
    rows.findIndex(({ number }) => number === current),
  )
  const first = Math.min(Math.max(0, index - Math.floor(maxRows / 2)), Math.max(0, rows.length - maxRows))
  const shown = rows.slice(first, first + maxRows)
  const sessionWidth = Math.max(10, ...shown.map(row => widthOf(sessionOf(row))))
  return shown.map(row => {
    const number = isDecision(row) ? String(row.number) : '–'
    const isNarrow = terminal.width < NARROW
    const about = isNarrow ? '' : `${pad(typeOf(row), 7)}  ${pad(sessionOf(row), sessionWidth)}  `
    const head = `${number.padStart(4)}  ${about}`
    const when = isNarrow ? '' : ago(now - row.created_at)
    const room = Math.max(8, terminal.width - head.length - when.length - 5)
    const text = `${head}${pad(cut(firstLine(questionOf(row)), room), room)}  ${when}`
    return row.number === current
      ? terminal.paint('bold', cut(`›${text}`, terminal.width - 1))
      : cut(` ${text}`, terminal.width - 1)
  })
}

function detailLines(
  { gone, answers }: Inbox,
  row: ShownEscalation,
  { width, now }: { width: number; now: number },
): string[] {
  return [
    ...(gone ? ['It was settled elsewhere; nothing is left to decide here.', ''] : []),
    ...(isDecision(row)
      ? wrap(`Decision ${row.number} of session ${sessionOf(row)} in ${neutral(row.project)}`, width)
      : row.project === ''
        ? []
        : wrap(neutral(row.project), width)),
    ...wholeLines(row, width),
    ...(isDecision(row) ? [] : wrap(neutral(belowOf(row)), width)),
    ...(row.kind === 'permission' || row.kind === 'review' ? wrap(belowOf(row), width) : []),
    ...contextLines(row, { width, now }),
    ...Object.entries(answers).flatMap(([question, answer]) =>
      wrap(`  ${firstLine(question)} > ${firstLine([answer].flat().join(', '))}`, width),
    ),
  ]
}

/** The last line: the keys that are active now, or the text that is being typed. */
function footerLine(inbox: Inbox, width: number): string {
  const row = currentRow(inbox)
  if (inbox.sending) return 'Sending…'
  if (inbox.draft) return draftLine(inbox.draft.what === 'reason' ? 'Why not? > ' : '> ', inbox.draft.text, width)
  if (!row) return '[Q]uit'
  if (inbox.gone) return '[Enter] Go on  [Q]uit'
  // Keys that are not active yet are not shown.
  if (!inbox.armed) return '…'
  if (inbox.asksAgain) return 'Allow exactly this once and do the task again?  [Y]es  [N]o, only note it  [Esc] Back'
  const part = nextPart(row, inbox)
  const viewKeys = inbox.fullScreen ? ['[Esc] List'] : canFinishChoice(part, inbox) ? [] : ['[Enter] Whole']
  const rest = ['[S]kip', ...viewKeys, '[Q]uit'].join('  ')
  if (part) return `${partKeys(part, inbox)}  [D]ecline  ${rest}${chosenText(inbox)}`
  if (!isDecision(row)) return rest
  if (row.kind === 'question') return `[D]ecline  ${rest}`
  if (row.kind === 'error') return `[A] Try again  [D] Leave it  [T]ype why not  ${rest}`
  return `${isCutInput(row.input) || row.kind === 'review' ? '' : '[A]pprove  '}[D]eny  [T]ype why not  ${rest}`
}

/** Whether options are marked, so that Enter finishes the choice. */
function canFinishChoice(part: QuestionPart | undefined, { chosen }: Inbox): boolean {
  return part?.item.multiSelect === true && chosen.length > 0
}

function partKeys(part: QuestionPart, inbox: Inbox): string {
  const { item, index, count, suggested } = part
  const { options, multiSelect } = item
  const range = options.length === 1 ? '[1]' : `[1-${options.length}]`
  return [
    ...(count > 1 ? [`(${index + 1} of ${count})`] : []),
    ...(suggested === undefined ? [] : ['[A]ccept brain']),
    ...(hasOptionKeys(item) ? [`${range} ${multiSelect ? 'Toggle' : 'Select'}`] : []),
    ...(canFinishChoice(part, inbox) ? ['[Enter] Done'] : []),
    options.length > 0 && !hasOptionKeys(item) ? `[T]ype ${range} or custom` : '[T]ype custom',
  ].join('  ')
}

function chosenText({ chosen }: Inbox): string {
  return chosen.length === 0 ? '' : `  > ${chosen.map(index => index + 1).join(',')}`
}

/** The person types at the end of the text, so a long text loses its beginning. */
function draftLine(label: string, text: string, width: number): string {
  const room = Math.max(8, width - label.length - 2)
  let shown = text.length > room * 2 ? text.slice(-room * 2) : text
  while (widthOf(shown) > room) shown = Array.from(shown).slice(1).join('')
  return `${label}${shown === text ? '' : '…'}${shown}_`
}
