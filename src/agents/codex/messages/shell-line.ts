/** Shells whose `-c` takes a script that is the command. */
const SHELL = /^(?:\/(?:usr\/)?bin\/)?(?:ba|z|da|k)?sh$/

/**
 * The script that a command line hands to a shell: Codex tells `/bin/bash -lc 'cat x'`, its words quoted. What is not of this form is the
 * command itself, judged as it stands.
 */
export function scriptOf(line: string): string {
  const words = wordsOf(line)
  const [shell = '', flag = '', script] = words ?? []
  const isScript = words?.length === 3 && SHELL.test(shell) && /^-l?c$/.test(flag)
  return isScript && script !== undefined ? script : line
}

/** The words of a line whose quotes are those of a shell; undefined where they do not close. */
function wordsOf(line: string): string[] | undefined {
  const words: string[] = []
  let word: string | undefined
  for (let at = 0; at < line.length; ) {
    const char = line.charAt(at)
    if (/\s/.test(char)) {
      if (word !== undefined) words.push(word)
      word = undefined
      at++
      continue
    }
    const part = char === "'" ? single(line, at) : char === '"' ? double(line, at) : bare(line, at)
    if (!part) return undefined
    word = (word ?? '') + part.text
    at = part.end
  }
  return word === undefined ? words : [...words, word]
}

interface Part {
  text: string
  end: number
}

function single(line: string, start: number): Part | undefined {
  const end = line.indexOf("'", start + 1)
  return end === -1 ? undefined : { text: line.slice(start + 1, end), end: end + 1 }
}

function double(line: string, start: number): Part | undefined {
  let text = ''
  for (let at = start + 1; at < line.length; at++) {
    const char = line.charAt(at)
    if (char === '"') return { text, end: at + 1 }
    const next = line.charAt(at + 1)
    if (char === '\\' && '$`"\\'.includes(next) && next !== '') {
      text += next
      at++
    } else text += char
  }
  return undefined
}

function bare(line: string, start: number): Part | undefined {
  if (line.charAt(start) !== '\\') return { text: line.charAt(start), end: start + 1 }
  return start + 1 < line.length ? { text: line.charAt(start + 1), end: start + 2 } : undefined
}
