import { closingOf } from '../brackets.ts'
import type { Masked } from '../mask.ts'
import { type Found, foundAt } from './found.ts'
import { argsOf } from './javascript.ts'

const BEGINS = /(?<![\w])((?:debug_|prop_)?assert\w*!|panic!|unreachable!|(?:assert|check|verify|expect)_\w+)\s*[([{]/g

/** `assert_eq!(…)`, `assert!(…)`, and functions called as if they were such. */
export function rustAssertions(masked: Masked, from: number, to: number): Found[] {
  const found: Found[] = []
  const { code } = masked
  BEGINS.lastIndex = from
  for (let match = BEGINS.exec(code); match !== null && match.index < to; match = BEGINS.exec(code)) {
    if (/(fn|macro_rules!|\.)\s*$/.test(code.slice(Math.max(0, match.index - 16), match.index))) continue
    const open = match.index + match[0].length - 1
    const closed = closingOf(code, open)
    const matcher = match[1] ?? ''
    const isNegated = /_ne!$/.test(matcher)
    found.push(foundAt(masked, [match.index, closed], comparisonOf(matcher, argsOf(masked, open, closed), isNegated)))
    BEGINS.lastIndex = closed
  }
  return found
}

function comparisonOf(matcher: string, args: string[], isNegated: boolean) {
  if (/^(debug_|prop_)?assert!$/.test(matcher)) return { matcher: 'assert!', isNegated, args: args.slice(0, 1) }
  if (/_eq!$/.test(matcher)) return { matcher: 'eq', isNegated, args: args.slice(0, 2) }
  return { matcher, isNegated, args }
}
