import { overlap } from '../../tests/assertions/literals.ts'
import type { Assertion } from '../../tests/test-case.ts'

export interface Matched {
  /** The same thing is asserted in another way. */
  replaced: { before: Assertion; after: Assertion }[]
  /** Something else is expected to be the same: what is asserted about was written anew. */
  rewritten: { before: Assertion; after: Assertion }[]
  /** Nothing stands for it any more. */
  removed: Assertion[]
  added: Assertion[]
}

/** Less alike than this, two assertions have nothing to do with one another. */
const ALIKE = 0.34

/** What became of the assertions of one test. Those that are still there word for word are left out. */
export function matchAssertions(before: readonly Assertion[], after: readonly Assertion[]): Matched {
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
  // Of two that wait for an error, one became the other, whichever error that is.
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

/** Another way to look at the same: a value that is not just any, or most of the names. */
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
