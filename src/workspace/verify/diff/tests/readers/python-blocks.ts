import type { Found } from '../assertions/found.ts'
import { closingOf } from '../brackets.ts'
import type { Masked } from '../mask.ts'
import { skipKind } from '../skip-kind.ts'

/** What is indented below the `def` whose bracket opens at `open`. */
export function blockAfter(code: string, open: number, indent: number): [number, number] {
  const colon = code.indexOf(':', closingOf(code, open))
  if (colon < 0) return [code.length, code.length]
  const lines = code.slice(colon + 1).split('\n')
  let to = colon + 1 + (lines[0]?.length ?? 0)
  for (const line of lines.slice(1)) {
    if (line.trim() !== '' && indentOf(line) <= indent) break
    to += line.length + 1
  }
  return [colon + 1, Math.min(to, code.length)]
}

interface Line {
  at: number
  indent: number
  code: string
}

/** Marks assertions that are caught, never reached, or under a condition. */
export function markPythonTroubles(masked: Masked, [from, to]: [number, number], found: Found[]): void {
  const lines = linesOf(masked.code, from, to)
  const first = lines.find(line => line.code.trim() !== '')
  if (!first) return
  const dead = lines.find(line => line.indent === first.indent && /^\s*return\b/.test(line.code))
  const caught = lines.filter(line => isSwallowing(line, lines, masked)).map(line => spanOf(line, lines))
  const conditions = lines
    .filter(line => /^\s*(if|elif)\b/.test(line.code))
    .map(line => ({ ...spanOf(line, lines), line }))
  const leaves = conditions.find(({ line }) => line.indent === first.indent && leavesUnder(line, lines))?.line
  for (const one of found) {
    const around = conditions.filter(span => span.from < one.from && one.from < span.to)
    if (caught.some(span => span.from < one.from && one.from < span.to)) one.trouble = 'swallowed'
    else if ((dead && one.from > dead.at + 6) || around.some(({ line }) => /^\s*if\s+(False|0)\s*:/.test(line.code)))
      one.trouble = 'unreached'
    else if (around.length > 0 || (leaves && one.from > leaves.at)) one.trouble = 'guarded'
  }
}

/** A condition under which the test ends without a word, and not because of the machine. */
function leavesUnder(line: Line, lines: Line[]): boolean {
  const { from, to } = spanOf(line, lines)
  const below = lines.filter(({ at, code }) => at > from && at < to && code.trim() !== '')
  const isBare = below.length === 1 && /^\s*return\s*$/.test(below[0]?.code ?? '')
  return isBare && skipKind(line.code.replace(/^\s*if\b|:\s*$/g, '')) !== 'elsewhere'
}

/** `try:` whose handler takes what an assertion throws and lets it go; `with suppress(…)`. */
function isSwallowing(line: Line, lines: Line[], { bare }: Masked): boolean {
  if (/^\s*with\s+(contextlib\.)?suppress\s*\(/.test(line.code)) return /AssertionError|Exception/.test(line.code)
  if (!/^\s*try\s*:/.test(line.code)) return false
  const { to } = spanOf(line, lines)
  const handler = lines.find(other => other.at >= to && other.indent === line.indent && /^\s*except\b/.test(other.code))
  if (!handler || !/except\s*(:|\(?[^:]*\b(AssertionError|Exception|BaseException)\b)/.test(handler.code)) return false
  const span = spanOf(handler, lines)
  return !/\b(raise|fail|assert\w*)\b/.test(bare.slice(handler.at, span.to))
}

/** From a line to the end of what is indented below it. */
function spanOf(line: Line, lines: Line[]): { from: number; to: number } {
  const next = lines.find(other => other.at > line.at && other.code.trim() !== '' && other.indent <= line.indent)
  const last = lines.at(-1)
  return { from: line.at, to: next?.at ?? (last ? last.at + last.code.length + 1 : line.at) }
}

function linesOf(code: string, from: number, to: number): Line[] {
  let at = from
  return code
    .slice(from, to)
    .split('\n')
    .map(line => {
      const one = { at, indent: indentOf(line), code: line }
      at += line.length + 1
      return one
    })
}

function indentOf(line: string): number {
  return /^[ \t]*/.exec(line)?.[0].length ?? 0
}
