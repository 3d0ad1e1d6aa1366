import { closingOf } from '../brackets.ts'
import type { Masked } from '../mask.ts'
import { type Found, foundAt, squeeze } from './found.ts'
import { argsOf } from './javascript.ts'

const BEGINS =
  /(?<![\w.])(?:(?:t|tb|b|tt|st)\.(Errorf?|Fatalf?|Fail|FailNow)|(?:assert|require|is|s|suite|c|qt|a|r|must)\.([A-Z]\w*)|((?:assert|require|check|must|expect|verify)[A-Z]\w*))\s*(?:\[[^\]()]{0,60}\])?\(/g

/** `if got != want { t.Errorf(…) }`, and what testify and its like have. */
export function goAssertions(masked: Masked, from: number, to: number): Found[] {
  const found: Found[] = []
  const { code } = masked
  BEGINS.lastIndex = from
  for (let match = BEGINS.exec(code); match !== null && match.index < to; match = BEGINS.exec(code)) {
    if (/func\s+(\([^)]*\)\s*)?$/.test(code.slice(Math.max(0, match.index - 60), match.index))) continue
    const open = match.index + match[0].length - 1
    const closed = closingOf(code, open)
    if (match[1] !== undefined) found.push(complaint(masked, match.index, closed, from))
    else found.push(called(masked, match[2] ?? match[3] ?? '', match.index, [open, closed]))
    BEGINS.lastIndex = closed
  }
  return found
}

function called(masked: Masked, matcher: string, from: number, [open, closed]: [number, number]): Found {
  const args = argsOf(masked, open, closed).filter(arg => !/^(t|tb|b|tt|s\.T\(\))$/.test(arg))
  const plain = matcher.replace(/f$/, '')
  const isNegated = /^Not[A-Z]/.test(plain) && !/^(NotNil|NotEmpty|NotZero)$/.test(plain)
  return foundAt(masked, [from, closed], { matcher: plain, isNegated, args })
}

/** What is asserted is the condition under which it complains; the words of the complaint are for people. */
function complaint(masked: Masked, from: number, to: number, least: number): Found {
  const condition = conditionAround(masked, from, least)
  if (condition === undefined)
    return foundAt(masked, [from, to], { matcher: 'fail', isNegated: false, args: ['fail'] }, 'fail')
  // It complains where the condition holds: the turned one is what is asserted.
  return foundAt(masked, [from, to], { matcher: 'if', isNegated: false, args: [condition] }, `if ${squeeze(condition)}`)
    .strength === 0
    ? {
        ...foundAt(
          masked,
          [from, to],
          { matcher: 'if', isNegated: false, args: [condition] },
          `if ${squeeze(condition)}`,
        ),
        words: words(condition),
      }
    : {
        ...foundAt(
          masked,
          [from, to],
          { matcher: 'assert', isNegated: false, args: [turned(condition)] },
          `if ${squeeze(condition)}`,
        ),
        matcher: 'if',
        words: words(condition),
      }
}

function words(condition: string): string[] {
  return [...condition.replace(/"[^"]*"/g, '').matchAll(/[A-Za-z_]\w*/g)].map(([word]) => word)
}

/** `got != want` complains, so `got == want` is asserted. */
function turned(condition: string): string {
  const last = condition.slice(condition.lastIndexOf(';') + 1)
  if (/!=\s*nil\b/.test(last)) return 'bare'
  if (/==\s*nil\b/.test(last)) return 'x != nil'
  if (/!=|!(reflect\.DeepEqual|bytes\.Equal|slices\.Equal|maps\.Equal|cmp\.Equal|errors\.Is)/.test(last))
    return 'x == y'
  if (/==/.test(last)) return 'x != y'
  if (/[<>]|Contains\(|HasPrefix\(|HasSuffix\(|Match/.test(last)) return 'x < y'
  return 'bare'
}

/** The condition of the block in which a place stands, if it is that of an `if`. */
function conditionAround({ code, bare }: Masked, at: number, least: number): string | undefined {
  let depth = 0
  for (let place = at - 1; place >= least; place--) {
    const sign = code[place]
    if (sign === '}') depth += 1
    else if (sign === '{' && depth > 0) depth -= 1
    else if (sign === '{') {
      const line = code.lastIndexOf('\n', place) + 1
      const begin = /\bif\b/.exec(code.slice(line, place))
      return begin ? bare.slice(line + begin.index + 2, place).trim() : undefined
    }
  }
  return undefined
}
