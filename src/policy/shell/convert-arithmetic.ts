import type * as Bash from 'unbash'
import type { Span } from '../../domain/assessment.ts'
import { bitsOf, spanOf, type Trip } from './convert-words.ts'
import type { Bit, Word } from './tree.ts'

/** The words in a sum: what is substituted in them runs. */
export function arithmeticWords(expression: Bash.ArithmeticExpression | undefined, trip: Trip): Word[] {
  if (expression === undefined) return []
  const at = spanOf(expression, trip)
  switch (expression.type) {
    case 'ArithmeticBinary':
      return [...arithmeticWords(expression.left, trip), ...arithmeticWords(expression.right, trip)]
    case 'ArithmeticUnary':
      return arithmeticWords(expression.operand, trip)
    case 'ArithmeticTernary':
      return [expression.test, expression.consequent, expression.alternate].flatMap(one => arithmeticWords(one, trip))
    case 'ArithmeticGroup':
      return arithmeticWords(expression.expression, trip)
    case 'ArithmeticWord': {
      const bits: Bit[] = expression.parts
        ? bitsOf(expression.parts, true, trip)
        : [{ is: 'text', value: expression.value, quoted: true }]
      return [{ text: expression.value, at, bits }]
    }
    case 'ArithmeticCommandExpansion': {
      const script = trip.nested(expression.script, at, trip)
      return [{ text: expression.text, at, bits: [{ is: 'substitution', how: '$(', script }] }]
    }
  }
}

/** `$((rm x))` is no sum. Shells differ in what they make of it, so it counts as unreadable. */
export function checkArithmetic(text: string, at: Span, trip: Trip): void {
  const inner = text.replace(/^\$\(\(|\)\)$/g, '').replace(/\$?\{[^}]*\}|\$\([^)]*\)|`[^`]*`/g, '1')
  if (/[A-Za-z_]\w*\s+-?[A-Za-z_]/.test(inner)) trip.errors.push({ message: 'it looks like a sum and is none', at })
}
