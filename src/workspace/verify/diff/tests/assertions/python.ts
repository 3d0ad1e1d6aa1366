import { closingOf } from '../brackets.ts'
import type { Masked } from '../mask.ts'
import { type Found, foundAt } from './found.ts'
import { argsOf } from './javascript.ts'

const BEGINS =
  /(?<=^[ \t]*|[;:][ \t]*|with[ \t]+(?:\w+[ \t]+as[ \t]+\w+,[ \t]*)?|await[ \t]+)(?:(assert)\b(?!_)|((?:[\w.]+\.)?(?:assert\w+|fail|raises|warns|check_\w+|verify_\w+|expect\w*))\s*\()/gm

/** `assert …`, `self.assertEqual(…)`, `pytest.raises(…)`, `mock.assert_called_with(…)`. */
export function pythonAssertions(masked: Masked, from: number, to: number): Found[] {
  const found: Found[] = []
  const { code } = masked
  BEGINS.lastIndex = from
  for (let match = BEGINS.exec(code); match !== null && match.index < to; match = BEGINS.exec(code)) {
    if (/(def|class)[ \t]+$/.test(code.slice(Math.max(0, match.index - 12), match.index))) continue
    const one =
      match[1] === undefined
        ? called(masked, match[2] ?? '', match.index, match.index + match[0].length - 1)
        : asserted(masked, match.index)
    found.push(one)
    BEGINS.lastIndex = Math.max(one.to, match.index + 1)
  }
  return found
}

function asserted(masked: Masked, from: number): Found {
  const begin = from + 'assert'.length
  const end = statementEnd(masked.code, begin)
  const condition = withoutMessage(masked, begin, end)
  return foundAt(masked, [from, end], { matcher: 'assert', isNegated: false, args: [condition] }, `assert ${condition}`)
}

function called(masked: Masked, name: string, from: number, open: number): Found {
  const closed = closingOf(masked.code, open)
  const matcher = name.slice(name.lastIndexOf('.') + 1)
  const args = argsOf(masked, open, closed)
  return foundAt(masked, [from, closed], { matcher, isNegated: false, args })
}

/** To the end of the line, or of the last one that an open bracket or a backslash goes on to. */
function statementEnd(code: string, from: number): number {
  let depth = 0
  for (let at = from; at < code.length; at++) {
    const sign = code[at] ?? ''
    if (/[([{]/.test(sign)) depth += 1
    else if (/[)\]}]/.test(sign)) depth -= 1
    else if (sign === '\\' && code[at + 1] === '\n') at += 1
    else if ((sign === '\n' || sign === ';') && depth <= 0) return at
  }
  return code.length
}

/** `assert a == b, "why"`: the words for people are no part of what is asserted. */
function withoutMessage({ code, bare }: Masked, from: number, to: number): string {
  let depth = 0
  for (let at = from; at < to; at++) {
    const sign = code[at] ?? ''
    if (/[([{]/.test(sign)) depth += 1
    else if (/[)\]}]/.test(sign)) depth -= 1
    else if (sign === ',' && depth === 0) return bare.slice(from, at).trim()
  }
  return bare.slice(from, to).trim()
}
