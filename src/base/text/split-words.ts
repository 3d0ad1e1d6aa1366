export type Words = { words: string[] } | { problem: string }

/**
 * Splits a command line into its words as a POSIX shell would, quotes and escapes included, and expands nothing: what a shell would
 * expand, or would take for more than one command, is refused with its place, because it would not do what it seems to say.
 */
export function splitWords(line: string): Words {
  const words: string[] = []
  let word: string | undefined
  for (let at = 0; at < line.length; at += 1) {
    const sign = line.charAt(at)
    if (sign === "'" || sign === '"') {
      const quoted = sign === "'" ? singleQuoted(line, at) : doubleQuoted(line, at)
      if ('problem' in quoted) return quoted
      word = (word ?? '') + quoted.text
      at = quoted.end
    } else if (sign === '\\') {
      if (at + 1 >= line.length) return refuse('a backslash with nothing behind it', at)
      at += 1
      // A shell joins lines there.
      if (line.charAt(at) !== '\n') word = (word ?? '') + line.charAt(at)
    } else if (sign === ' ' || sign === '\t') {
      if (word !== undefined) words.push(word)
      word = undefined
    } else {
      const problem = whyNot(sign, word === undefined)
      if (problem !== undefined) return refuse(problem, at)
      word = (word ?? '') + sign
    }
  }
  if (word !== undefined) words.push(word)
  return { words }
}

type Quoted = { text: string; end: number } | { problem: string }

function singleQuoted(line: string, start: number): Quoted {
  const end = line.indexOf("'", start + 1)
  return end < 0 ? refuse('a quote that is not closed', start) : { text: line.slice(start + 1, end), end }
}

/** In double quotes a backslash keeps its meaning before four signs only. */
function doubleQuoted(line: string, start: number): Quoted {
  let text = ''
  for (let at = start + 1; at < line.length; at += 1) {
    const sign = line.charAt(at)
    if (sign === '"') return { text, end: at }
    if (sign === '$' || sign === '`') return refuse(EXPANDED, at)
    const next = line.charAt(at + 1)
    if (sign === '\\' && '"\\$`\n'.includes(next) && next !== '') {
      at += 1
      if (next !== '\n') text += next
    } else text += sign
  }
  return refuse('a quote that is not closed', start)
}

const EXPANDED = 'a shell would put something in its place, and nothing is expanded here: write it out, or quote it'

function whyNot(sign: string, isFirst: boolean): string | undefined {
  if (sign === '$' || sign === '`' || (sign === '~' && isFirst)) return EXPANDED
  if ('|&;<>()'.includes(sign)) return 'this is for one command, and a shell would take more from it: quote it'
  if (sign === '\n' || sign === '\r') return 'a second line'
  if (sign === '#' && isFirst) return 'a shell would take the rest for a comment: quote it'
  return sign < ' ' ? 'a control character' : undefined
}

function refuse(problem: string, at: number): { problem: string } {
  return { problem: `${problem} (character ${at + 1})` }
}
