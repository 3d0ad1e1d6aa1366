/** What ends a line for some reader, so that no recorded text can begin a line of its own. */
const LINE_ENDS = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g
/** Control characters, marks that turn the direction of text and characters that take no room. */
const UNSEEN = /[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu

/** Text of several lines, each behind `| `; what is over the cap is said. */
export function block(text: string, max: number): string {
  const kept = cutAt(text, max)
  const lines = kept.replace(LINE_ENDS, '\n').split('\n')
  const dropped = text.length - kept.length
  const note = dropped > 0 ? [`(${dropped} more characters are left out)`] : []
  return [...lines.map(line => `| ${visible(line, '\t')}`), ...note].join('\n')
}

/** Text on one line in quotation marks, as JSON writes it; what is over the cap is said. */
export function quoted(text: string, max: number): string {
  const kept = cutAt(text, max)
  const words = visible(JSON.stringify(kept))
  return kept.length === text.length ? words : `${words} (${text.length - kept.length} more characters are left out)`
}

/** A list of one line each; of what is over the cap, the number is said. */
export function list<T>(
  items: T[],
  { max, each, newest = false }: { max: number; each: number; newest?: boolean },
  draw: (item: T) => string = item => quoted(String(item), each),
): string {
  if (items.length === 0) return '(none)'
  const shown = newest ? items.slice(-max) : items.slice(0, max)
  const dropped = items.length - shown.length
  const note = dropped > 0 ? [`(${dropped} ${newest ? 'older ones' : 'more'} are left out)`] : []
  return [...shown.map(item => `- ${draw(item)}`), ...note].join('\n')
}

/** Does not cut a character in two. */
function cutAt(text: string, max: number): string {
  if (text.length <= max) return text
  const end = /[\ud800-\udbff]/.test(text.charAt(max - 1)) ? max - 1 : max
  return text.slice(0, Math.max(0, end))
}

function visible(text: string, except = ''): string {
  return text
    .toWellFormed()
    .replace(UNSEEN, char => (char === except ? char : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`))
}
