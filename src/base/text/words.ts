/** Words that say nothing of what a text is about. */
const EMPTY = new Set(
  `a about above add after again all also an and any are as at be been before being below between both but by can could did do
   does doing done down during each every few file files first for from further get give given had has have having here how if in
   into is it its itself just last let like make makes many more most must need needs new next no nor not now of off on once one
   only or other our out over own same see set should so some such task tasks than that the their them then there these they
   this those through to too two under until up use used uses using very was way we were what when where which while who why
   will with without work works would write you your`.split(/\s+/),
)

/** The words of a text that say what it is about: lower case, each once, in their order. */
export function wordsIn(text: string): string[] {
  return allWordsIn(text).filter(word => !EMPTY.has(word) && (word.length > 2 || /[^a-z0-9]/.test(word)))
}

/** Every word of a text, lower case, each once, in their order. `cartTotal` and `cart_total` are two. */
export function allWordsIn(text: string): string[] {
  const parts = text
    .slice(0, LONGEST)
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu)
  return [...new Set(parts)]
}

/** What a text is about is said further up. */
const LONGEST = 20_000

/** A word without the endings in which it is only bent: `migrations` and `migration` are one, so are `test`, `tests` and `testing`. */
export function stemOf(word: string): string {
  const bare = word.replace(/(ies|ing|es|ed|(?<!s)s)$/, ending => (ending === 'ies' ? 'y' : ''))
  return bare.length < 3 ? word : bare.replace(/e$/, '')
}
