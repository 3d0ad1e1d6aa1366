import { isCovered, overlap } from './code-piece.ts'
import { speaksOf } from './removed-code.ts'
import { block, type DiffFinding, note } from './rule.ts'
import type { Assertion, TestCase } from './test-case.ts'
import type { TestChange } from './test-change.ts'

/** Tests that still exist but would detect less than before. */
export function weakenedFindings(change: TestChange): DiffFinding[] {
  return change.pairs
    .filter(({ before }) => before.skip !== 'always')
    .flatMap(({ before, after }) => (after.skip === 'always' ? [] : comparedFindings(before, after, change)))
}

function comparedFindings(before: TestCase, after: TestCase, change: TestChange): DiffFinding[] {
  const matched = matchAssertions(before.assertions, after.assertions)
  const lost = matched.removed.filter(one => !isElsewhere(one, after, matched, change))
  if (after.assertions.length === 0 && lost.length > 0) {
    const at = { file: after.file, line: after.line }
    return [block('test.emptied', `${called(after)} no longer asserts anything: bring its assertions back.`, at)]
  }
  if (before.assertions.length === 0 && isBlank(after) && !isBlank(before))
    return [block('test.emptied', `${called(after)} is empty now.`, { file: after.file, line: after.line })]
  return [
    ...lost.map(one => lostFinding(one, after, change)),
    ...matched.replaced.flatMap(pair => replacedFindings(pair, after, change)),
    ...wantedFindings(before, after, change),
    ...matched.rewritten.map(pair => rewrittenFinding(pair, after)),
    ...matched.added.filter(one => one.strength === 0).map(one => tautology(one, after)),
  ]
}

function called({ isHelper, name }: TestCase): string {
  return isHelper ? `${name}, which tests call,` : `The test "${name}"`
}

function isBlank({ body }: TestCase): boolean {
  return body.calls.length === 0 && body.literals.length === 0
}

/** The assertion is now in another test, in a table of cases, or in one assertion about the whole. */
function isElsewhere(
  one: Assertion,
  after: TestCase,
  { added, replaced }: Matched,
  { pool, after: all, standing }: TestChange,
): boolean {
  if ((standing.get(one.text) ?? -1) >= 0) return true
  const same = (other: Assertion) =>
    other.strength >= one.strength - 0.5 &&
    overlap(one.words, other.words) >= 0.5 &&
    isCovered(one.literals, other.literals)
  if (one.literals.length > 0 && pool.some(same)) return true
  const here = [...added, ...replaced.map(pair => pair.after)].filter(other => other.strength >= one.strength - 0.5)
  if (
    one.literals.length > 0 &&
    here.some(other => isCovered(one.literals, other.literals) && other.literals.length > one.literals.length)
  )
    return true
  // Beside an exact assertion, one about existence adds nothing.
  const stronger = after.assertions.filter(
    other => other.strength >= 2 && one.words.some(word => other.words.includes(word)),
  )
  if (one.strength <= 1.5 && stronger.length > 0) return true
  const rows = after.cases.flatMap(row => row.literals)
  if (one.literals.length > 0 && rows.length > 0 && isCovered(one.literals, rows)) return true
  return (
    one.literals.length > 1 &&
    all.cases.some(
      test =>
        test !== after &&
        test.skip !== 'always' &&
        isCovered(
          one.literals,
          test.cases.flatMap(row => row.literals),
        ),
    )
  )
}

function lostFinding(one: Assertion, after: TestCase, { removed }: TestChange): DiffFinding {
  const at = { file: after.file, line: after.line }
  const shown = shortened(one.text)
  return speaksOf(one.text, removed)
    ? note('test.assertion-removed', `${called(after)} no longer asserts this, which is gone too: ${shown}`, at)
    : block('test.assertion-removed', `${called(after)} no longer asserts this: ${shown}. Bring it back.`, at)
}

function replacedFindings(
  { before, after }: Matched['replaced'][number],
  test: TestCase,
  change: TestChange,
): DiffFinding[] {
  const at = { file: test.file, line: after.line }
  const how = `${shortened(before.text)} became ${shortened(after.text)}`
  if (after.strength === 0 && before.strength > 0) return [tautology(after, test)]
  const drop = before.strength - after.strength
  if (drop >= 1) {
    if (after.strength >= 2 && isCovered(before.literals, after.literals) && before.literals.length > 0)
      return [note('test.weakened', `${called(test)} asserts a little less: ${how}.`, at)]
    return [block('test.weakened', `${called(test)} would detect less: ${how}. Assert as much as before.`, at)]
  }
  if (isWider(before, after)) return [block('test.weakened', `${called(test)} is less exact: ${how}.`, at)]
  const went = without(before.literals, after.literals)
  const came = without(after.literals, before.literals)
  if (went.length === 0 || came.length === 0) return []
  // If the subject differs too, the test was rewritten rather than weakened.
  const isSubjectSame = overlap(before.words, after.words) >= 0.4 || before.words.length === 0
  return change.hasCode || !isSubjectSame
    ? [note('test.expected-changed', `${called(test)} expects something else: ${how}.`, at)]
    : [
        block(
          'test.expected-changed',
          `${called(test)} expects something else, and the program is the same: ${how}.`,
          at,
        ),
      ]
}

function rewrittenFinding({ before, after }: Matched['rewritten'][number], test: TestCase): DiffFinding {
  const how = `${shortened(before.text)} became ${shortened(after.text)}`
  return note('test.expected-changed', `${called(test)} asserts about something else: ${how}.`, {
    file: test.file,
    line: after.line,
  })
}

/** The entries of a list that remain after removing each entry of the other once. */
function without(list: readonly string[], others: readonly string[]): string[] {
  const left = [...others]
  return list.filter(each => {
    const place = left.indexOf(each)
    if (place >= 0) left.splice(place, 1)
    return place < 0
  })
}

function tautology(one: Assertion, test: TestCase): DiffFinding {
  const text = `${called(test)} asserts what says nothing of the program: ${shortened(one.text)}.`
  return block('test.tautology', text, { file: test.file, line: one.line })
}

export function shortened(text: string): string {
  return text.length > 90 ? `${text.slice(0, 87)}…` : text
}

interface Matched {
  /** The same thing is asserted differently. */
  replaced: { before: Assertion; after: Assertion }[]
  /** The same value is expected of something else: the subject was rewritten. */
  rewritten: { before: Assertion; after: Assertion }[]
  /** No assertion replaces it. */
  removed: Assertion[]
  added: Assertion[]
}

/** Two assertions that are less similar than this are unrelated. */
const ALIKE = 0.34

/** How the assertions of one test changed. Unchanged ones are left out. */
function matchAssertions(before: readonly Assertion[], after: readonly Assertion[]): Matched {
  const { left: removed, right: added } = withoutSame(before, after)
  const scores = removed.flatMap(one => added.map(other => ({ one, other, score: alike(one, other) })))
  scores.sort((a, b) => b.score - a.score)
  const replaced: Matched['replaced'] = []
  const taken = new Set<Assertion>()
  for (const { one, other, score } of scores) {
    if (score < ALIKE || taken.has(one) || taken.has(other)) continue
    taken.add(one).add(other)
    replaced.push({ before: one, after: other })
  }
  // An assertion that expects an error corresponds to another one that does, whichever error it is.
  for (const one of removed.filter(each => THROWS.test(each.matcher) && !taken.has(each))) {
    const other = added.find(each => THROWS.test(each.matcher) && !taken.has(each))
    if (other === undefined) break
    taken.add(one).add(other)
    replaced.push({ before: one, after: other })
  }
  const rewritten: Matched['rewritten'] = []
  for (const one of removed.filter(each => !taken.has(each))) {
    const other = added.find(each => !taken.has(each) && (isSameExpectation(one, each) || isNear(one, each)))
    if (other === undefined) continue
    taken.add(one).add(other)
    rewritten.push({ before: one, after: other })
  }
  return {
    replaced,
    rewritten,
    removed: removed.filter(one => !taken.has(one)),
    added: added.filter(one => !taken.has(one)),
  }
}

function isSameExpectation(one: Assertion, other: Assertion): boolean {
  return one.matcher === other.matcher && other.strength >= one.strength && overlap(one.literals, other.literals) === 1
}

/** A different assertion about the same subject: it shares a significant value, or most of the names. */
function isNear(one: Assertion, other: Assertion): boolean {
  if (other.strength < one.strength) return false
  const telling = one.literals.filter(each => !/^(true|false|null|none|nil|undefined|[01]|"")$/.test(each))
  if (telling.length > 0) return telling.some(each => other.literals.includes(each))
  return one.literals.length === 0 && overlap(one.words, other.words) >= 0.2
}

const THROWS = /throw|raises|reject|panic/i

function withoutSame(before: readonly Assertion[], after: readonly Assertion[]) {
  const right = [...after]
  const left = before.filter(one => {
    const place = right.findIndex(other => other.text === one.text)
    if (place >= 0) right.splice(place, 1)
    return place < 0
  })
  return { left, right }
}

function alike(one: Assertion, other: Assertion): number {
  const words = overlap(one.words, other.words)
  const literals = one.literals.length + other.literals.length === 0 ? words : overlap(one.literals, other.literals)
  return 0.6 * words + 0.3 * literals + (one.matcher === other.matcher ? 0.15 : 0)
}

/** Names of variables that hold an expected value. */
const WANTED = /^(want|wanted|expected|exp|expectation|should_be|expected_?output)$/i

/** Expected values in variables that changed: another value, or one that the code under test returns. */
function wantedFindings(before: TestCase, after: TestCase, { hasCode }: TestChange): DiffFinding[] {
  const at = { file: after.file, line: after.line }
  for (const [name, value] of before.locals) {
    const next = WANTED.test(name) ? after.locals.get(name) : undefined
    if (next === undefined || next.text === value.text || value.literals.length === 0) continue
    // The expected value is made by the very function under test.
    const isMade =
      value.calls.length === 0 &&
      next.calls.some(
        call =>
          after.assertions.some(one => one.calls.includes(call)) ||
          after.body.calls.filter(each => each === call).length > 1,
      )
    if (isMade)
      return [
        block(
          'test.weakened',
          `"${after.name}" expects what the code under test returns (${name}): write the value.`,
          at,
        ),
      ]
    if (overlap(value.literals, next.literals) === 1 || next.literals.length === 0) continue
    const text = `"${after.name}" expects something else (${name})`
    return [
      hasCode
        ? note('test.expected-changed', `${text}.`, at)
        : block('test.expected-changed', `${text}, and the program is the same.`, at),
    ]
  }
  return []
}

/** Whether the same comparison accepts more as equal than before. */
function isWider(before: Assertion, after: Assertion): boolean {
  const [one, other] = [toleranceOf(before.text), toleranceOf(after.text)]
  if (one === undefined || other === undefined || one.kind !== other.kind) return false
  return one.kind === 'digits' ? other.value < one.value : other.value > one.value * 1.001
}

interface Tolerance {
  kind: 'digits' | 'distance'
  value: number
}

function toleranceOf(text: string): Tolerance | undefined {
  const close = /toBeCloseTo\((?:[^(),]|\([^()]*\))+,\s*(\d+)\)/.exec(text) ?? /\bplaces\s*=\s*(\d+)/.exec(text)
  if (close) return { kind: 'digits', value: Number(close[1]) }
  const far =
    /\b(?:rel|abs|rel_tol|abs_tol|delta|rtol|atol|epsilon)\s*=\s*(-?[\d.]+(?:e[+-]?\d+)?)/.exec(text) ??
    /(?:InDelta|InEpsilon)f?\((?:.*),\s*([\d.]+(?:e[+-]?\d+)?)(?:,\s*"[^"]*".*)?\)$/.exec(text) ??
    /(?:abs\(\)?|Abs\(|\.abs\(\))[^<>]*(?:<|>)=?\s*([\d.]+(?:e[+-]?\d+)?)/.exec(text)
  return far ? { kind: 'distance', value: Number(far[1]) } : undefined
}
