import { hasOptionKeys } from '../live/prompts.ts'
import { widthOf } from '../render/text.ts'
import { type Inbox, rowInSight } from './inbox.ts'
import { nextPart, type Part } from './parts.ts'

/** The last line: the keys that count right now, or what is being typed. */
export function footerLine(inbox: Inbox, width: number): string {
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
function endsChoice(part: Part | undefined, { chosen }: Inbox): boolean {
  return part?.item.multiSelect === true && chosen.length > 0
}

function partKeys(part: Part, inbox: Inbox): string {
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
