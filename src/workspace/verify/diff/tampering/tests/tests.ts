import type { DiffRule } from '../../rules/rule.ts'
import { goneFindings } from './gone.ts'
import { skipFindings } from './skipped.ts'
import { caseFindings } from './table-cases.ts'
import { testChangeOf } from './test-change.ts'
import { troubledFindings } from './troubled.ts'
import { weakenedFindings } from './weakened.ts'

/** What was done to tests, one by one: each is followed from before to after, under whatever name and in whatever file. */
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
