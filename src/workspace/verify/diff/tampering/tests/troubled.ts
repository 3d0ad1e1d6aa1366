import { block, type DiffFinding } from '../../rules/rule.ts'
import { literalsIn } from '../../tests/assertions/literals.ts'
import type { Assertion, TestCase } from '../../tests/test-case.ts'
import type { TestChange } from './test-change.ts'
import { shortened } from './weakened.ts'

const CODES = { swallowed: 'test.swallowed', unreached: 'test.unreached', guarded: 'test.unreached' } as const
const TEXTS = {
  swallowed: 'is caught by the test itself, and nothing comes of it',
  unreached: 'is never reached',
  guarded: 'is looked at only under a condition',
} as const

/** Assertions that are still there and do not count any more, and new tests in which none counts. */
export function troubledFindings({ pairs, fresh }: TestChange): DiffFinding[] {
  return [
    ...pairs.flatMap(({ before, after }) => (before.skip === 'always' ? [] : newTroubles(before, after))),
    ...pairs.flatMap(({ before, after }) => fallback(before, after)),
    ...fresh.flatMap(test => (test.isHelper ? [] : vainTest(test))),
  ]
}

function newTroubles(before: TestCase, after: TestCase): DiffFinding[] {
  for (const kind of ['swallowed', 'unreached', 'guarded'] as const) {
    const now = after.assertions.filter(one => one.trouble === kind)
    const then = before.assertions.filter(one => one.trouble === kind)
    // A new assertion under a condition is one more; an old one that got a condition is one less.
    const meant = kind === 'guarded' ? now.filter(one => wasFree(one, before)) : now
    const [first] = meant
    if (first !== undefined && now.length > then.length) return [finding(first, kind, after)]
  }
  return []
}

/** `await ask().catch(() => ({ status: 200 }))`, where 200 is what is asserted: what fails gives what is expected. */
function fallback(before: TestCase, after: TestCase): DiffFinding[] {
  const known = new Set([...before.body.matchAll(FALLBACK)].map(([whole]) => whole))
  for (const [whole, value = ''] of after.body.matchAll(FALLBACK)) {
    if (known.has(whole)) continue
    const given = literalsIn(value).filter(each => !/^(true|false|null|undefined|none|[01]|"")$/.test(each))
    const one = after.assertions.find(({ literals }) => given.some(each => literals.includes(each)))
    if (one) return [finding(one, 'swallowed', after)]
  }
  return []
}

const FALLBACK =
  /(?:\.catch\(\s*(?:async\s*)?\(?\w*\)?\s*=>|\?\?|\|\|)\s*(\(?\s*[{[][^;]{1,120}?[}\]]|"[^"]*"|'[^']*'|`[^`]*`|[\w.]+)/g

function wasFree({ text }: Assertion, before: TestCase): boolean {
  return before.assertions.some(one => one.text === text && one.trouble === undefined)
}

/** A new test whose assertions cannot fail tells nobody anything. */
function vainTest(test: TestCase): DiffFinding[] {
  const [first] = test.assertions
  if (first === undefined || test.skip === 'always') return []
  const at = { file: test.file, line: test.line }
  if (test.assertions.every(one => one.strength === 0))
    return [block('test.tautology', `The new test "${test.name}" cannot fail: ${shortened(first.text)}.`, at)]
  const { trouble } = first
  if (trouble === undefined || trouble === 'guarded' || !test.assertions.every(one => one.trouble === trouble))
    return []
  return [finding(first, trouble, test)]
}

function finding(one: Assertion, kind: keyof typeof CODES, test: TestCase): DiffFinding {
  const text = `In "${test.name}" an assertion ${TEXTS[kind]}: ${shortened(one.text)}.`
  return block(CODES[kind], text, { file: test.file, line: one.line })
}
