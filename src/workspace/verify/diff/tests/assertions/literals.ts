/** Numbers, quoted texts, patterns and fixed words in a piece of code without comments. */
export function literalsIn(bare: string): string[] {
  const found: string[] = []
  for (const [whole] of bare.matchAll(LITERAL)) found.push(unquoted(whole))
  return found
}

const LITERAL =
  /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|(?<![\w.$])-?\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w$])|\b(?:true|false|null|undefined|None|True|False|nil|NaN)\b/g

/** `'a'` and `"a"` are the same text. */
function unquoted(literal: string): string {
  if (/^["'`]/.test(literal)) return `"${literal.slice(1, -1)}"`
  return /^-?\d/.test(literal) ? literal.replaceAll('_', '') : literal.toLowerCase()
}

/** Names in masked code, but for those that every test has. */
export function wordsIn(code: string): string[] {
  return [...code.matchAll(/[A-Za-z_$][\w$]*/g)].map(([word]) => word).filter(word => !COMMON.has(word))
}

const COMMON = new Set(
  'expect assert self t tc ctx require await async not toBe toEqual toStrictEqual toMatchObject toContain toMatch toThrow toBeTruthy toBeFalsy toBeDefined toBeNull toBeUndefined toHaveLength equal strictEqual deepEqual deepStrictEqual ok match is if else return const let var for in of new function def fn func true false null undefined None True False nil and or Errorf Error Fatal Fatalf assert_eq assert_ne assertEqual assertTrue assertFalse toHaveBeenCalledWith toHaveBeenCalled resolves rejects unwrap Equal NoError True False Nil NotNil lambda with as pytest raises'.split(
    ' ',
  ),
)

/** How alike two lists are: what both have, of all that there is. */
export function overlap(one: readonly string[], other: readonly string[]): number {
  if (one.length === 0 && other.length === 0) return 1
  const left = counted(one)
  let both = 0
  for (const each of other) {
    const count = left.get(each) ?? 0
    if (count === 0) continue
    left.set(each, count - 1)
    both += 1
  }
  return both / (one.length + other.length - both)
}

/** Whether every one of `few` is among `many`, as often. */
export function isCovered(few: readonly string[], many: readonly string[]): boolean {
  const there = new Set(many)
  return few.every(each => there.has(each))
}

function counted(list: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const each of list) counts.set(each, (counts.get(each) ?? 0) + 1)
  return counts
}
