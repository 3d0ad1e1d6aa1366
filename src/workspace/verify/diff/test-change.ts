import type { DiffChange, DiffFile } from './change.ts'
import { isCovered, overlap } from './code-piece.ts'
import { nameOf } from './file-kind.ts'
import { type ReadTestFiles, readTests } from './read-tests.ts'
import { productChanges, removedNames } from './removed-code.ts'
import type { Assertion, TestCase } from './test-case.ts'

/** What a change did to tests, and what it did to the program. */
export interface TestChange extends Paired {
  before: ReadTestFiles
  after: ReadTestFiles
  /** Names that were removed from the program. */
  removed: ReadonlySet<string>
  /** Whether the program itself was changed. */
  hasCode: boolean
  /** All new assertions, in any test. */
  pool: Assertion[]
  /** For each assertion, how much more often it occurs in running tests than before. */
  standing: ReadonlyMap<string, number>
}

export function testChangeOf(change: DiffChange): TestChange {
  const before = readTests(followed(change.files), 'before')
  const after = readTests(change.files, 'after', new Set(before.helpers.map(helper => helper.name)))
  const paired = pairTests(before, after)
  const code = productChanges(change)
  return {
    ...paired,
    before,
    after,
    removed: removedNames(change, code),
    hasCode: code.length > 0,
    pool: poolOf(before, after),
    standing: standingOf(before, after),
  }
}

/** The old tests with the current names of moved files: a moved fixture changes the path in its test. */
function followed(files: readonly DiffFile[]): DiffFile[] {
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

function standingOf(before: ReadTestFiles, after: ReadTestFiles): Map<string, number> {
  const counts = new Map<string, number>()
  const count = (text: string, by: number) => counts.set(text, (counts.get(text) ?? 0) + by)
  for (const test of before.cases) for (const { text } of test.assertions) count(text, -1)
  for (const test of after.cases)
    if (test.skip !== 'always')
      for (const { text, trouble } of test.assertions) if (trouble === undefined) count(text, 1)
  return counts
}

function poolOf(before: ReadTestFiles, after: ReadTestFiles): Assertion[] {
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

/** How the tests of before and after correspond. */
interface Paired {
  /** Tests that still exist, under any name and in any file. */
  pairs: { before: TestCase; after: TestCase }[]
  /** Tests that no longer exist, and whose content is in no other test either. */
  gone: TestCase[]
  /** New tests. */
  fresh: TestCase[]
}

/** Similar enough to be the same test under another name. */
const SAME = 0.5

/** Finds the new test for each old one: by name, then by content. */
function pairTests(before: ReadTestFiles, after: ReadTestFiles): Paired {
  const left = new Set(after.cases)
  const pairs: Paired['pairs'] = []
  let open = [...before.cases]
  const take = (fits: (one: TestCase, other: TestCase) => number) => {
    const still: TestCase[] = []
    for (const one of open) {
      const best = bestOf(one, left, fits)
      if (best === undefined) still.push(one)
      else {
        left.delete(best)
        pairs.push({ before: one, after: best })
      }
    }
    open = still
  }
  take((one, other) => (one.name === other.name && one.file === other.file ? 1 + alike(one, other) : 0))
  take((one, other) => (one.name === other.name ? 1 + alike(one, other) : 0))
  take((one, other) => (alike(one, other) >= SAME ? alike(one, other) : 0))
  const gone = open.filter(one => !isFolded(one, after.cases))
  const all = [...pairs, ...helperPairs(before, after)]
  return { pairs: all.map(pair => ({ ...pair, before: followNames(pair) })), gone, fresh: [...left] }
}

function bestOf(one: TestCase, left: Iterable<TestCase>, fits: (one: TestCase, other: TestCase) => number) {
  let best: TestCase | undefined
  let most = 0
  for (const other of left) {
    const score = one.language === other.language ? fits(one, other) : 0
    if (score > most) {
      best = other
      most = score
    }
  }
  return best
}

/** Similarity by words, values and assertions. */
function alike(one: TestCase, other: TestCase): number {
  const bodies = overlap(wordsOf(one), wordsOf(other))
  const [left, right] = [one, other].map(test => test.assertions.flatMap(each => each.literals)) as [string[], string[]]
  return left.length > 0 ? 0.7 * bodies + 0.3 * overlap(left, right) : bodies
}

/** The beginning of a test identifies it. */
const MOST_WORDS = 600

function wordsOf({ body }: TestCase): string[] {
  return [...body.words.slice(0, MOST_WORDS), ...body.literals.slice(0, MOST_WORDS)]
}

/** Its values are now rows of a table, or its assertions are in another test that calls the same code. */
function isFolded(one: TestCase, after: readonly TestCase[]): boolean {
  const own = one.assertions.flatMap(each => each.literals)
  const called = one.body.words
  return after.some(other => {
    if (other.language !== one.language || other.skip === 'always' || other.assertions.length === 0) return false
    if (one.assertions.length > 0 && one.assertions.every(each => other.assertions.some(its => its.text === each.text)))
      return true
    if (!other.body.calls.some(name => called.includes(name))) return false
    const there = [...other.body.literals, ...other.cases.flatMap(row => row.literals)]
    const known = one.body.literals.filter(each => there.includes(each)).length
    return own.length > 0 && isCovered(own, there) && known >= one.body.literals.length / 2
  })
}

/** The earlier test with the new names of its variables: one that is set to the same was only renamed. */
function followNames({ before, after }: Paired['pairs'][number]): TestCase {
  const names = new Map<string, string>()
  const follow = (text: string) => text.replaceAll(/"[^"]*"|[A-Za-z_$][\w$]*/g, word => names.get(word) ?? word)
  for (const [name, { text }] of before.locals) {
    if (after.locals.has(name)) continue
    const now = [...after.locals].find(([other, value]) => !before.locals.has(other) && value.text === follow(text))
    if (now) names.set(name, now[0])
  }
  if (names.size === 0) return before
  const assertions = before.assertions.map(one => ({ ...one, text: follow(one.text), words: one.words.map(follow) }))
  return { ...before, assertions }
}

function helperPairs(before: ReadTestFiles, after: ReadTestFiles): Paired['pairs'] {
  return before.helpers.flatMap(one => {
    const other = after.helpers.find(each => each.name === one.name && each.language === one.language)
    return other ? [{ before: one, after: other }] : []
  })
}
