import { speaksOf } from '../../change/removed-code.ts'
import { block, type DiffFinding, note } from '../../rules/rule.ts'
import { isCovered, literalsIn, overlap } from '../../tests/assertions/literals.ts'
import type { TestCase } from '../../tests/test-case.ts'
import type { TestChange } from './test-change.ts'
import { shortened } from './weakened.ts'

/** Rows that went out of a table of cases, or that expect something else. */
export function caseFindings(change: TestChange): DiffFinding[] {
  return change.pairs
    .filter(({ before, after }) => before.cases.length > 0 && before.skip !== 'always' && after.skip !== 'always')
    .flatMap(({ before, after }) => tableFindings(before, after, change))
}

function tableFindings(before: TestCase, after: TestCase, change: TestChange): DiffFinding[] {
  const at = { file: after.file, line: after.line }
  const gone = before.cases.filter(row => !after.cases.includes(row))
  const come = after.cases.filter(row => !before.cases.includes(row))
  const missing = gone.filter(row => !isElsewhere(row, after, come, change))
  const [first] = missing
  if (first === undefined) return []
  if (after.cases.length < before.cases.length) {
    if (speaksOf(first, change.removed))
      return [note('test.cases-removed', `"${after.name}" has fewer cases, with what they tested.`, at)]
    return [
      block('test.cases-removed', `"${after.name}" has fewer cases: ${shortened(first)} is gone. Bring it back.`, at),
    ]
  }
  const text = `"${after.name}" has another case where ${shortened(first)} was`
  return [
    change.hasCode
      ? note('test.expected-changed', `${text}.`, at)
      : block('test.expected-changed', `${text}, and the program is the same.`, at),
  ]
}

/** The same values in another spelling, or in another test. */
function isElsewhere(row: string, after: TestCase, come: string[], { after: all }: TestChange): boolean {
  const values = literalsIn(row)
  if (values.length === 0) return come.length > 0
  if (come.some(other => isCovered(values, literalsIn(other)))) return true
  const near = (text: string) => isCovered(values, literalsIn(text)) && overlap(values, literalsIn(text)) > 0.1
  return all.cases.some(
    test =>
      test !== after &&
      test.skip !== 'always' &&
      (test.cases.some(near) || (near(test.body) && test.cases.length === 0)),
  )
}
