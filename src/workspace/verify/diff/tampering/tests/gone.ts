import { speaksOf } from '../../change/removed-code.ts'
import { block, type DiffFinding, note } from '../../rules/rule.ts'
import type { TestCase } from '../../tests/test-case.ts'
import type { TestChange } from './test-change.ts'

/** Tests that are gone. With what they tested, that is told; without, it stands in the way. */
export function goneFindings({ gone, removed }: TestChange): DiffFinding[] {
  // One that was skipped anyway kept nobody from anything.
  const meant = gone.filter(test => test.skip !== 'always')
  return meant.map(test => {
    const at = { file: test.file, line: test.line }
    return isWithItsCode(test, removed)
      ? note('test.deleted', `The test "${test.name}" is gone, with what it tested.`, at)
      : block('test.deleted', `The test "${test.name}" is gone, and what it tested is not: bring it back.`, at)
  })
}

function isWithItsCode(test: TestCase, removed: ReadonlySet<string>): boolean {
  return speaksOf(test.body, removed) || speaksOf(test.file.replace(/\W+/g, ' '), removed)
}
