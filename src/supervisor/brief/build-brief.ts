import { closeFence, countTokens, fenceText, firstTokens, lastTokens } from './prompt-text.ts'

/** One part of a brief, as data: whoever has something to tell an agent gives a section. */
export interface BriefSection {
  /** A word of its own, by which it is named where it was left out. */
  name: string
  title: string
  pieces: readonly BriefPiece[]
  /** Most tokens of it, whatever room there is. */
  tokens: number
  /** Tokens that whoever made it has left out already, which it says itself. */
  omitted?: number
  /** When all of them together are too long, the higher ones are given room first. */
  weight: number
}

export interface BriefPiece {
  /** Ours or a person's words; cut at the end. */
  text?: string
  /** What a program or an agent wrote: stands in a fence, and is cut in the middle. */
  verbatim?: string
}

export interface Brief {
  text: string
  /** About how many it has. */
  tokens: number
  /** What is not in it for its length, in the order of the sections. */
  dropped: DroppedSection[]
}

export interface DroppedSection {
  section: string
  /** About how many are missing. */
  tokens: number
  /** The whole section is. */
  whole: boolean
}

/** Below this a section says nothing any more. */
const LEAST = 60

/**
 * Puts sections together, in their order, within so many tokens. Each is cut to its own cap; where they are too long together
 * those of the least weight are cut or left out; what is missing is said, in the brief and beside it. Pure.
 */
export function buildBrief(sections: readonly BriefSection[], { tokens }: { tokens: number }): Brief {
  const filled = sections.filter(({ pieces }) => pieces.some(({ text, verbatim }) => text || verbatim))
  const drawn = new Map<BriefSection, Drawn>()
  let room = tokens - noteTokens(filled)
  for (const section of filled.toSorted((a, b) => b.weight - a.weight)) {
    const cap = Math.min(section.tokens, room)
    if (cap < LEAST) continue
    const one = draw(section, cap)
    drawn.set(section, one)
    room -= countTokens(one.text) + 1
  }
  const kept = filled.flatMap(section => drawn.get(section)?.text ?? [])
  const dropped = filled.flatMap(section => droppedOf(section, drawn.get(section)))
  const missing = dropped.filter(({ whole }) => whole).map(({ section }) => section)
  const text = [...kept, ...(missing.length > 0 ? [`${NOTE}${missing.join(', ')}.`] : [])].join('\n\n')
  return { text, tokens: countTokens(text), dropped }
}

const NOTE = 'Left out because this was too long: '

/** Room for the last line, if all but the first should be named in it. */
function noteTokens(sections: readonly BriefSection[]): number {
  return sections.length < 2 ? 0 : countTokens(`${NOTE}${sections.map(({ name }) => name).join(', ')}.\n\n`)
}

function droppedOf({ name, pieces, omitted = 0 }: BriefSection, drawn: Drawn | undefined): DroppedSection[] {
  const whole = () => pieces.reduce((sum, piece) => sum + sizeOf(piece), omitted)
  if (!drawn) return [{ section: name, tokens: whole(), whole: true }]
  const tokens = drawn.dropped + omitted
  return tokens > 0 ? [{ section: name, tokens, whole: false }] : []
}

interface Drawn {
  text: string
  /** Tokens that are missing. */
  dropped: number
}

/** What the line "(about … left out)" needs, with the fence of a piece and the empty lines between. */
const AROUND = 25

function draw({ title, pieces }: BriefSection, cap: number): Drawn {
  const parts = [`## ${title}`]
  let dropped = 0
  for (const [index, piece] of pieces.entries()) {
    const room = cap - countTokens(parts.join('\n\n')) - AROUND
    const whole = drawPiece(piece)
    if (countTokens(whole) <= room) {
      parts.push(whole)
      continue
    }
    const cut = room < LEAST / 2 ? undefined : cutPiece(piece, room)
    if (cut) parts.push(cut.text)
    const rest = pieces.slice(cut ? index + 1 : index).reduce((sum, each) => sum + sizeOf(each), 0)
    dropped = rest + (cut?.dropped ?? 0)
    if (rest > 0) parts.push(`(about ${rest} tokens more of this part are left out)`)
    break
  }
  return { text: parts.join('\n\n'), dropped }
}

function drawPiece({ text, verbatim }: BriefPiece): string {
  const parts = [...(text ? [closeFence(text)] : []), ...(verbatim ? [fenceText(verbatim)] : [])]
  return parts.join('\n\n')
}

/** Words are cut at their end, what was recorded in its middle: how a program began and how it ended both say something. */
function cutPiece({ text = '', verbatim = '' }: BriefPiece, room: number): Drawn | undefined {
  const forText = verbatim === '' ? room : Math.min(room, countTokens(text))
  const words = cutEnd(text, forText - AROUND / 2)
  const left = room - countTokens(words.text) - 2
  const shown = cutMiddle(verbatim, left)
  if (words.text === '' && shown.text === '') return undefined
  return { text: drawPiece({ text: words.text, verbatim: shown.text }), dropped: words.dropped + shown.dropped }
}

function cutEnd(text: string, room: number): Drawn {
  if (countTokens(text) <= room) return { text, dropped: 0 }
  const kept = firstTokens(text, room - AROUND)
  const dropped = countTokens(text) - countTokens(kept)
  return { text: `${closeFence(kept)}\n(about ${dropped} tokens more are left out)`, dropped }
}

function cutMiddle(text: string, room: number): Drawn {
  if (text === '') return { text, dropped: 0 }
  const fence = countTokens(fenceText(text)) - countTokens(text) + 1
  if (countTokens(text) + fence <= room) return { text, dropped: 0 }
  const space = room - fence - AROUND
  if (space < AROUND) return { text: '', dropped: countTokens(text) }
  const [begin, end] = [firstTokens(text, space / 2), lastTokens(text, space / 2)]
  const dropped = countTokens(text) - countTokens(begin) - countTokens(end)
  return { text: `${begin}\n… (about ${dropped} tokens are left out here) …\n${end}`, dropped }
}

function sizeOf({ text = '', verbatim = '' }: BriefPiece): number {
  return countTokens(text) + countTokens(verbatim)
}
