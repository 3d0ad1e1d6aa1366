import { type FoundAssertion, foundAt, squeeze } from './assertions.ts'
import { argsOf } from './javascript-tests.ts'
import { closingOf, lineAt, type Masked, partsOf } from './source-text.ts'
import { type Skip, skipKind, type TestCase } from './test-case.ts'
import { markTroubles } from './troubles.ts'

const TEST_BEGINS = /^func\s+(?:\([^)]*\)\s*)?((?:Test|Fuzz|Example)\w*)\s*\(([^)]*)\)\s*\{/gm

/** Tests of `go test`, with their subtests and tables. */
export function goTests(masked: Masked, file: string): TestCase[] {
  const { code } = masked
  const left = buildTag(masked)
  return [...code.matchAll(TEST_BEGINS)]
    .filter(match => match[1] !== 'TestMain')
    .map(match => {
      const open = match.index + match[0].length - 1
      const body: [number, number] = [open, closingOf(code, open)]
      const assertions = goAssertions(masked, ...body)
      // `if got != want { t.Error() }` is an assertion in Go: only an `if` around it is a condition.
      markTroubles(masked, body, assertions, 1)
      const skip = left ?? skipInside(masked, body)
      return {
        name: match[1] ?? '',
        file,
        line: lineAt(masked.text, match.index),
        language: 'go' as const,
        ...skip,
        isFocused: false,
        body: squeeze(masked.bare.slice(...body)),
        assertions,
        cases: tableOf(masked, body),
        isHelper: false,
      }
    })
}

/** `//go:build ignore` leaves out the whole file. */
function buildTag({ text }: Masked): { skip: Skip; skipText: string } | undefined {
  const tag = /^\/\/go:build\s+(.+)$/m.exec(text.slice(0, 4_000))?.[1]?.trim()
  if (tag === undefined || /^(unit|test)$/.test(tag)) return undefined
  const isPlatform = /^!?\(?\s*(windows|darwin|linux|unix|freebsd|amd64|arm64|cgo|race|go1\.\d+)/.test(tag)
  const skip: Skip = isPlatform ? 'elsewhere' : 'always'
  return { skip, skipText: `//go:build ${tag}` }
}

function skipInside({ code, bare }: Masked, [from, to]: [number, number]): { skip?: Skip; skipText?: string } {
  const found = /(?<![\w.])(?:t|tb|s\.T\(\))\.(Skip|Skipf|SkipNow)\(/.exec(code.slice(from, to))
  if (!found) return {}
  const at = from + found.index
  let depth = 0
  for (let place = at - 1; place > from; place--) {
    if (code[place] === '}') depth += 1
    else if (code[place] === '{' && depth > 0) depth -= 1
    else if (code[place] === '{') {
      const line = bare.slice(bare.lastIndexOf('\n', place) + 1, place)
      const condition = /\bif\s+(.*)$/.exec(line)?.[1]
      // In a subtest or a loop it skips only some cases, which are known only at run time.
      return {
        skip: condition === undefined ? 'always' : skipKind(goCondition(condition)),
        skipText: `t.${found[1]}()${condition ? ` if ${condition}` : ''}`,
      }
    }
  }
  return { skip: 'always', skipText: `t.${found[1]}()` }
}

function goCondition(condition: string): string {
  const last = condition.slice(condition.lastIndexOf(';') + 1).trim()
  return /os\.(Getenv|LookupEnv)/.test(condition) ? condition : /LookPath/.test(condition) ? 'LookPath' : last
}

/** The rows of `tests := []struct{…}{ … }`. */
function tableOf({ code, bare }: Masked, [from, to]: [number, number]): string[] {
  const table = /(?:\[\]struct\s*\{[^{}]*\}|\[\]\w+|map\[string\](?:struct\s*\{[^{}]*\}|\w+))\s*\{/.exec(
    code.slice(from, to),
  )
  if (!table) return []
  const open = from + table.index + table[0].length - 1
  return partsOf(code, open + 1, closingOf(code, open) - 1).map(part => squeeze(bare.slice(...part)))
}

const ASSERTION_BEGINS =
  /(?<![\w.])(?:(?:t|tb|b|tt|st)\.(Errorf?|Fatalf?|Fail|FailNow)|(?:assert|require|is|s|suite|c|qt|a|r|must)\.([A-Z]\w*)|((?:assert|require|check|must|expect|verify)[A-Z]\w*))\s*(?:\[[^\]()]{0,60}\])?\(/g

/** `if got != want { t.Errorf(…) }`, and the functions of testify and similar libraries. */
export function goAssertions(masked: Masked, from: number, to: number): FoundAssertion[] {
  const found: FoundAssertion[] = []
  const { code } = masked
  ASSERTION_BEGINS.lastIndex = from
  for (
    let match = ASSERTION_BEGINS.exec(code);
    match !== null && match.index < to;
    match = ASSERTION_BEGINS.exec(code)
  ) {
    if (/func\s+(\([^)]*\)\s*)?$/.test(code.slice(Math.max(0, match.index - 60), match.index))) continue
    const open = match.index + match[0].length - 1
    const closed = closingOf(code, open)
    if (match[1] !== undefined) found.push(complaint(masked, match.index, closed, from))
    else found.push(called(masked, match[2] ?? match[3] ?? '', match.index, [open, closed]))
    ASSERTION_BEGINS.lastIndex = closed
  }
  return found
}

function called(masked: Masked, matcher: string, from: number, [open, closed]: [number, number]): FoundAssertion {
  const args = argsOf(masked, open, closed).filter(arg => !/^(t|tb|b|tt|s\.T\(\))$/.test(arg))
  const plain = matcher.replace(/f$/, '')
  const isNegated = /^Not[A-Z]/.test(plain) && !/^(NotNil|NotEmpty|NotZero)$/.test(plain)
  return foundAt(masked, [from, closed], { matcher: plain, isNegated, args })
}

/** The assertion is the condition of the error; the text of the error is only for people. */
function complaint(masked: Masked, from: number, to: number, least: number): FoundAssertion {
  const condition = conditionAround(masked, from, least)
  if (condition === undefined)
    return foundAt(masked, [from, to], { matcher: 'fail', isNegated: false, args: ['fail'] }, 'fail')
  // The error is reported where the condition holds: the assertion is the negated condition.
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

/** `got != want` reports an error, so `got == want` is asserted. */
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

/** The condition of the block around a position, if it is an `if`. */
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
