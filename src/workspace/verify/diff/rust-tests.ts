import { type FoundAssertion, foundAt, squeeze } from './assertions.ts'
import { argsOf } from './javascript-tests.ts'
import { closingOf, lineAt, type Masked } from './source-text.ts'
import { type Assertion, type Skip, skipKind, type TestCase } from './test-case.ts'
import { markTroubles } from './troubles.ts'

const FUNCTION = /(?:\bpub(?:\([^)\n]*\))?\s+)?(?:\basync\s+)?\bfn\s+(\w+)\s*(?:<[^>\n]*>)?\s*\([^)]*\)[^{};]*\{/g

/** Tests of `cargo test`, in their own files or beside the code. */
export function rustTests(masked: Masked, file: string): TestCase[] {
  const { code, bare } = masked
  const tests: TestCase[] = []
  for (const match of code.matchAll(FUNCTION)) {
    const attributes = attributesAbove(bare, match.index)
    if (!/#\s*\[\s*([\w:]+::)?(test|rstest|test_case|quickcheck|proptest)\b/.test(attributes)) continue
    const open = match.index + match[0].length - 1
    const body: [number, number] = [open, closingOf(code, open)]
    const assertions = rustAssertions(masked, ...body)
    markTroubles(masked, body, assertions)
    const line = lineAt(masked.text, match.index)
    const panics = expectedPanic(attributes, line)
    // In a test that has to panic, a failing assertion makes the test pass: it does not count.
    if (panics.length > 0) for (const one of assertions) one.trouble ??= 'swallowed'
    tests.push({
      name: match[1] ?? '',
      file,
      line,
      language: 'rust',
      ...skipOf(attributes, masked.text, match.index),
      isFocused: false,
      body: squeeze(bare.slice(...body)),
      assertions: [...panics, ...assertions],
      cases: [...attributes.matchAll(/#\s*\[\s*(?:test_case|case)(?:::\w+)?\s*\(([^\n]*)\)\s*\]/g)].map(([, row]) =>
        squeeze(row ?? ''),
      ),
      isHelper: false,
    })
  }
  return tests
}

/** `#[…]` on the lines right above, and on the same line before it; comments are already blanked. */
function attributesAbove(bare: string, at: number): string {
  const lines = bare.slice(Math.max(0, at - 4_000), at).split('\n')
  const taken = [lines.pop() ?? '']
  for (let line = lines.pop(); line !== undefined; line = lines.pop()) {
    if (line.trim() !== '' && !/^\s*#\s*!?\[|^\s*[^;{}]*\]\s*$|^\s*[\w"'(),. &[\]:=-]*,?\s*$/.test(line)) break
    taken.unshift(line)
  }
  const text = taken.join('\n')
  const begin = text.search(/^\s*#\s*\[/m)
  return begin < 0 ? '' : text.slice(begin)
}

function expectedPanic(attributes: string, line: number): Assertion[] {
  const found = /#\s*\[\s*should_panic\s*(?:\(([^\n]*?)\))?\s*\]/.exec(attributes)
  if (!found) return []
  const expected = /"((?:\\.|[^"\\])*)"/.exec(found[1] ?? '')?.[1]
  return [
    {
      text: squeeze(found[0]),
      line,
      strength: expected === undefined ? 2 : 3,
      matcher: 'should_panic',
      literals: expected === undefined ? [] : [`"${expected}"`],
      words: ['should_panic'],
    },
  ]
}

function skipOf(attributes: string, text: string, at: number): { skip?: Skip; skipText?: string } {
  const ignored = /#\s*\[\s*ignore\b[^\]]*\]/.exec(attributes)?.[0]
  if (ignored !== undefined) return { skip: 'always', skipText: ignored }
  const conditional = /#\s*\[\s*(?:cfg_attr|cfg)\s*\(([^\n]*)\)\s*\]/.exec(attributes)?.[1]
  if (conditional !== undefined && !/^test$/.test(conditional.trim()))
    return { skip: conditionKind(conditional), skipText: `#[cfg(${conditional})]` }
  // The tests of a disabled module are disabled too.
  const module = /#\s*!?\[\s*cfg\s*\(([^\n]*)\)\s*\]\s*(?:pub\s+)?mod\s+\w+\s*\{(?![\s\S]*\n\}\n)/.exec(
    text.slice(0, at),
  )?.[1]
  if (module === undefined || /^test$/.test(module.trim()) || !/any\(\)|feature|never|FALSE/i.test(module)) return {}
  return { skip: 'always', skipText: `#[cfg(${module})]` }
}

function conditionKind(condition: string): Skip {
  if (/\bany\(\)|\bnot\(test\)/.test(condition)) return 'always'
  if (/target_os|windows|unix|target_arch|target_family|target_pointer_width|miri|debug_assertions/.test(condition))
    return /all\(\)/.test(condition) ? 'always' : 'elsewhere'
  return skipKind(condition)
}

const ASSERTION_BEGINS =
  /(?<![\w])((?:debug_|prop_)?assert\w*!|panic!|unreachable!|(?:assert|check|verify|expect)_\w+)\s*[([{]/g

/** `assert_eq!(…)`, `assert!(…)`, and functions with names of assertions. */
export function rustAssertions(masked: Masked, from: number, to: number): FoundAssertion[] {
  const found: FoundAssertion[] = []
  const { code } = masked
  ASSERTION_BEGINS.lastIndex = from
  for (
    let match = ASSERTION_BEGINS.exec(code);
    match !== null && match.index < to;
    match = ASSERTION_BEGINS.exec(code)
  ) {
    if (/(fn|macro_rules!|\.)\s*$/.test(code.slice(Math.max(0, match.index - 16), match.index))) continue
    const open = match.index + match[0].length - 1
    const closed = closingOf(code, open)
    const matcher = match[1] ?? ''
    const isNegated = /_ne!$/.test(matcher)
    found.push(foundAt(masked, [match.index, closed], comparisonOf(matcher, argsOf(masked, open, closed), isNegated)))
    ASSERTION_BEGINS.lastIndex = closed
  }
  return found
}

function comparisonOf(matcher: string, args: string[], isNegated: boolean) {
  if (/^(debug_|prop_)?assert!$/.test(matcher)) return { matcher: 'assert!', isNegated, args: args.slice(0, 1) }
  if (/_eq!$/.test(matcher)) return { matcher: 'eq', isNegated, args: args.slice(0, 2) }
  return { matcher, isNegated, args }
}
