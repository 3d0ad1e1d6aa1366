import { type FoundAssertion, squeeze } from './assertions.ts'
import type { DiffFile } from './change.ts'
import { isTestFile, isTestSupport, type Language, languageOf } from './file-kind.ts'
import { goAssertions, goTests } from './go-tests.ts'
import { javascriptAssertions, javascriptTests } from './javascript-tests.ts'
import { blockAfter, pythonAssertions, pythonTests } from './python-tests.ts'
import { rustAssertions, rustTests } from './rust-tests.ts'
import { closingOf, lineAt, type Masked, mask } from './source-text.ts'
import type { Assertion, TestCase } from './test-case.ts'

/** The tests on one side of a change, and the helper functions that assert for them. */
export interface ReadTestFiles {
  cases: TestCase[]
  /** Helper functions that assert: they are compared like tests. */
  helpers: TestCase[]
}

/** Longer files are not tests that a person wrote. */
const LONGEST = 600_000

/**
 * All tests of the changed files, before or after. Assertions of a helper function count as those of the tests that call it; a
 * function in `asserting` counts as a helper even if it no longer asserts anything.
 */
export function readTests(
  files: readonly DiffFile[],
  side: 'before' | 'after',
  asserting: ReadonlySet<string> = new Set(),
): ReadTestFiles {
  const read = files.flatMap(file => readFile(file, file[side]))
  for (const one of read)
    one.functions = one.functions.filter(each => each.assertions.length > 0 || asserting.has(each.name))
  const known = new Map(read.flatMap(one => one.functions.map(each => [each.name, each] as const)))
  return {
    cases: read.flatMap(one => one.cases.map(test => withHelpers(test, known))),
    helpers: read.flatMap(one => one.functions.map(each => asCase(each, one))),
  }
}

interface Read {
  file: string
  language: Language
  masked: Masked
  cases: TestCase[]
  functions: HelperFunction[]
}

function readFile({ path, kind }: DiffFile, text: string | undefined): Read[] {
  const language = languageOf(path)
  if (kind !== 'text' || language === undefined || text === undefined || text.length > LONGEST) return []
  const isTest = isTestFile(path, text)
  if (!isTest && !isTestSupport(path)) return []
  const masked = mask(text, path)
  const cases = isTest ? testsOf(masked, path, language) : []
  const names = new Set(cases.map(test => test.name))
  // In Rust a function in the same file may belong to the program: only one that a test calls counts.
  const functions = helperFunctions(masked, language, name => names.has(name)).filter(
    each =>
      language !== 'rust' || /(^|\/)tests\//.test(path) || cases.some(test => test.body.includes(`${each.name}(`)),
  )
  return [{ file: path, language, masked, cases, functions }]
}

function testsOf(masked: Masked, path: string, language: Language): TestCase[] {
  switch (language) {
    case 'javascript':
      return javascriptTests(masked, path)
    case 'python':
      return pythonTests(masked, path)
    case 'go':
      return goTests(masked, path)
    case 'rust':
      return rustTests(masked, path)
  }
}

/** Replaces calls of helper functions by their assertions, two levels deep. */
function withHelpers(test: TestCase, known: ReadonlyMap<string, HelperFunction>): TestCase {
  const called = (body: string) =>
    [...body.matchAll(/([A-Za-z_$][\w$]*)\s*\(/g)].flatMap(([, name]) => known.get(name ?? '') ?? [])
  const first = called(test.body)
  if (first.length === 0) return test
  const second = first.flatMap(each => each.assertions.flatMap(one => called(one.text)))
  const names = new Set([...first, ...second].map(each => each.name))
  const own = test.assertions.filter(one => !names.has(one.matcher) && !names.has(/^[\w$]+/.exec(one.text)?.[0] ?? ''))
  const inner = [...new Set([...first, ...second])].flatMap(each =>
    each.assertions.filter(one => !names.has(one.matcher)).map(one => ({ ...one, line: test.line })),
  )
  return { ...test, assertions: [...own, ...inner.map(plain)] }
}

function plain({ text, line, strength, matcher, literals, words }: Assertion): Assertion {
  return { text, line, strength, matcher, literals, words }
}

function asCase(helper: HelperFunction, { file, language, masked }: Read): TestCase {
  return {
    name: helper.name,
    file,
    line: helper.line,
    language,
    isFocused: false,
    body: squeeze(masked.bare.slice(...helper.body)),
    assertions: helper.assertions,
    cases: [],
    isHelper: true,
  }
}

/** A helper function that tests may call, with its assertions. */
interface HelperFunction {
  name: string
  line: number
  body: [number, number]
  assertions: FoundAssertion[]
}

const DECLARED: Record<Language, RegExp> = {
  javascript:
    /(?:function\*?\s+([A-Za-z_$][\w$]*)\s*(?:<[^>(]*>)?\s*\(|(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*(?::[^=\n]+)?=\s*(?:async\s*)?(?:function\s*\w*\s*)?\()/g,
  python: /^[ \t]*(?:async[ \t]+)?def[ \t]+(?!test)(\w+)[ \t]*\(/gm,
  go: /^func\s+(?:\([^)]*\)\s*)?((?!Test|Benchmark|Fuzz|Example)\w+)\s*(?:\[[^\]]*\])?\(/gm,
  rust: /\bfn\s+(\w+)\s*(?:<[^>]*>)?\s*\(/g,
}

/** Functions of a file that are not tests. */
function helperFunctions(masked: Masked, language: Language, isTest: (name: string) => boolean): HelperFunction[] {
  const { code } = masked
  const found: HelperFunction[] = []
  for (const match of code.matchAll(DECLARED[language])) {
    const name = match[1] ?? match[2] ?? ''
    if (name === '' || isTest(name)) continue
    const open = match.index + match[0].length - 1
    const body = language === 'python' ? pythonBody(code, match[0], open) : bracedBody(code, open)
    if (body === undefined) continue
    const assertions = assertionsOf(masked, language, body)
    found.push({ name, line: lineAt(masked.text, match.index), body, assertions })
  }
  return found
}

function assertionsOf(masked: Masked, language: Language, [from, to]: [number, number]): FoundAssertion[] {
  switch (language) {
    case 'javascript':
      return javascriptAssertions(masked, from, to)
    case 'python':
      return pythonAssertions(masked, from, to)
    case 'go':
      return goAssertions(masked, from, to)
    case 'rust':
      return rustAssertions(masked, from, to)
  }
}

function pythonBody(code: string, head: string, open: number): [number, number] {
  return blockAfter(code, open, /^[ \t]*/.exec(head)?.[0].length ?? 0)
}

/** After the parameters: a block, or the one expression of an arrow. */
function bracedBody(code: string, open: number): [number, number] | undefined {
  const end = closingOf(code, open)
  const between = /^[^{};]*?(=>|\{)\s*/.exec(code.slice(end, end + 300))
  if (!between) return undefined
  const at = end + between[0].length
  const brace = between[1] === '{' ? end + between[0].indexOf('{') : code[at] === '{' ? at : undefined
  if (brace !== undefined) return [brace, closingOf(code, brace)]
  const line = code.indexOf('\n', at)
  const paren = code.indexOf('(', at)
  if (paren >= 0 && (line < 0 || paren < line)) return [at, Math.max(closingOf(code, paren), line)]
  return [at, line < 0 ? code.length : line]
}
