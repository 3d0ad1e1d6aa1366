import { speaksOf } from '../../change/removed-code.ts'
import { block, type DiffFinding, note } from '../../rules/rule.ts'
import { isCovered, literalsIn, overlap } from '../../tests/assertions/literals.ts'
import type { Assertion, TestCase } from '../../tests/test-case.ts'
import { type Matched, matchAssertions } from './match-assertions.ts'
import type { TestChange } from './test-change.ts'
import { isWider } from './tolerance.ts'
import { wantedFindings } from './wanted.ts'

/** Tests that are still there and would see less than before. */
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
    return [block('test.emptied', `${called(after)} asserts nothing any more: bring its assertions back.`, at)]
  }
  if (before.assertions.length === 0 && isBlank(after.body) && !isBlank(before.body))
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

function isBlank(body: string): boolean {
  return /^[\s{}()=>,;:]*(async|pass|\.\.\.|t|function|done|_t?)?[\s{}()=>,;:]*$/.test(body)
}

/** It stands in another test now, in a table of cases, or in one assertion about the whole. */
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
  // "is there" says nothing beside "is exactly this".
  const stronger = after.assertions.filter(
    other => other.strength >= 2 && one.words.some(word => other.words.includes(word)),
  )
  if (one.strength <= 1.5 && stronger.length > 0) return true
  const rows = after.cases.flatMap(literalsIn)
  if (one.literals.length > 0 && rows.length > 0 && isCovered(one.literals, rows)) return true
  return (
    one.literals.length > 1 &&
    all.cases.some(
      test => test !== after && test.skip !== 'always' && isCovered(one.literals, test.cases.flatMap(literalsIn)),
    )
  )
}

function lostFinding(one: Assertion, after: TestCase, { removed }: TestChange): DiffFinding {
  const at = { file: after.file, line: after.line }
  const shown = shortened(one.text)
  return speaksOf(one.text, removed)
    ? note('test.assertion-removed', `${called(after)} asserts no more: ${shown}, with what it is about.`, at)
    : block('test.assertion-removed', `${called(after)} asserts no more: ${shown}. Bring it back.`, at)
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
    return [block('test.weakened', `${called(test)} would see less: ${how}. Assert as much as before.`, at)]
  }
  if (isWider(before, after)) return [block('test.weakened', `${called(test)} is less exact: ${how}.`, at)]
  const went = without(before.literals, after.literals)
  const came = without(after.literals, before.literals)
  if (went.length === 0 || came.length === 0) return []
  // Where the subject is another too, the test was written anew rather than bent.
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

/** What is left of a list when each of the others took one away. */
function without(list: readonly string[], others: readonly string[]): string[] {
  const left = [...others]
  return list.filter(each => {
    const place = left.indexOf(each)
    if (place >= 0) left.splice(place, 1)
    return place < 0
  })
}

function tautology(one: Assertion, test: TestCase): DiffFinding {
  const text = `${called(test)} asserts what cannot fail: ${shortened(one.text)}.`
  return block('test.tautology', text, { file: test.file, line: one.line })
}

export function shortened(text: string): string {
  return text.length > 90 ? `${text.slice(0, 87)}…` : text
}
