import { block, type DiffFinding, note } from '../../rules/rule.ts'
import type { Skip, TestCase } from '../../tests/test-case.ts'
import type { TestChange } from './test-change.ts'

const WORSE: Record<Skip, number> = { elsewhere: 1, condition: 2, always: 3 }

/** Tests that ran and do not run any more, and those beside which no other runs. */
export function skipFindings({ pairs, fresh }: TestChange): DiffFinding[] {
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
  const text = `Only "${test.name}" runs now, and the tests beside it do not: take the focus away.`
  return [block('test.focused', text, { file: test.file, line: test.line })]
}
