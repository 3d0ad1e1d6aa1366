import type { CodeNode } from '../../../base/syntax/code-tree.ts'
import { bared, chainOf, isCall } from './call-chain.ts'
import { pieceOf } from './code-piece.ts'

/** What an assertion compares. */
export interface Comparison {
  /** `toBe`, `strictEqual`, `assert`, `if`, `assert_eq` … */
  matcher: string
  isNegated: boolean
  /** Its arguments, in order; for `expect(a).toBe(b)` the subject comes first. */
  args: CodeNode[]
}

/** How strong an assertion is: 0 cannot fail, 3 checks exactly. In doubt it counts as strong: only a recognised weak form counts as weak. */
export function strengthOf(comparison: Comparison): number {
  if (cannotFail(comparison)) return 0
  const { isNegated, args } = comparison
  const name = plainName(comparison.matcher)
  const [one, other] = args
  if (name === 'if') return strengthOfComplaint(one)
  if (CONDITION.test(name)) return one ? strengthOfCondition(one) : 3
  if (EQUAL.test(name)) {
    const condition = isBoolean(other) ? one : isBoolean(one) ? other : undefined
    if (condition)
      return isNegated ? Math.min(strengthOfCondition(condition), 2) : Math.max(strengthOfCondition(condition), 2)
    if (other && ANYTHING.test(pieceOf(other).text)) return 1
    return isNegated ? 1.5 : 3
  }
  if (isNegated) return /null|undefined|none|nil|empty|defined|error|throw|raise/.test(name) ? 1 : 1.5
  if (THROWS.test(name)) return strengthOfThrow(name, args)
  if (WEAK.test(name)) return 1
  if (/^(truthy|falsy|notok|present|any)$/.test(name)) return 1.5
  return PARTIAL.test(name) ? 2 : 3
}

/** `assertNotNull`, `toBeDefined`, `EXPECT_TRUE` and `be_nil` without the words that every matcher has. */
export function plainName(matcher: string): string {
  let name = matcher.toLowerCase().replace(/[^a-z]/g, '')
  for (;;) {
    const shorter = name.replace(
      /^(xct|test|cr|ck|debug|prop|assert|refute|expect|require|check|should|must|to|have|has|been|be(?!low|tween)|is)(?=[a-z]{2})/,
      '',
    )
    if (shorter === name) return name
    name = shorter
  }
}

const CONDITION = /^(assert|refute|ok|true|false|require|check|expect|assume)$/
const EQUAL = /^(be|equals?|equalto|eq|eql|same|sameas|strictequal|deepequal|areequal|aresame|is|isequalto|isequal)$/
const ANYTHING = /\bexpect\.any(thing)?\b|\bmock\.ANY\b|^ANY$|\bmock\.Anything\b/
const THROWS = /throw|rejects|raise|panic|exception/
const WEAK =
  /^(defined|instanceof|isnotnone|notnone|instance|isinstance|instanceofdefined|notnil|notempty|notzero|noerror|error|exists?|notnull|notnullvalue|type|istype|called|calledonce|doesnotthrow|notthrows|nothrow|notpanics|notreject|doesnotreject|not|object|array|string|function|kindof|int|integer|bool|numeric|iterable|callable|nonull|notblank|isnot)$/
const PARTIAL =
  /^(contain|contains|containequal|containany|match|matches|matchobject|includes?|in|notin|notcontains?|notmatch|regexp?|like|partialdeepstrictequal|subset|greater(than)?(orequal(to)?|equal)?|less(than)?(orequal(to)?|equal)?|notequals?|notstrictequal|notdeepequal|noteq|notsame|ne|arenotequal|calledtimes|errorcontains|erroris|erroras|property|above|below|atleast|atmost|startwith|startswith|endwith|endswith|stringcontainsstring|gt|ge|lt|le|key|within|almostequal|near)$/

/** The condition of `assert …`, `ok(…)`: the operator between both sides says how exact it is. */
function strengthOfCondition(condition: CodeNode): number {
  const node = bared(condition)
  const sides = sidesOf(node)
  if (sides) {
    const { left, sign, right } = sides
    if (/^(&&|and|\|\||or)$/.test(sign)) return Math.max(strengthOfCondition(left), strengthOfCondition(right))
    const isNothing = NOTHING.test(pieceOf(right).text) || NOTHING.test(pieceOf(left).text)
    if (/^(={2,3}|is|-eq|=)$/.test(sign)) return isNothing ? 2.5 : 3
    if (/^(!==?|is not|-ne)$/.test(sign)) return isNothing ? 1 : 2
    if (sign === 'instanceof') return 1
    return 2
  }
  const [first, ...rest] = node.parts
  const [inner] = rest
  if (inner && rest.length === 1 && /^(!|not)$/.test(first?.text ?? '')) return Math.min(strengthOfCondition(inner), 2)
  if (!isCall(node)) return 1.5
  const name = chainOf(node).links.at(-1)?.name ?? ''
  if (/^(equals?|Equals?|DeepEqual|eq|eql|matches|is_equal\w*|isEqual\w*|SequenceEqual|Is|As)$/.test(name)) return 3
  if (/^(isinstance|is_(some|ok|none|err|a)|isPresent|is_array|is_string)\W?$/.test(name)) return 1
  return PART_CALL.test(name) ? 2 : 1.5
}

const NOTHING = /^(null|undefined|nil|None|nullptr)$/
const PART_CALL =
  /^(includes?\??|contains|Contains|startsWith|starts_with|startswith|endsWith|ends_with|endswith|HasPrefix|HasSuffix|match(es)?\??|Match\w*|test|some|every|any|has)$/

/** `if got != want { t.Error() }` asserts the opposite of its condition. */
function strengthOfComplaint(condition: CodeNode | undefined): number {
  if (!condition) return 3
  const node = bared(condition)
  const sides = sidesOf(node)
  if (sides && /^(&&|\|\|)$/.test(sides.sign))
    return Math.max(strengthOfComplaint(sides.left), strengthOfComplaint(sides.right))
  if (sides) {
    const isNothing = NOTHING.test(pieceOf(sides.right).text)
    if (/^!=/.test(sides.sign)) return isNothing ? 1.5 : 3
    return /^==/.test(sides.sign) && isNothing ? 1 : 2
  }
  const inner = node.parts[0]?.text === '!' ? node.parts[1] : undefined
  return inner
    ? Math.max(strengthOfCondition(inner), 1.5)
    : PART_CALL.test(chainOf(node).links.at(-1)?.name ?? '')
      ? 2
      : 1.5
}

/** Both sides of an operator. */
export function sidesOf(node: CodeNode): { left: CodeNode; sign: string; right: CodeNode } | undefined {
  const [left, middle, right, more] = node.parts
  if (!left || !middle || !right || more || !OPERATION.test(node.kind)) return undefined
  return { left, sign: pieceOf(middle).text, right }
}

const OPERATION =
  /binary|comparison|equality|boolean_operator|relational|conjunction|disjunction|infix|check_expression|assignment_expression/

function strengthOfThrow(name: string, args: CodeNode[]): number {
  // For most functions the first argument is what throws; these take the expected error directly.
  const given = args
    .slice(/^(raises|raisesregex|shouldpanic|panic|exception\w*)$/.test(name) ? 0 : 1)
    .map(each => pieceOf(each).text)
    .join(', ')
  if (given === '') return name === 'shouldpanic' ? 2 : 1.5
  if (/\bmatch ?=|\bexpected ?=/.test(given)) return 3
  if (/^\(?\s*(Base)?Exception\b|^Error$|^Throwable\b/.test(given)) return 1.5
  return 2.5
}

/** Whether the assertion holds whatever the program does. */
function cannotFail({ matcher, isNegated, args }: Comparison): boolean {
  const name = plainName(matcher)
  const [one, other] = args
  if (/^(pass|succeed)$/.test(name)) return true
  if (!one || THROWS.test(name) || /called/.test(name)) return false
  if (name === 'if') return neverHolds(one)
  if (CONDITION.test(name)) return name === 'false' || name === 'refute' ? neverHolds(one) : alwaysHolds(one)
  const isNot = isNegated || /^ne$|not/.test(name)
  if (!other) {
    const isThing = isConstant(one) && !NO_THING.test(pieceOf(one).text)
    return (
      isThing &&
      (isNegated
        ? /^(null|nil|undefined|none)$/
        : /^(truthy|defined|exists?|notnil|notempty|notnull|notnone|isnotnone|present)$/
      ).test(name)
    )
  }
  if (
    /^(greaterthanorequal(to)?|greaterorequal|greaterequal|atleast|ge)$/.test(name) &&
    /length|len\(|size|count/i.test(pieceOf(one).text) &&
    pieceOf(other).text === '0'
  )
    return true
  if (isNot) return false
  return (
    pieceOf(one).text === pieceOf(other).text ||
    /^expect\.anything\(\)$/.test(pieceOf(other).text) ||
    (isConstant(one) && isConstant(other))
  )
}

const NO_THING = /^(null|undefined|nil|None|0|false|False|"")$/

function alwaysHolds(condition: CodeNode): boolean {
  const node = bared(condition)
  if (node.kind === 'tuple' && node.parts.length > 2) return true
  const sides = sidesOf(node)
  if (!sides) return isConstant(node) && !NO_THING.test(pieceOf(node).text)
  const { left, sign, right } = sides
  if (/^(\|\||or)$/.test(sign)) return alwaysHolds(left) || alwaysHolds(right)
  if (/^(&&|and)$/.test(sign)) return alwaysHolds(left) && alwaysHolds(right)
  const [one, other] = [pieceOf(left).text, pieceOf(right).text]
  if (sign === '>=' && other === '0' && /length$|^len\(|size(\(\))?$|count(\(\))?$/i.test(one)) return true
  return /^(={2,3}|is)$/.test(sign) && (one === other || (isConstant(left) && isConstant(right)))
}

function neverHolds(condition: CodeNode): boolean {
  const node = bared(condition)
  const sides = sidesOf(node)
  if (!sides) return /^(false|False|0)$/.test(pieceOf(node).text)
  const { left, sign, right } = sides
  if (/^(&&|and)$/.test(sign)) return neverHolds(left) || neverHolds(right)
  return (
    /^(!==?|is not)$/.test(sign) &&
    (pieceOf(left).text === pieceOf(right).text || (isConstant(left) && isConstant(right)))
  )
}

/** Whether nothing in it comes from the program. */
function isConstant(node: CodeNode): boolean {
  const { words, calls, text } = pieceOf(node)
  return words.length === 0 && calls.length === 0 && text !== ''
}

function isBoolean(node: CodeNode | undefined): boolean {
  return node !== undefined && /^(true|false)$/i.test(pieceOf(node).text)
}

/** Whether a condition is written so that it never holds. */
export function isNever(condition: CodeNode): boolean {
  const { text } = pieceOf(bared(condition))
  return neverHolds(condition) || /^(!true|!1|!0|never|not True)$/.test(text)
}
