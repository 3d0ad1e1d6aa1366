import { overlap } from '../../tests/assertions/literals.ts'
import type { Assertion } from '../../tests/test-case.ts'

export interface Matched {
  /** The same thing is asserted in another way. */
  replaced: { before: Assertion; after: Assertion }[]
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
  return {
    replaced,
    removed: removed.filter(one => !taken.has(one)),
    added: added.filter(one => !taken.has(one)),
  }
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
