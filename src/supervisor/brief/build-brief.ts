import { closeFence, countTokens, fenceText, firstTokens, lastTokens } from './prompt-text.ts'

/** One section of a brief, as data. */
export interface BriefSection {
  /** A unique word that names the section where it was left out. */
  name: string
  title: string
  pieces: readonly BriefPiece[]
  /** Most tokens of the section, however much room there is. */
  tokens: number
  /** Tokens that the section has left out itself, and says so. */
  omitted?: number
  /** When all sections together are too long, those of a higher weight get room first. */
  weight: number
}

export interface BriefPiece {
  /** Our own or a person's text; cut at the end. */
  text?: string
  /** Text by a program or an agent: put into a fence, and cut in the middle. */
  verbatim?: string
}

export interface Brief {
  text: string
  /** The estimated number of tokens. */
  tokens: number
  /** What was left out for length, in the order of the sections. */
  dropped: DroppedSection[]
}

export interface DroppedSection {
  section: string
  /** The estimated number of missing tokens. */
  tokens: number
  /** The whole section is missing. */
  whole: boolean
}

/** A section that is cut to less says nothing. */
const MIN_TOKENS = 60

/**
 * Joins sections, in their order, within a number of tokens. Each is cut to its own cap; where they are too long together, those of
 * the least weight are cut or left out. The brief says what is missing, and so does the result. Pure.
 */
export function buildBrief(sections: readonly BriefSection[], { tokens }: { tokens: number }): Brief {
  const filled = sections.filter(({ pieces }) => pieces.some(({ text, verbatim }) => text || verbatim))
  const rendered = new Map<BriefSection, CutText>()
  let room = tokens - noteTokens(filled)
  for (const section of filled.toSorted((a, b) => b.weight - a.weight)) {
    const cap = Math.min(section.tokens, room)
    if (cap < MIN_TOKENS) continue
    const cut = render(section, cap)
    rendered.set(section, cut)
    room -= countTokens(cut.text) + 1
  }
  const kept = filled.flatMap(section => rendered.get(section)?.text ?? [])
  const dropped = filled.flatMap(section => describeDropped(section, rendered.get(section)))
  const missing = dropped.filter(({ whole }) => whole).map(({ section }) => section)
  const text = [...kept, ...(missing.length > 0 ? [`${OMITTED_NOTE}${missing.join(', ')}.`] : [])].join('\n\n')
  return { text, tokens: countTokens(text), dropped }
}

const OMITTED_NOTE = 'Left out because this was too long: '

/** Room for the last line, which may have to name almost all sections. */
function noteTokens(sections: readonly BriefSection[]): number {
  return sections.length < 2 ? 0 : countTokens(`${OMITTED_NOTE}${sections.map(({ name }) => name).join(', ')}.\n\n`)
}

function describeDropped({ name, pieces, omitted = 0 }: BriefSection, rendered: CutText | undefined): DroppedSection[] {
  const whole = () => pieces.reduce((sum, piece) => sum + countPiece(piece), omitted)
  if (!rendered) return [{ section: name, tokens: whole(), whole: true }]
  const tokens = rendered.dropped + omitted
  return tokens > 0 ? [{ section: name, tokens, whole: false }] : []
}

interface CutText {
  text: string
  /** The missing tokens. */
  dropped: number
}

/** Tokens for the line "(about … left out)", the fence of a piece and the empty lines between. */
const OVERHEAD = 25

function render({ title, pieces }: BriefSection, cap: number): CutText {
  const parts = [`## ${title}`]
  let dropped = 0
  for (const [index, piece] of pieces.entries()) {
    const room = cap - countTokens(parts.join('\n\n')) - OVERHEAD
    const whole = renderPiece(piece)
    if (countTokens(whole) <= room) {
      parts.push(whole)
      continue
    }
    const cut = room < MIN_TOKENS / 2 ? undefined : cutPiece(piece, room)
    if (cut) parts.push(cut.text)
    const rest = pieces.slice(cut ? index + 1 : index).reduce((sum, left) => sum + countPiece(left), 0)
    dropped = rest + (cut?.dropped ?? 0)
    if (rest > 0) parts.push(`(about ${rest} tokens more of this part are left out)`)
    break
  }
  return { text: parts.join('\n\n'), dropped }
}

function renderPiece({ text, verbatim }: BriefPiece): string {
  const parts = [...(text ? [closeFence(text)] : []), ...(verbatim ? [fenceText(verbatim)] : [])]
  return parts.join('\n\n')
}

/** Text is cut at its end, recorded output in its middle: how a program began and how it ended both matter. */
function cutPiece({ text = '', verbatim = '' }: BriefPiece, room: number): CutText | undefined {
  const textRoom = verbatim === '' ? room : Math.min(room, countTokens(text))
  const start = cutEnd(text, textRoom - OVERHEAD / 2)
  const output = cutMiddle(verbatim, room - countTokens(start.text) - 2)
  if (start.text === '' && output.text === '') return undefined
  return { text: renderPiece({ text: start.text, verbatim: output.text }), dropped: start.dropped + output.dropped }
}

function cutEnd(text: string, room: number): CutText {
  if (countTokens(text) <= room) return { text, dropped: 0 }
  const kept = firstTokens(text, room - OVERHEAD)
  const dropped = countTokens(text) - countTokens(kept)
  return { text: `${closeFence(kept)}\n(about ${dropped} tokens more are left out)`, dropped }
}

function cutMiddle(text: string, room: number): CutText {
  if (text === '') return { text, dropped: 0 }
  const fence = countTokens(fenceText(text)) - countTokens(text) + 1
  if (countTokens(text) + fence <= room) return { text, dropped: 0 }
  const space = room - fence - OVERHEAD
  if (space < OVERHEAD) return { text: '', dropped: countTokens(text) }
  const [begin, end] = [firstTokens(text, space / 2), lastTokens(text, space / 2)]
  const dropped = countTokens(text) - countTokens(begin) - countTokens(end)
  return { text: `${begin}\n… (about ${dropped} tokens are left out here) …\n${end}`, dropped }
}

function countPiece({ text = '', verbatim = '' }: BriefPiece): number {
  return countTokens(text) + countTokens(verbatim)
}
