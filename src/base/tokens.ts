/**
 * The tokens of a word. A compound (parseHttpReply2) gives the whole word without its separators, so that parse_http_reply_2 is the
 * same, and its parts; every part is reduced to its stem.
 */
interface WordTokens {
  /** The name of several parts as one token. */
  whole?: string
  parts: readonly string[]
}

/** Words whose tokens are known. Code repeats its words: whoever reads many texts passes the same map for all of them. */
export type KnownWords = Map<string, WordTokens>

/** More different words are not remembered: the map must not grow with the number of projects. */
const MOST_KNOWN = 20_000
/** A longer word is encoded data, or a line of signs. */
const LONGEST_WORD = 64

/** Words with the signs that identifiers contain, and anything outside of ASCII. */
const WORDS = /[A-Za-z0-9_$\x80-\uffff]+/g
const PARTS = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g

/**
 * Calls `take` with every token of a text, in order, or `takeWhole` with those that are whole names of several parts. The same function reads the source and
 * the queries.
 */
export function eachToken(
  text: string,
  take: (token: string) => void,
  { takeWhole = take, known = new Map() }: { takeWhole?: (token: string) => void; known?: KnownWords } = {},
): void {
  for (const word of text.match(WORDS) ?? []) {
    const { whole, parts } = tokensOf(word, known)
    if (whole !== undefined) takeWhole(whole)
    for (const token of parts) take(token)
  }
}

/** The tokens of a text with a space between them. `known` holds those of each word that was read before. */
export function joinTokens(text: string, known: Map<string, string>): string {
  const joined = (text.match(WORDS) ?? []).map(word => known.get(word) ?? joinNew(word, known))
  return joined.join(' ')
}

function joinNew(word: string, known: Map<string, string>): string {
  const { whole, parts } = splitWord(word)
  const joined = (whole === undefined ? parts : [whole, ...parts]).join(' ')
  return remember(word, joined, known)
}

/** The tokens of a path or a query, where words may also be joined by a hyphen: `git-folder` is `gitFolder`, too. */
export function tokensOfNames(text: string, known: KnownWords = new Map()): string[] {
  const tokens: string[] = []
  eachToken(text, token => tokens.push(token), { known })
  for (const [joined] of text.matchAll(/[A-Za-z0-9]+(?:-[A-Za-z0-9]+)+/g)) {
    if (joined.length <= LONGEST_WORD) tokens.push(joined.replaceAll('-', '').toLowerCase())
  }
  return tokens
}

/**
 * The words of a query that are meant as names: those that only a programmer writes so, or all if there are few. In a sentence, a common word
 * that is also the name of something ("task", "start") means the word.
 */
export function namesIn(query: string): string[] {
  const words = query.match(WORDS) ?? []
  const names =
    words.length <= FEW_WORDS ? words : words.filter(word => /[a-z][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|[A-Za-z]\d/.test(word))
  return [...new Set(names.map(wholeOf).filter(word => word.length > 1 && word.length <= LONGEST_WORD))]
}

const FEW_WORDS = 2

/** A name without separators and case. */
export function wholeOf(name: string): string {
  return name.replace(/[_$]/g, '').toLowerCase()
}

/** Words that say nothing about code. Words of programming languages are not here: how common they are, the index knows. */
const STOP_WORDS = new Set(
  `a about after again all also an and any are as at be been before being both but by can could did do does each for from had has
   have having here how i if in into is it its itself just me more most must my no nor not now of on once only or other our out over
   own same shall she should so some such than that the their them then there these they this those through to too until up us very
   was we were what when where which while who whom why will with without would you your`.split(/\s+/),
)

/** The tokens of a query, each once, without stop words unless there is nothing else. */
export function queryTokens(query: string, known: KnownWords = new Map()): string[] {
  const words = query.replace(/[A-Za-z]+/g, word => (STOP_WORDS.has(word.toLowerCase()) ? ' ' : word))
  const tokens = new Set(tokensOfNames(words, known))
  return tokens.size > 0 ? [...tokens] : [...new Set(tokensOfNames(query, known))]
}

function tokensOf(word: string, known: KnownWords): WordTokens {
  return known.get(word) ?? remember(word, splitWord(word), known)
}

function remember<T>(word: string, tokens: T, known: Map<string, T>): T {
  if (known.size >= MOST_KNOWN) known.clear()
  // A substring keeps the whole text that it was cut from in memory.
  known.set(Buffer.from(word).toString(), tokens)
  return tokens
}

function splitWord(word: string): WordTokens {
  return /^[\0-\x7f]+$/.test(word) ? splitAscii(word) : { parts: splitOther(word) }
}

function splitAscii(word: string): WordTokens {
  if (word.length > LONGEST_WORD) return { parts: [] }
  const parts = word.match(PARTS) ?? []
  if (parts.length === 0) return { parts: [] }
  const stems = parts.map(part => stem(part.toLowerCase())).filter(part => part.length > 1 || parts.length === 1)
  return parts.length > 1 ? { whole: wholeOf(word), parts: stems } : { parts: stems }
}

/** Scripts that write words without spaces between them. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}ー]+/gu

/** Letters outside of ASCII: pairs of signs where a script has no spaces, words elsewhere. */
function splitOther(run: string): string[] {
  const tokens: string[] = []
  const rest = run.normalize('NFKC').replace(UNSPACED, signs => {
    const all = [...signs]
    if (all.length === 1) tokens.push(signs)
    for (let at = 0; at + 1 < all.length; at += 1) tokens.push(`${all[at]}${all[at + 1]}`)
    return ' '
  })
  for (const word of rest.match(/[\p{L}\p{N}_$]+/gu) ?? []) {
    if (/^[\0-\x7f]+$/.test(word)) tokens.push(...splitAscii(word).parts)
    else if (word.length <= LONGEST_WORD) tokens.push(word.toLowerCase())
  }
  return tokens
}

/**
 * A word without its usual endings, so that "migrations", "migrated" and "migration" are one token. Wrong stems are harmless as long as
 * source and query get the same.
 */
export function stem(word: string): string {
  if (word.length < 4 || word.charCodeAt(0) < 58) return word
  let bare = word
  if (/ie[sd]$/.test(bare)) bare = `${bare.slice(0, -3)}y`
  else if (/(?:s|x|z|ch|sh)es$/.test(bare)) bare = bare.slice(0, -2)
  else if (/[^su]s$/.test(bare)) bare = bare.slice(0, -1)
  const cut = bare.replace(/(?:ing|ed|er|or)$/, '')
  if (cut.length >= 3 && cut !== bare && /[aeiouy]/.test(cut)) bare = cut.replace(/([^aeiouls])\1$/, '$1')
  else if (/[ts]ion$/.test(bare) && bare.length > 6) bare = bare.slice(0, -3)
  return bare.length > 3 && bare.endsWith('e') ? bare.slice(0, -1) : bare
}
