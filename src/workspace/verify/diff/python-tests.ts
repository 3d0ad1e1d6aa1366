import { type FoundAssertion, foundAt, squeeze } from './assertions.ts'
import { argsOf } from './javascript-tests.ts'
import { closingOf, lineAt, type Masked, partsOf } from './source-text.ts'
import { type Skip, skipKind, type TestCase, worseSkip } from './test-case.ts'

const FUNCTION = /^([ \t]*)(?:async[ \t]+)?def[ \t]+(test\w*)[ \t]*\(/gm

/** Tests of pytest and unittest. */
export function pythonTests(masked: Masked, file: string): TestCase[] {
  const { code, bare } = masked
  const whole = moduleSkip(masked)
  return [...code.matchAll(FUNCTION)].map(match => {
    const indent = match[1] ?? ''
    const [from, to] = blockAfter(code, match.index + match[0].length - 1, indent.length)
    const assertions: FoundAssertion[] = pythonAssertions(masked, from, to)
    markPythonTroubles(masked, [from, to], assertions)
    const own = decorators(bare, match.index)
    const group = indent === '' ? '' : classDecorators(bare, code, match.index, indent.length)
    const skips = [whole, skipOf(own), skipOf(group), skipInside(masked, [from, to])]
    const skip = skips.reduce<Skip | undefined>((worst, each) => worseSkip(worst, each.skip), undefined)
    const skipText = skips.find(each => each.skip === skip)?.skipText
    return {
      name: match[2] ?? '',
      file,
      line: lineAt(masked.text, match.index),
      language: 'python' as const,
      ...(skip === undefined ? {} : { skip }),
      ...(skip === undefined || skipText === undefined ? {} : { skipText }),
      isFocused: false,
      body: squeeze(bare.slice(from, to)),
      assertions,
      cases: rowsOf(own),
      isHelper: false,
    }
  })
}

/** The decorators right above a position, with closed brackets. */
function decorators(bare: string, at: number): string {
  const above = bare.slice(0, at).split('\n')
  above.pop()
  const taken: string[] = []
  for (let line = above.pop(); line !== undefined; line = above.pop()) {
    taken.unshift(line)
    if (/^\s*@/.test(line)) continue
    if (/^\s*$|^\s*(def|class|return|assert|import|from)\b|^[A-Za-z_]\w*\s*=/.test(line) || taken.length > 400) {
      taken.shift()
      break
    }
  }
  const text = taken.join('\n')
  const begin = text.search(/^[ \t]*@/m)
  return begin < 0 ? '' : text.slice(begin)
}

function classDecorators(bare: string, code: string, at: number, indent: number): string {
  let best: number | undefined
  for (const match of code.slice(0, at).matchAll(/^([ \t]*)class[ \t]+\w+/gm))
    if ((match[1]?.length ?? 0) < indent) best = match.index
  return best === undefined ? '' : decorators(bare, best)
}

type SkipFound = { skip?: Skip; skipText?: string }

function skipOf(text: string): SkipFound {
  const always = /@(?:pytest\.mark\.|unittest\.|mark\.)?(skip|xfail|expectedFailure)\b(?!if|If|Unless)(\([^\n]*)?/.exec(
    text,
  )
  if (always) {
    const condition = /^\(\s*(?:condition\s*=\s*)?([^"')=,]+),/.exec(always[2] ?? '')?.[1]
    const skip: Skip = condition === undefined ? 'always' : skipKind(condition)
    return { skip, skipText: `@${always[1]}` }
  }
  const conditional = /@(?:pytest\.mark\.|unittest\.|mark\.)?(skipif|skipIf|skipUnless)\s*\(/.exec(text)
  if (!conditional) return {}
  const open = conditional.index + conditional[0].length - 1
  const [first] = partsOf(text, open + 1, closingOf(text, open) - 1)
  const condition = first
    ? text
        .slice(...first)
        .replace(/^\s*condition\s*=/, '')
        .trim()
    : ''
  const turned = conditional[1] === 'skipUnless' ? `not ${condition}` : condition
  return { skip: skipKind(turned === 'not False' ? 'True' : turned), skipText: `@${conditional[1]}(${condition})` }
}

/** `pytestmark = pytest.mark.skip`, `pytest.skip(allow_module_level=True)`, `__test__ = False`. */
function moduleSkip({ bare }: Masked): SkipFound {
  const mark = /^pytestmark\s*=\s*(.*(?:\n\s+.*)*)/m.exec(bare)?.[1]
  if (mark !== undefined && /\b(skip|xfail)\b/.test(mark)) return { skip: 'always', skipText: 'pytestmark = skip' }
  const conditional = mark === undefined ? null : /skipif\s*\(\s*([^,\n]+)/.exec(mark)
  if (conditional) return { skip: skipKind(conditional[1] ?? ''), skipText: `pytestmark = skipif(${conditional[1]})` }
  if (/^pytest\.skip\([^\n]*allow_module_level/m.test(bare))
    return { skip: 'always', skipText: 'pytest.skip(allow_module_level)' }
  return /^__test__\s*=\s*False/m.test(bare) ? { skip: 'always', skipText: '__test__ = False' } : {}
}

function skipInside({ bare }: Masked, [from, to]: [number, number]): SkipFound {
  const found =
    /^([ \t]*)((?:if[ \t]+([^\n]+):[ \t]*)?)(?:raise[ \t]+)?(pytest\.(?:skip|xfail)|self\.skipTest|unittest\.SkipTest)\(/m.exec(
      bare.slice(from, to),
    )
  if (!found) return {}
  const name = `${found[4]}()`
  if (found[3] !== undefined) return { skip: skipKind(found[3]), skipText: `${name} if ${found[3]}` }
  const before =
    bare
      .slice(from, from + found.index)
      .trimEnd()
      .split('\n')
      .at(-1) ?? ''
  const guard = /^([ \t]*)if[ \t]+(.+):$/.exec(before)
  if (guard && (guard[1]?.length ?? 0) < (found[1]?.length ?? 0))
    return { skip: skipKind(guard[2] ?? ''), skipText: `${name} if ${guard[2]}` }
  return { skip: /^[ \t]*(except|else)/.test(before) ? 'condition' : 'always', skipText: name }
}

/** The rows of `@pytest.mark.parametrize("a,b", [ … ])`. */
function rowsOf(decorators: string): string[] {
  const rows: string[] = []
  for (const match of decorators.matchAll(/parametrize\s*\(/g)) {
    const open = match.index + match[0].length - 1
    const parts = partsOf(decorators, open + 1, closingOf(decorators, open) - 1)
    // The names are one string with commas: the rows are the first argument that is a list.
    const list = parts.find(part => /^\s*[[(]/.test(decorators.slice(...part)))
    if (list === undefined) continue
    const begin = decorators.slice(...list).search(/[[(]/)
    const at = list[0] + begin
    rows.push(
      ...partsOf(decorators, at + 1, closingOf(decorators, at) - 1).map(part => squeeze(decorators.slice(...part))),
    )
  }
  return rows
}

/** The body of the `def` whose bracket opens at `open`. */
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

/** Marks assertions whose failure is caught, that are never reached, or that are under a condition. */
function markPythonTroubles(masked: Masked, [from, to]: [number, number], found: FoundAssertion[]): void {
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

/** A condition under which the test silently returns, and that does not depend on the machine. */
function leavesUnder(line: Line, lines: Line[]): boolean {
  const { from, to } = spanOf(line, lines)
  const below = lines.filter(({ at, code }) => at > from && at < to && code.trim() !== '')
  const isBare = below.length === 1 && /^\s*return\s*$/.test(below[0]?.code ?? '')
  return isBare && skipKind(line.code.replace(/^\s*if\b|:\s*$/g, '')) !== 'elsewhere'
}

/** `try:` whose handler swallows the error of an assertion; `with suppress(…)`. */
function isSwallowing(line: Line, lines: Line[], { bare }: Masked): boolean {
  if (/^\s*with\s+(contextlib\.)?suppress\s*\(/.test(line.code)) return /AssertionError|Exception/.test(line.code)
  if (!/^\s*try\s*:/.test(line.code)) return false
  const { to } = spanOf(line, lines)
  const handler = lines.find(other => other.at >= to && other.indent === line.indent && /^\s*except\b/.test(other.code))
  if (!handler || !/except\s*(:|\(?[^:]*\b(AssertionError|Exception|BaseException)\b)/.test(handler.code)) return false
  const span = spanOf(handler, lines)
  return !/\b(raise|fail|assert\w*)\b/.test(bare.slice(handler.at, span.to))
}

/** From a line to the end of its indented block. */
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

const ASSERTION_BEGINS =
  /(?<=^[ \t]*|[;:][ \t]*|with[ \t]+(?:\w+[ \t]+as[ \t]+\w+,[ \t]*)?|await[ \t]+)(?:(assert)\b(?!_)|((?:[\w.]+\.)?(?:assert\w+|fail|raises|warns|check_\w+|verify_\w+|expect\w*))\s*\()/gm

/** `assert …`, `self.assertEqual(…)`, `pytest.raises(…)`, `mock.assert_called_with(…)`. */
export function pythonAssertions(masked: Masked, from: number, to: number): FoundAssertion[] {
  const found: FoundAssertion[] = []
  const { code } = masked
  ASSERTION_BEGINS.lastIndex = from
  for (
    let match = ASSERTION_BEGINS.exec(code);
    match !== null && match.index < to;
    match = ASSERTION_BEGINS.exec(code)
  ) {
    if (/(def|class)[ \t]+$/.test(code.slice(Math.max(0, match.index - 12), match.index))) continue
    const one =
      match[1] === undefined
        ? called(masked, match[2] ?? '', match.index, match.index + match[0].length - 1)
        : asserted(masked, match.index)
    found.push(one)
    ASSERTION_BEGINS.lastIndex = Math.max(one.to, match.index + 1)
  }
  return found
}

function asserted(masked: Masked, from: number): FoundAssertion {
  const begin = from + 'assert'.length
  const end = statementEnd(masked.code, begin)
  const condition = withoutMessage(masked, begin, end)
  return foundAt(masked, [from, end], { matcher: 'assert', isNegated: false, args: [condition] }, `assert ${condition}`)
}

function called(masked: Masked, name: string, from: number, open: number): FoundAssertion {
  const closed = closingOf(masked.code, open)
  const matcher = name.slice(name.lastIndexOf('.') + 1)
  const args = argsOf(masked, open, closed)
  return foundAt(masked, [from, closed], { matcher, isNegated: false, args })
}

/** The end of a statement: of the line, or of the last line that an open bracket or a backslash continues. */
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

/** `assert a == b, "why"`: the message for people is not part of the assertion. */
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
