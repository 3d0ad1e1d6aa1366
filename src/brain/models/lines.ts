/** Whatever a model may take for the end of a line. */
const BREAK = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/g

/** A text that stands behind a word of ours, on one line. */
export function oneLine(text: string): string {
  return text.replace(BREAK, ' ').replace(/\s+/g, ' ').trim()
}

/** A text of several lines behind a word of ours: the others are marked, so that none passes for a line of ours. */
export function marked(text: string): string {
  return text.replace(BREAK, '\n| ')
}
