import { lineAt, type Masked } from './source-text.ts'
import type { Assertion } from './test-case.ts'

/** An assertion with its position. */
export interface FoundAssertion extends Assertion {
  from: number
  to: number
}

/** Builds the assertion between two positions of a text. */
export function foundAt(
  masked: Masked,
  [from, to]: [number, number],
  comparison: AssertionComparison,
  text?: string,
): FoundAssertion {
  const bare = masked.bare.slice(from, to)
  return {
    from,
    to,
    text: squeeze(text ?? bare),
    line: lineAt(masked.text, from),
    strength: strengthOf(comparison),
    matcher: `${comparison.isNegated ? 'not.' : ''}${comparison.matcher}`,
    literals: literalsIn(text ?? bare),
    words: wordsIn(masked.code.slice(from, to)),
  }
}

/** A normal form: one blank instead of many, none beside brackets. */
export function squeeze(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/ ?([()[\]{},]) ?/g, '$1')
    .replace(/,([)\]}])/g, '$1')
    .replace(/;$/, '')
    .trim()
}

/** What an assertion compares, as far as its text shows. */
interface AssertionComparison {
  /** `toBe`, `strictEqual`, `assert`, `==`, `assert_eq` … */
  matcher: string
  isNegated: boolean
  /** Its arguments, in order; for `expect(a).toBe(b)` the subject comes first. */
  args: string[]
}

/** How strong an assertion is. In doubt it counts as strong: only a recognised weak form counts as weak. */
function strengthOf(comparison: AssertionComparison): number {
  if (cannotFail(comparison)) return 0
  const { matcher, isNegated, args } = comparison
  const name = matcher
    .toLowerCase()
    .replace(/^(assert|be|to|tobe|is)_?/, match => (match === matcher.toLowerCase() ? match : ''))
  if (CONDITIONS.test(matcher)) return strengthOfCondition(args[0] ?? '')
  if (/^(toBe|toEqual|toStrictEqual|equal|strictEqual|Equal|eq|assertEqual|assertIs|is)$/.test(matcher)) {
    const [one = '', other = ''] = args
    if (BOOLEAN.test(one.trim()) || BOOLEAN.test(other.trim())) {
      const inner = strengthOfCondition(BOOLEAN.test(other.trim()) ? one : other)
      return isNegated ? Math.min(inner, 2) : Math.max(inner, 2)
    }
    if (ANYTHING.test(other)) return 1
    return isNegated ? 1.5 : 3
  }
  if (isNegated) return /null|undefined|none|nil|empty|defined|error|throw/i.test(name) ? 1 : 1.5
  if (/throw|rejects|raises|panic/i.test(matcher)) return strengthOfThrow(matcher, args)
  if (WEAK.test(matcher)) return 1
  if (TRUTHY.test(matcher)) return 1.5
  if (PARTIAL.test(matcher)) return 2
  return 3
}

const BOOLEAN = /^(true|false)$/i
const ANYTHING = /\bexpect\.any(thing)?\b|\bmock\.ANY\b|^ANY$|\bmock\.Anything\b/
const CONDITIONS =
  /^(assert|ok|isOk|true|isTrue|assertTrue|True|assert!|debug_assert!|prop_assert!|assertFalse|False|t\.true|if)$/
const WEAK =
  /^(toBeDefined|toBeInstanceOf|assertIsNotNone|assertIsInstance|NotNil|NotEmpty|NotZero|NoError|Error|isDefined|exists|exist|notNull|isNotNull|instanceOf|IsType|toHaveBeenCalled|toBeCalled|called|assert_called|assert_called_once|doesNotThrow|notThrows|NotPanics|doesNotReject|assertIsNot|isObject|isArray|isString|isFunction)$/
const TRUTHY = /^(toBeTruthy|toBeFalsy|notOk|truthy|falsy)$/
const PARTIAL =
  /^(toContain|toContainEqual|toMatch|match|toMatchObject|include|includes|contain|contains|Contains|NotContains|assertIn|assertNotIn|assertRegex|Regexp|regex|like|partialDeepStrictEqual|Subset|toBeGreaterThan|toBeGreaterThanOrEqual|toBeLessThan|toBeLessThanOrEqual|Greater|GreaterOrEqual|Less|LessOrEqual|assertGreater|assertGreaterEqual|assertLess|assertLessEqual|notEqual|notStrictEqual|notDeepEqual|NotEqual|assertNotEqual|assert_ne!|toHaveBeenCalledTimes|ErrorContains|ErrorIs|ErrorAs|assert_matches!|toHaveProperty|isAbove|isBelow|isAtLeast|isAtMost|above|below)$/

/** The condition of `assert …`, `ok(…)`, `if …`: the operator between both sides says how exact it is. */
function strengthOfCondition(condition: string): number {
  const plain = condition.replace(/"[^"]*"|'[^']*'|`[^`]*`/g, '""')
  if (/(?<![=!<>])={2,3}(?!=)|\bis (?!not)|\bequals?\(|\.Equal\(|DeepEqual\(|\.eq\(|\bmatches!/.test(plain))
    return /(?<![=!<>])={2,3}\s*(null|undefined|None)\b/.test(plain) ? 2.5 : 3
  if (/!==?\s*(null|undefined|nil|None)\b|\bis not None\b|\bisinstance\(|\.is_(some|ok|none|err)\(|typeof /.test(plain))
    return 1
  if (/!==?/.test(plain)) return 2
  if (
    /[<>]|\bin\b|\.(includes|contains|startsWith|starts_with|startswith|endsWith|ends_with|endswith|match|test|some|every|any|has)\(/.test(
      plain,
    )
  )
    return 2
  return 1.5
}

function strengthOfThrow(matcher: string, args: string[]): number {
  // For most functions the first argument is what throws; these take the expected error directly.
  const rest = args.slice(/^(raises|assertRaises|assertRaisesRegex|should_panic)$/.test(matcher) ? 0 : 1)
  const given = rest.join(', ').trim()
  if (given === '') return matcher === 'should_panic' ? 2 : 1.5
  if (/\bmatch\s*=|\bexpected\s*=/.test(given)) return 3
  if (/^\(?\s*(Base)?Exception\b|^Error$|^Throwable$/.test(given)) return 1.5
  return 2.5
}

/** Whether the assertion holds whatever the program does. */
function cannotFail({ matcher, isNegated, args }: AssertionComparison): boolean {
  const [one = '', other] = args.map(arg => arg.trim())
  if (/^(pass|t\.pass|succeed)$/.test(matcher)) return true
  if (CONDITIONS.test(matcher)) return matcher === 'if' ? neverHolds(one) : alwaysHolds(one)
  if (/throw|raises|panic|Called|called/i.test(matcher)) return false
  if (other === undefined)
    return (
      !isNegated &&
      /^(toBeTruthy|toBeDefined|exist|NotNil|NotEmpty)$/.test(matcher) &&
      isConstant(one) &&
      !/^(null|undefined|0|false|nil|""|'')$/.test(one)
    )
  if (
    /^(toBeGreaterThanOrEqual|GreaterOrEqual|isAtLeast|assertGreaterEqual)$/.test(matcher) &&
    /length|len\(|size|count/i.test(one) &&
    other === '0'
  )
    return true
  if (isNegated || /ne!?$|not/i.test(matcher)) return false
  if (squeezed(one) === squeezed(other)) return true
  if (/^expect\.anything\(\)$/.test(other)) return true
  return isConstant(one) && isConstant(other)
}

function alwaysHolds(condition: string): boolean {
  const text = condition.trim()
  if (/(\|\||\bor\b)\s*(true|True|1)\b\s*\)?$/.test(text) || /^\(?\s*(true|True|1)\s*(\|\||\bor\b)/.test(text))
    return true
  if (/^\(.*,\s*(f?["'`]).*\)$/s.test(text)) return true
  if (/(length|len\((?:[^()]|\([^()]*\))*\)|size)\s*>=\s*0$/.test(text)) return true
  const sides = /^(.+?)\s*(?<![=!<>])={2,3}(?!=)\s*(.+)$/s.exec(text)
  if (sides)
    return (
      squeezed(sides[1] ?? '') === squeezed(sides[2] ?? '') ||
      (isConstant(sides[1] ?? '') && isConstant(sides[2] ?? ''))
    )
  const tuple = /^(.+?)\s+is\s+(?!not\b)(.+)$/s.exec(text)
  if (tuple && squeezed(tuple[1] ?? '') === squeezed(tuple[2] ?? '')) return true
  return isConstant(text) && !/^(false|False|0|null|None|nil|undefined|""|'')$/.test(text)
}

function neverHolds(condition: string): boolean {
  const text = condition.trim()
  if (/^(false|0)$/.test(text) || /^false\s*&&|&&\s*false$/.test(text)) return true
  const sides = /^(.+?)\s*!=\s*(.+)$/s.exec(text)
  return (
    sides !== null &&
    (squeezed(sides[1] ?? '') === squeezed(sides[2] ?? '') ||
      (isConstant(sides[1] ?? '') && isConstant(sides[2] ?? '')))
  )
}

/** Whether nothing in it comes from the program. */
function isConstant(text: string): boolean {
  const without = text.replace(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`$]*`/g, '')
  return (
    text.trim() !== '' &&
    wordsIn(without).length === 0 &&
    (literalsIn(text).length > 0 || /^[\s[\]{},:]*$/.test(without))
  )
}

function squeezed(text: string): string {
  return text.replace(/\s+/g, '').replace(/,([)\]}])/g, '$1')
}

/** Numbers, strings, regular expressions and constants in a piece of code without comments. */
export function literalsIn(bare: string): string[] {
  const found: string[] = []
  for (const [whole] of bare.matchAll(LITERAL)) found.push(unquoted(whole))
  return found
}

const LITERAL =
  /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|(?<![\w.$])-?\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w$])|\b(?:true|false|null|undefined|None|True|False|nil|NaN)\b/g

/** `'a'` and `"a"` are the same string. */
function unquoted(literal: string): string {
  if (/^["'`]/.test(literal)) return `"${literal.slice(1, -1)}"`
  return /^-?\d/.test(literal) ? literal.replaceAll('_', '') : literal.toLowerCase()
}

/** Names in masked code, except those that every test has. */
export function wordsIn(code: string): string[] {
  return [...code.matchAll(/[A-Za-z_$][\w$]*/g)].map(([word]) => word).filter(word => !COMMON.has(word))
}

const COMMON = new Set(
  'expect assert self t tc ctx require await async not toBe toEqual toStrictEqual toMatchObject toContain toMatch toThrow toBeTruthy toBeFalsy toBeDefined toBeNull toBeUndefined toHaveLength equal strictEqual deepEqual deepStrictEqual ok match is if else return const let var for in of new function def fn func true false null undefined None True False nil and or Errorf Error Fatal Fatalf assert_eq assert_ne assertEqual assertTrue assertFalse toHaveBeenCalledWith toHaveBeenCalled resolves rejects unwrap Equal NoError True False Nil NotNil lambda with as pytest raises'.split(
    ' ',
  ),
)

/** How similar two lists are: the share of entries that both have. */
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

/** Whether every entry of `few` is in `many`, at least as often. */
export function isCovered(few: readonly string[], many: readonly string[]): boolean {
  const there = new Set(many)
  return few.every(each => there.has(each))
}

function counted(list: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const each of list) counts.set(each, (counts.get(each) ?? 0) + 1)
  return counts
}
