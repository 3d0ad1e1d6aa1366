import { lineAt } from '../brackets.ts'
import type { Masked } from '../mask.ts'
import type { Assertion } from '../test-case.ts'
import { literalsIn, wordsIn } from './literals.ts'
import { type Comparison, strengthOf } from './strength.ts'

/** An assertion with where it stands. */
export interface Found extends Assertion {
  from: number
  to: number
}

/** Puts together what is known of an assertion between two places. */
export function foundAt(masked: Masked, [from, to]: [number, number], comparison: Comparison, text?: string): Found {
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

/** One spelling: one blank where there were many, none beside brackets. */
export function squeeze(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/ ?([()[\]{},]) ?/g, '$1')
    .replace(/,([)\]}])/g, '$1')
    .replace(/;$/, '')
    .trim()
}
