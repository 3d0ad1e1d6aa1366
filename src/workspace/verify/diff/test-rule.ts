import { type CodePiece, isCovered, overlap } from './code-piece.ts'
import { speaksOf } from './removed-code.ts'
import { block, type DiffFinding, type DiffRule, note } from './rule.ts'
import type { Assertion, Skip, TestCase } from './test-case.ts'
import { type TestChange, testChangeOf } from './test-change.ts'
import { shortened, weakenedFindings } from './weakened-tests.ts'

/** Changes of tests, one by one: each is followed from before to after, under any name and in any file. */
export const testRule: DiffRule = change => {
  const tests = testChangeOf(change)
  return [
    ...goneFindings(tests),
    ...skipFindings(tests),
    ...weakenedFindings(tests),
    ...troubledFindings(tests),
    ...caseFindings(tests),
  ]
}

/** Removed tests. If the tested code was removed too, that is a note; otherwise it blocks. */
function goneFindings({ gone, removed }: TestChange): DiffFinding[] {
  // A test that was always skipped checked nothing.
  const meant = gone.filter(test => test.skip !== 'always')
  return meant.map(test => {
    const at = { file: test.file, line: test.line }
    return isWithItsCode(test, removed)
      ? note('test.deleted', `The test "${test.name}" is gone, with what it tested.`, at)
      : block('test.deleted', `The test "${test.name}" is gone, but what it tested is not: bring it back.`, at)
  })
}

function isWithItsCode(test: TestCase, removed: ReadonlySet<string>): boolean {
  return speaksOf(test.body.text, removed) || speaksOf(test.file.replace(/\W+/g, ' '), removed)
}

const WORSE: Record<Skip, number> = { elsewhere: 1, condition: 2, always: 3 }

/** Tests that ran before and no longer run, and those that keep others from running. */
function skipFindings({ pairs, fresh }: TestChange): DiffFinding[] {
  return [
    ...pairs.flatMap(({ before, after }) => [...skipped(before, after), ...focused(after, before.isFocused)]),
    ...fresh.flatMap(test => [...freshSkip(test), ...focused(test, false)]),
  ]
}

function skipped(before: TestCase, after: TestCase): DiffFinding[] {
  if (after.skip === undefined || WORSE[after.skip] <= (before.skip === undefined ? 0 : WORSE[before.skip])) return []
  const at = { file: after.file, line: after.line }
  const how = after.skipText === undefined ? '' : ` (${after.skipText})`
  if (after.skip === 'elsewhere')
    return [note('test.skipped', `The test "${after.name}" is left out on some machines now${how}.`, at)]
  return [block('test.skipped', `The test "${after.name}" ran and is skipped now${how}: let it run.`, at)]
}

function freshSkip(test: TestCase): DiffFinding[] {
  if (test.skip !== 'always') return []
  return [note('test.skipped', `The new test "${test.name}" does not run.`, { file: test.file, line: test.line })]
}

function focused(test: TestCase, wasFocused: boolean): DiffFinding[] {
  if (!test.isFocused || wasFocused) return []
  const text = `Only "${test.name}" runs now, and the tests beside it do not: remove the focus.`
  return [block('test.focused', text, { file: test.file, line: test.line })]
}

/** Rows that were removed from a table of cases, or that expect something else. */
function caseFindings(change: TestChange): DiffFinding[] {
  return change.pairs
    .filter(({ before, after }) => before.cases.length > 0 && before.skip !== 'always' && after.skip !== 'always')
    .flatMap(({ before, after }) => tableFindings(before, after, change))
}

function tableFindings(before: TestCase, after: TestCase, change: TestChange): DiffFinding[] {
  const at = { file: after.file, line: after.line }
  const gone = rowsMissing(before, after)
  const come = rowsMissing(after, before)
  const missing = gone.filter(row => !isElsewhere(row, after, come, change))
  const [first] = missing
  if (first === undefined) return []
  if (after.cases.length < before.cases.length) {
    if (speaksOf(first.text, change.removed))
      return [note('test.cases-removed', `"${after.name}" has fewer cases, with what they tested.`, at)]
    return [
      block(
        'test.cases-removed',
        `"${after.name}" has fewer cases: ${shortened(first.text)} is gone. Bring it back.`,
        at,
      ),
    ]
  }
  const text = `"${after.name}" has another case where ${shortened(first.text)} was`
  return [
    change.hasCode
      ? note('test.expected-changed', `${text}.`, at)
      : block('test.expected-changed', `${text}, and the program is the same.`, at),
  ]
}

function rowsMissing({ cases }: TestCase, other: TestCase): CodePiece[] {
  const there = new Set(other.cases.map(row => row.text))
  return cases.filter(row => !there.has(row.text))
}

/** The same values written differently, or in another test. */
function isElsewhere(
  { literals: values }: CodePiece,
  after: TestCase,
  come: CodePiece[],
  { after: all }: TestChange,
): boolean {
  if (values.length === 0) return come.length > 0
  if (come.some(({ literals }) => isCovered(values, literals))) return true
  const near = ({ literals }: CodePiece) => isCovered(values, literals) && overlap(values, literals) > 0.1
  return all.cases.some(
    test =>
      test !== after &&
      test.skip !== 'always' &&
      (test.cases.some(near) || (near(test.body) && test.cases.length === 0)),
  )
}

const CODES = { swallowed: 'test.swallowed', unreached: 'test.unreached', guarded: 'test.unreached' } as const
const TEXTS = {
  swallowed: 'is caught by the test itself and ignored',
  unreached: 'is never reached',
  guarded: 'runs only under a condition',
} as const

/** Assertions that still exist but no longer count, and new tests in which none counts. */
function troubledFindings({ pairs, fresh }: TestChange): DiffFinding[] {
  return [
    ...pairs.flatMap(({ before, after }) => (before.skip === 'always' ? [] : newTroubles(before, after))),
    ...pairs.flatMap(({ before, after }) => fallback(before, after)),
    ...fresh.flatMap(test => (test.isHelper ? [] : vainTest(test))),
  ]
}

function newTroubles(before: TestCase, after: TestCase): DiffFinding[] {
  for (const kind of ['swallowed', 'unreached', 'guarded'] as const) {
    const now = after.assertions.filter(one => one.trouble === kind)
    const then = before.assertions.filter(one => one.trouble === kind)
    // A new assertion under a condition is a gain; an old one that got a condition is a loss.
    const meant = kind === 'guarded' ? now.filter(one => wasFree(one, before)) : now
    const [first] = meant
    if (first !== undefined && now.length > then.length) return [finding(first, kind, after)]
  }
  return []
}

/** `await ask().catch(() => ({ status: 200 }))`, where 200 is asserted: a failure gives the expected value. */
function fallback(before: TestCase, after: TestCase): DiffFinding[] {
  const known = new Set(before.fallbacks.map(({ text }) => text))
  for (const { text, literals: all } of after.fallbacks) {
    const given = all.filter(each => !/^(true|false|null|undefined|none|[01]|"")$/.test(each))
    const one = known.has(text)
      ? undefined
      : after.assertions.find(({ literals }) => given.some(each => literals.includes(each)))
    if (one) return [finding(one, 'swallowed', after)]
  }
  return []
}

function wasFree({ text }: Assertion, before: TestCase): boolean {
  return before.assertions.some(one => one.text === text && one.trouble === undefined)
}

/** A new test whose assertions ask nothing of the program proves nothing, whether they pass or fail. */
function vainTest(test: TestCase): DiffFinding[] {
  const [first] = test.assertions
  if (first === undefined || test.skip === 'always') return []
  const at = { file: test.file, line: test.line }
  if (test.assertions.every(one => one.strength === 0))
    return [
      block(
        'test.tautology',
        `The new test "${test.name}" checks nothing of the program: ${shortened(first.text)}.`,
        at,
      ),
    ]
  const { trouble } = first
  if (trouble === undefined || trouble === 'guarded' || !test.assertions.every(one => one.trouble === trouble))
    return []
  return [finding(first, trouble, test)]
}

function finding(one: Assertion, kind: keyof typeof CODES, test: TestCase): DiffFinding {
  const text = `In "${test.name}" an assertion ${TEXTS[kind]}: ${shortened(one.text)}.`
  return block(CODES[kind], text, { file: test.file, line: one.line })
}
