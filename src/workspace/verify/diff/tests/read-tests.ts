import type { ChangedFile } from '../change/change.ts'
import { isTestFile, isTestSupport, type Language, languageOf } from '../change/file-kind.ts'
import { type HelperFunction, helperFunctions } from './asserting-functions.ts'
import { squeeze } from './assertions/found.ts'
import { type Masked, mask } from './mask.ts'
import { goTests } from './readers/go.ts'
import { javascriptTests } from './readers/javascript.ts'
import { pythonTests } from './readers/python.ts'
import { rustTests } from './readers/rust.ts'
import type { Assertion, TestCase } from './test-case.ts'

/** What a change holds of tests on one side: the tests, and the functions that assert for them. */
export interface Tests {
  cases: TestCase[]
  /** Functions that assert something, as if they were tests: they are compared in the same way. */
  helpers: TestCase[]
}

/** Longer files are no tests that anybody wrote. */
const LONGEST = 600_000

/**
 * All tests of the changed files, before or after. What a function asserts that a test calls counts as the test's own; one in
 * `asserting` counts as such a function even when it asserts nothing any more.
 */
export function readTests(
  files: readonly ChangedFile[],
  side: 'before' | 'after',
  asserting: ReadonlySet<string> = new Set(),
): Tests {
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

function readFile({ path, kind }: ChangedFile, text: string | undefined): Read[] {
  const language = languageOf(path)
  if (kind !== 'text' || language === undefined || text === undefined || text.length > LONGEST) return []
  const isTest = isTestFile(path, text)
  if (!isTest && !isTestSupport(path)) return []
  const masked = mask(text, language)
  const cases = isTest ? testsOf(masked, path, language) : []
  const names = new Set(cases.map(test => test.name))
  // In Rust a function beside the tests may be the program's own: only one that is called by a test counts.
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

/** Calls of functions that assert are replaced by what those assert, two levels deep. */
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
