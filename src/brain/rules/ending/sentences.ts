/** A sentence of the agent's own prose: no code, no quotation, no heading, no table. */
export interface Sentence {
  /** With ⟨code⟩, ⟨quote⟩ and ⟨link⟩ in the place of what is not its own. */
  text: string
  /** As it was written. */
  original: string
  /** It is an item of a list. */
  item: boolean
  /** Number of its paragraph, from the top. */
  paragraph: number
}

/**
 * The agent's own words at the end of its turn, in order. What it quotes ("Should I proceed?" as the title of a dialog), what
 * stands in code, tables, headings and quotations is somebody else's, and can ask nothing.
 */
export function lastSentences(text: string): Sentence[] {
  const kept: string[] = []
  const put = (kind: string) => (found: string) => `⟨${kind}#${kept.push(found) - 1}⟩`
  const own = text
    .slice(-LONGEST)
    .replace(/\r\n?/g, '\n')
    .replace(/(```|~~~)[\s\S]*?(?:\1|$)/g, '\n\n')
    .replace(/`[^`\n]*`/g, put('code'))
    .replace(/https?:\/\/\S+/g, put('link'))
    .replace(/[“"„«][^"”“»\n]{0,300}["”“»]/g, put('quote'))
    .replace(/(?<![\p{L}\p{N}])'[^'\n]{2,200}'(?![\p{L}\p{N}])/gu, put('quote'))
    .replace(/(\*\*|__|\*(?=\S)|(?<=\S)\*)/g, '')
  const restored = (part: string): string =>
    part.replace(MARK, (_, _kind, index) => restored(kept[Number(index)] ?? ''))
  return own
    .split(/\n\s*\n/)
    .flatMap((paragraph, index) => sentencesOf(paragraph, index))
    .map(sentence => ({ ...sentence, text: sentence.text.replace(MARK, '⟨$1⟩'), original: restored(sentence.text) }))
}

const MARK = /⟨(code|link|quote)#(\d+)⟩/g

/** More than a report's end has; a turn may be a book. */
const LONGEST = 6_000

function sentencesOf(paragraph: string, index: number): Omit<Sentence, 'original'>[] {
  return joinedLines(paragraph).flatMap(line => {
    if (/^\s*(?:>|#{1,6}\s|\||\/\/|⟨code#\d+⟩\s*$)|^(?: {4}|\t)(?!\s*(?:[-*+•]|\d+[.)]))/.test(line)) return []
    const item = ITEM.test(line)
    const bare = line.replace(ITEM, '').trim()
    return split(bare).map(text => ({ text, item, paragraph: index }))
  })
}

const ITEM = /^\s*(?:[-*+•]|\(?(?:\d{1,2}|[a-hA-H])[.)])\s+(?:\[[ xX]\]\s+)?/

/** Lines that were only wrapped belong together; items, headings, tables and quotations begin a line of their own. */
function joinedLines(paragraph: string): string[] {
  const lines: string[] = []
  for (const line of paragraph.split('\n')) {
    const last = lines.at(-1)
    const begins =
      last === undefined ||
      ITEM.test(line) ||
      /^\s*(?:>|#|\||\/\/)|^(?: {4}|\t)/.test(line) ||
      /[:.!?。！？]\s*$/.test(last)
    if (begins || /^\s*(?:>|#|\|)/.test(last)) lines.push(line)
    else lines[lines.length - 1] = `${last} ${line.trim()}`
  }
  return lines
}

function split(line: string): string[] {
  return line
    .split(/(?<=[.!?…]["')\]]?)\s+(?=[^a-zß-ÿ]|i\b)|(?<=[。！？])/u)
    .map(sentence => sentence.trim())
    .filter(sentence => /[\p{L}\p{N}]/u.test(sentence))
}
