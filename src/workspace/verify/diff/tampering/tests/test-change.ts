import type { Change, ChangedFile } from '../../change/change.ts'
import { nameOf } from '../../change/file-kind.ts'
import { productChanges } from '../../change/product-change.ts'
import { removedNames } from '../../change/removed-code.ts'
import { type Paired, pairTests } from '../../tests/pair-tests.ts'
import { readTests, type Tests } from '../../tests/read-tests.ts'
import type { Assertion } from '../../tests/test-case.ts'

/** What a change did to tests, and what it did to the program. */
export interface TestChange extends Paired {
  before: Tests
  after: Tests
  /** Names that the program has no more. */
  removed: ReadonlySet<string>
  /** Whether the program itself was changed. */
  hasCode: boolean
  /** Everything that is asserted now and was not before, in whichever test. */
  pool: Assertion[]
  /** For each assertion how much more often it stands in tests that run than before. */
  standing: ReadonlyMap<string, number>
}

export function testChangeOf(change: Change): TestChange {
  const before = readTests(followed(change.files), 'before')
  const after = readTests(change.files, 'after', new Set(before.helpers.map(helper => helper.name)))
  const paired = pairTests(before, after)
  return {
    ...paired,
    before,
    after,
    removed: removedNames(change),
    hasCode: productChanges(change).length > 0,
    pool: poolOf(before, after),
    standing: standingOf(before, after),
  }
}

/** Tests as they were, with the names that files of the same text have now: whoever moves a fixture says so in its test. */
function followed(files: readonly ChangedFile[]): ChangedFile[] {
  const moved = files.flatMap(gone => {
    if (gone.status !== 'deleted' || gone.before === undefined || gone.before.trim() === '') return []
    const now = files.find(file => file.status === 'added' && file.after === gone.before)
    return now ? [[gone.path, now.path] as const] : []
  })
  if (moved.length === 0) return [...files]
  return files.map(file => {
    if (file.before === undefined) return file
    let { before } = file
    for (const [was, is] of moved) {
      before = before.replaceAll(was, is)
      before = before.replaceAll(new RegExp(`(?<=['"\`/])${escaped(nameOf(was))}(?=['"\`])`, 'g'), nameOf(is))
    }
    return { ...file, before }
  })
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

function standingOf(before: Tests, after: Tests): Map<string, number> {
  const counts = new Map<string, number>()
  const count = (text: string, by: number) => counts.set(text, (counts.get(text) ?? 0) + by)
  for (const test of before.cases) for (const { text } of test.assertions) count(text, -1)
  for (const test of after.cases)
    if (test.skip !== 'always')
      for (const { text, trouble } of test.assertions) if (trouble === undefined) count(text, 1)
  return counts
}

function poolOf(before: Tests, after: Tests): Assertion[] {
  const there = new Map<string, number>()
  for (const test of before.cases) for (const { text } of test.assertions) there.set(text, (there.get(text) ?? 0) + 1)
  return after.cases
    .filter(test => test.skip !== 'always')
    .flatMap(test => test.assertions)
    .filter(({ text, trouble }) => {
      const left = there.get(text) ?? 0
      if (left > 0) there.set(text, left - 1)
      return left === 0 && trouble === undefined
    })
}
