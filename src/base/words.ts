/** Words that say nothing about the subject of a text. */
const STOP_WORDS = new Set(
  `a about above add after again all also an and any are as at be been before being below between both but by can could did do
   does doing done down during each every few file files first for from further get give given had has have having here how if in
   into is it its itself just last let like make makes many more most must need needs new next no nor not now of off on once one
   only or other our out over own same see set should so some such task tasks than that the their them then there these they
   this those through to too two under until up use used uses using very was way we were what when where which while who why
   will with without work works would write you your`.split(/\s+/),
)

/** The words that say what a text is about: lower case, each once, in their order. */
export function wordsIn(text: string): string[] {
  return allWordsIn(text).filter(word => !STOP_WORDS.has(word) && (word.length > 2 || /[^a-z0-9]/.test(word)))
}

/** Every word of a text, lower case, each once, in their order. `cartTotal` and `cart_total` are two words each. */
export function allWordsIn(text: string): string[] {
  const parts = text
    .slice(0, MAX_LENGTH)
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu)
  return [...new Set(parts)]
}

/** A text says what it is about near its beginning. */
const MAX_LENGTH = 20_000

/** A word without its inflection: `migrations` and `migration` have the same stem, and so have `test`, `tests` and `testing`. */
export function stemOf(word: string): string {
  const bare = word.replace(/(ies|ing|es|ed|(?<!s)s)$/, ending => (ending === 'ies' ? 'y' : ''))
  return bare.length < 3 ? word : bare.replace(/e$/, '')
}

/** What a mistyped word probably means: the meaning of the nearest form, if one is near enough. */
export function findNearestWord(name: string, forms: { form: string; means: string }[]): string | undefined {
  const typed = name.toLowerCase().replaceAll('-', '_')
  const best = forms
    .map(({ form, means }) => ({ means, distance: editDistance(typed, form) / Math.max(typed.length, form.length) }))
    .sort((a, b) => a.distance - b.distance)[0]
  // A third of the letters wrong is still a typing mistake; more is another word.
  return best && best.distance <= 0.34 ? best.means : undefined
}

/** Counts letters that are missing, added, changed or swapped with their neighbour. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    const swapped = (j: number) =>
      i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
        ? (before[j - 2] ?? 0) + 1
        : Number.POSITIVE_INFINITY
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, swapped(j)))
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}

export type SplitWords = { words: string[] } | { problem: string }

/**
 * Splits a command line into words as a POSIX shell would, quotes and escapes included, but expands nothing. A line that a
 * shell would expand, or read as more than one command, is refused with the position, because it would not do what it seems to say.
 */
export function splitWords(line: string): SplitWords {
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
      // A shell joins the two lines.
      if (line.charAt(at) !== '\n') word = (word ?? '') + line.charAt(at)
    } else if (sign === ' ' || sign === '\t') {
      if (word !== undefined) words.push(word)
      word = undefined
    } else {
      const problem = findProblem(sign, word === undefined)
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

/** In double quotes a backslash escapes only `"`, `\`, `$`, a backtick and a line break. */
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

const EXPANDED = 'a shell would expand this, and nothing is expanded here: write it out, or quote it'

function findProblem(sign: string, isFirst: boolean): string | undefined {
  if (sign === '$' || sign === '`' || (sign === '~' && isFirst)) return EXPANDED
  if ('|&;<>()'.includes(sign)) return 'only a single plain command is possible here: quote it'
  if (sign === '\n' || sign === '\r') return 'a second line'
  if (sign === '#' && isFirst) return 'a shell would take the rest for a comment: quote it'
  return sign < ' ' ? 'a control character' : undefined
}

function refuse(problem: string, at: number): { problem: string } {
  return { problem: `${problem} (character ${at + 1})` }
}

/** A word quoted for a shell, so that a path with a space stays one word. */
export function quoteForShell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** Parses a priority: a whole number of at most six digits; `undefined` when it is not one. */
export function parsePriority(text: string): number | undefined {
  return /^[+-]?\d{1,6}$/.test(text) ? Number(text) : undefined
}

/** Parses a number from 0 to 1; `undefined` when it is not one. */
export function parseShare(text: string): number | undefined {
  return /^(0(\.\d+)?|1(\.0+)?|\.\d+)$/.test(text) ? Number(text) : undefined
}

/** A sentence as it goes on after a colon. */
export function lowerFirst(text: string): string {
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`
}
