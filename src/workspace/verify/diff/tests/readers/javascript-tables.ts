import { squeeze } from '../assertions/found.ts'
import { closingOf, partsOf } from '../brackets.ts'
import type { Masked } from '../mask.ts'

interface Loop {
  from: number
  to: number
  cases: string[]
}

/** `for (const row of [ … ])` and `[ … ].forEach(` around tests: tables by hand. */
export function* loopsOf(masked: Masked): Generator<Loop> {
  const { code } = masked
  for (const match of code.matchAll(/\bfor\s*\(\s*(?:const|let|var)\s[^;]*?\sof\s+/g)) {
    const open = code.indexOf('(', match.index)
    const end = closingOf(code, open)
    const body = code.indexOf('{', end)
    if (body < 0 || /\S/.test(code.slice(end, body))) continue
    const list = listAt(masked, match.index + match[0].length)
    yield { from: match.index, to: closingOf(code, body), cases: list }
  }
  for (const match of code.matchAll(/([\w$]+|\])\s*\.forEach\(/g)) {
    const end = closingOf(code, match.index + match[0].length - 1)
    const name = match[1] === ']' ? undefined : match[1]
    const from = match.index
    if (name !== undefined) yield { from, to: end, cases: named(masked, name) }
    else yield { from, to: end, cases: rowsOf(masked, [openingOf(code, from), from + 1]) }
  }
}

function listAt(masked: Masked, at: number): string[] {
  if (masked.code[at] === '[') return rowsOf(masked, [at, closingOf(masked.code, at)])
  const name = /^(?:Object\.entries\()?([\w$]+)/.exec(masked.code.slice(at, at + 80))?.[1]
  return name === undefined ? [] : named(masked, name)
}

/** The list that a name stands for, in the same file. */
function named(masked: Masked, name: string): string[] {
  const found = new RegExp(`\\b(?:const|let|var)\\s+${name.replaceAll('$', '\\$')}\\b[^=\\n]*=\\s*(?=[[{])`).exec(
    masked.code,
  )
  if (!found) return []
  const at = found.index + found[0].length
  return partsOf(masked.code, at + 1, closingOf(masked.code, at) - 1).map(part => squeeze(masked.bare.slice(...part)))
}

function openingOf(code: string, close: number): number {
  let depth = 0
  for (let at = close; at >= 0; at--) {
    if (code[at] === ']') depth += 1
    if (code[at] === '[') depth -= 1
    if (depth === 0) return at
  }
  return 0
}

/** The rows of `each([ … ])`, or of a table in a template. */
export function rowsOf({ code, bare }: Masked, span: [number, number] | undefined): string[] {
  if (span === undefined) return []
  if (code[span[0]] === '`')
    return bare
      .slice(span[0] + 1, span[1] - 1)
      .split('\n')
      .slice(1)
      .map(squeeze)
      .filter(Boolean)
  const open = code.indexOf('[', span[0])
  if (open < 0 || open >= span[1]) return []
  return partsOf(code, open + 1, closingOf(code, open) - 1).map(part => squeeze(bare.slice(...part)))
}
