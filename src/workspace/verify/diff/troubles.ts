import type { FoundAssertion } from './assertions.ts'
import { closingOf, type Masked } from './source-text.ts'
import { skipKind } from './test-case.ts'

/** Marks assertions that may not count, in languages with braces: caught, never reached, or under a condition. */
export function markTroubles(masked: Masked, [from, to]: [number, number], found: FoundAssertion[], ifs = 0): void {
  const { code } = masked
  const dead = deadFrom(code, from, to)
  const swallowed = [...swallowedSpans(masked, from, to)]
  const conditions = [...conditionSpans(masked, from, to)]
  const leaves = leavesAt(masked, from, to)
  for (const one of found) {
    const around = conditions.filter(span => span.from <= one.from && one.from < span.to)
    if (swallowed.some(span => span.from <= one.from && one.from < span.to)) one.trouble = 'swallowed'
    else if ((dead !== undefined && one.from >= dead) || around.some(span => span.isNever)) one.trouble = 'unreached'
    else if (around.length > ifs || (leaves !== undefined && one.from >= leaves)) one.trouble = 'guarded'
  }
}

interface Span {
  from: number
  to: number
}

/** The position after an unconditional `return` of the function itself: nothing after it runs. */
function deadFrom(code: string, from: number, to: number): number | undefined {
  const open = code.indexOf('{', from)
  if (open < 0 || open >= to) return undefined
  let depth = 0
  for (let at = open; at < to; at++) {
    const sign = code[at] ?? ''
    if (/[({[]/.test(sign)) depth += 1
    else if (/[)}\]]/.test(sign)) depth -= 1
    if (depth === 0) return undefined
    if (depth !== 1 || sign !== 'r' || !/^return\b/.test(code.slice(at, at + 7))) continue
    if (!/(^|[;{}\n])\s*$/.test(code.slice(Math.max(open, at - 40), at))) continue
    if (/\b(if|else|for|while)\b[^\n{};]*\n?\s*$/.test(code.slice(Math.max(open, at - 200), at))) continue
    return statementEnd(code, at, to)
  }
  return undefined
}

/** The position after a silent conditional return: assertions after it run only sometimes. */
function leavesAt({ code, bare }: Masked, from: number, to: number): number | undefined {
  const open = code.indexOf('{', from)
  if (open < 0 || open >= to) return undefined
  const shape = /\bif\b\s{0,20}([^\n{};]{0,300}?)\s{0,20}(?:\{\s*return\s*;?\s*\}|\breturn[^\S\n]*(?:;|\n))/g
  let left = MOST_CONDITIONS
  for (const match of code.slice(open, to).matchAll(shape)) {
    if (left-- === 0) return undefined
    const at = open + match.index
    const condition = bare.slice(at + 2, at + 2 + (match[1] ?? '').length + 1)
    // It continues on another machine; and a nested branch is not the function's own.
    if (depthAt(code, open, at) !== 1 || skipKind(condition) === 'elsewhere') continue
    return at + match[0].length
  }
  return undefined
}

function depthAt(code: string, open: number, at: number): number {
  let depth = 0
  for (const sign of code.slice(open, at)) {
    if (/[({[]/.test(sign)) depth += 1
    else if (/[)}\]]/.test(sign)) depth -= 1
  }
  return depth
}

function statementEnd(code: string, from: number, to: number): number {
  let depth = 0
  for (let at = from; at < to; at++) {
    const sign = code[at] ?? ''
    if (/[({[]/.test(sign)) depth += 1
    else if (/[)}\]]/.test(sign)) depth -= 1
    if (depth < 0) return at
    if (depth > 0) continue
    if (sign === ';') return at
    if (sign === '\n' && !/^\s*[.?:&|+,)]/.test(code.slice(at, at + 80)) && /\S/.test(code.slice(from + 6, at)))
      return at
    if (sign === '\n' && !/\S/.test(code.slice(from + 6, at))) return at
  }
  return to
}

/** `try { … } catch {}` that swallows the error, and code that catches panics. */
function* swallowedSpans({ code, bare }: Masked, from: number, to: number): Generator<Span> {
  for (const match of code.slice(from, to).matchAll(/\btry\s*\{/g)) {
    const open = from + match.index + match[0].length - 1
    const end = closingOf(code, open)
    const handler = /^\s*catch\s*(\([^)]*\))?\s*\{/.exec(code.slice(end, end + 200))
    if (!handler) continue
    const body = bare.slice(end + handler[0].length, closingOf(code, end + handler[0].length - 1))
    if (!/\b(throw|expect|assert|fail|done|reject|rejects|should)\b/.test(body)) yield { from: open, to: end }
  }
  for (const match of code.slice(from, to).matchAll(/\bcatch_unwind\s*\(/g)) {
    const open = from + match.index + match[0].length - 1
    const end = closingOf(code, open)
    const around = code.slice(Math.max(from, open - 60), open)
    const isLooked =
      /(assert|let\s+(?!_\b)\w+\s*=|match)[^;]*$/.test(around) ||
      /^\s*\.\s*(unwrap|expect|is_err|is_ok)/.test(code.slice(end, end + 20))
    if (!isLooked) yield { from: open, to: end }
  }
}

interface Condition extends Span {
  isNever: boolean
}

/** How many conditions of one function are checked. */
const MOST_CONDITIONS = 300

function* conditionSpans({ code, bare }: Masked, from: number, to: number): Generator<Condition> {
  let left = MOST_CONDITIONS
  for (const match of code.slice(from, to).matchAll(/\bif\b\s*(\(?)/g)) {
    if (left-- === 0) return
    const at = from + match.index
    let body: number
    let condition: string
    if (match[1] === '(') {
      const end = closingOf(code, at + match[0].length - 1)
      const rest = /^[^\S\n]*/.exec(code.slice(end, end + 40))?.[0].length ?? 0
      condition = bare.slice(at + match[0].length, end - 1)
      body = end + rest
    } else {
      body = code.indexOf('{', at)
      if (body < 0 || body >= to) continue
      condition = bare.slice(at + 2, body)
    }
    const isNever = /^\s*(false|0|!true|!1|never)\s*$/.test(condition) || /&&\s*false\b|\bfalse\s*&&/.test(condition)
    if (code[body] === '{') yield { from: body, to: closingOf(code, body), isNever }
    else yield { from: body, to: lineEnd(code, body), isNever }
  }
}

function lineEnd(code: string, at: number): number {
  const end = code.indexOf('\n', at)
  return end < 0 ? code.length : end
}
