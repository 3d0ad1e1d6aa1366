import { isCovered, literalsIn, overlap } from './assertions/literals.ts'
import type { Tests } from './read-tests.ts'
import type { TestCase } from './test-case.ts'

/** What became of the tests. */
export interface Paired {
  /** Tests that are still there, under whatever name and in whatever file. */
  pairs: { before: TestCase; after: TestCase }[]
  /** Tests that are in no file any more, and whose content is in no other test either. */
  gone: TestCase[]
  /** Tests that were not there before. */
  fresh: TestCase[]
}

/** Alike enough to be the same test under another name. */
const SAME = 0.5

/** Finds for each test of before the one of after that it became: by name, then by what is in it. */
export function pairTests(before: Tests, after: Tests): Paired {
  const left = new Set(after.cases)
  const alike = openAlike()
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
  return { pairs: [...pairs, ...helperPairs(before, after)], gone, fresh: [...left] }
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

/** By the words and values in them, and by what they assert. Each test is taken apart once. */
function openAlike(): (one: TestCase, other: TestCase) => number {
  const parts = new Map<TestCase, { words: string[]; values: string[] }>()
  const partsOf = (test: TestCase) => {
    const known = parts.get(test)
    if (known) return known
    const made = { words: tokens(test.body), values: test.assertions.flatMap(each => each.literals) }
    parts.set(test, made)
    return made
  }
  return (one, other) => {
    const [left, right] = [partsOf(one), partsOf(other)]
    const bodies = overlap(left.words, right.words)
    return left.values.length > 0 ? 0.7 * bodies + 0.3 * overlap(left.values, right.values) : bodies
  }
}

/** The beginning of a test tells which one it is. */
const LONGEST_BODY = 4_000

function tokens(text: string): string[] {
  return text.slice(0, LONGEST_BODY).match(/[A-Za-z_$][\w$]*|"[^"]*"|'[^']*'|`[^`]*`|\d+(?:\.\d+)?/g) ?? []
}

/** Its values are rows of a table now, or its assertions stand in another test that calls the same. */
function isFolded(one: TestCase, after: readonly TestCase[]): boolean {
  const values = literalsIn(one.body)
  const own = one.assertions.flatMap(each => each.literals)
  const called = calls(one.body)
  return after.some(other => {
    if (other.language !== one.language || other.skip === 'always' || other.assertions.length === 0) return false
    if (one.assertions.length > 0 && one.assertions.every(each => other.assertions.some(its => its.text === each.text)))
      return true
    if (!calls(other.body).some(name => called.includes(name))) return false
    const there = [...literalsIn(other.body), ...other.cases.flatMap(literalsIn)]
    const known = values.filter(each => there.includes(each)).length
    return own.length > 0 && isCovered(own, there) && known >= values.length / 2
  })
}

function calls(body: string): string[] {
  return [...body.matchAll(/([A-Za-z_$][\w$]*)(?:!?\s*\(|\.)/g)]
    .map(([, name]) => name ?? '')
    .filter(
      name =>
        !/^(expect|assert|assert_eq|t|self|require|test|it|toBe|toEqual|equal|strictEqual|deepEqual|Errorf|Fatal|Run|if|for|of|async|await|function|return)$/.test(
          name,
        ),
    )
}

function helperPairs(before: Tests, after: Tests): Paired['pairs'] {
  return before.helpers.flatMap(one => {
    const other = after.helpers.find(each => each.name === one.name && each.language === one.language)
    return other ? [{ before: one, after: other }] : []
  })
}
