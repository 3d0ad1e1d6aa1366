/**
 * Whether a text matches a shell pattern with `*`, `?` and `[…]`. This is written by hand and does not use a regular expression,
 * because the pattern comes from the command, and one like `*a*a*a*a` would keep an expression busy for years.
 */
export function matchesWildcard(pattern: string, text: string): boolean {
  let [at, from, star, mark] = [0, 0, -1, 0]
  while (from < text.length) {
    const width = stepWidth(pattern, at, text[from] ?? '')
    if (pattern[at] === '*') {
      star = at++
      mark = from
    } else if (width > 0) {
      at += width
      from++
    } else if (star >= 0) {
      at = star + 1
      from = ++mark
    } else return false
  }
  while (pattern[at] === '*') at++
  return at >= pattern.length
}

/** How many characters of the pattern match this one letter; 0 if they do not match it. */
function stepWidth(pattern: string, at: number, letter: string): number {
  const sign = pattern[at]
  if (sign === '?') return 1
  if (sign === '[') {
    const end = pattern.indexOf(']', at + 2)
    if (end < 0) return letter === '[' ? 1 : 0
    return matchesClass(pattern.slice(at + 1, end), letter) ? end - at + 1 : 0
  }
  return sign === letter && sign !== '*' ? 1 : 0
}

function matchesClass(content: string, letter: string): boolean {
  const negated = content.startsWith('!') || content.startsWith('^')
  const letters = negated ? content.slice(1) : content
  let found = false
  for (let index = 0; index < letters.length; index++) {
    const low = letters[index] ?? ''
    const ranged = letters[index + 1] === '-' && index + 2 < letters.length
    const high = ranged ? (letters[index + 2] ?? '') : low
    if (letter >= low && letter <= high) found = true
    if (ranged) index += 2
  }
  return found !== negated
}

/**
 * One spelling for all names that a file system may treat as the same: they differ only in case, compatibility forms, characters
 * that some systems ignore, and trailing dots and spaces.
 */
export function foldName(name: string): string {
  const lower = name.toLowerCase()
  const plain = ASCII.test(lower) ? lower : fold(lower)
  return plain.endsWith('.') || plain.endsWith(' ') ? plain.replace(/[. ]+$/, '') || plain : plain
}

const ASCII = /^[\x20-\x7e]*$/

function fold(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
}
