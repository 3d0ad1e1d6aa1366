import { block, type DiffFinding, note } from '../../rules/rule.ts'
import { literalsIn, overlap } from '../../tests/assertions/literals.ts'
import type { TestCase } from '../../tests/test-case.ts'
import type { TestChange } from './test-change.ts'

/** `want := 3`, `expected = [1, 2]`: what is expected, under a name. */
const WANTED =
  /\b(want|wanted|expected|exp|expectation|should_be|expectedOutput|expected_output)\b(?:\s*:\s*[\w[\]<>]+)?\s*(?::=|=)(?![=>])\s*(.{1,400}?)(?=\s?(?<![\w.])(?:if|for|assert\w*|expect|got|actual|result|const|let|var|require|t\.\w+|self|with|return)\b|;|\}\)?$|$)/g

/** What a test expects, where that stands in a variable: another value, or one that the code under test gives. */
export function wantedFindings(before: TestCase, after: TestCase, { hasCode }: TestChange): DiffFinding[] {
  const was = wantedIn(before.body)
  const now = wantedIn(after.body)
  const at = { file: after.file, line: after.line }
  for (const [name, value] of was) {
    const next = now.get(name)
    if (next === undefined || next === value) continue
    const [one, other] = [literalsIn(value), literalsIn(next)]
    if (!/\w\(/.test(value) && /\w\(/.test(next) && one.length > 0 && callsSame(next, after))
      return [
        block('test.weakened', `"${after.name}" expects what the code under test gives (${name}): say the value.`, at),
      ]
    if (one.length === 0 || overlap(one, other) === 1 || other.length === 0) continue
    const text = `"${after.name}" expects something else (${name})`
    return [
      hasCode
        ? note('test.expected-changed', `${text}.`, at)
        : block('test.expected-changed', `${text}, and the program is the same.`, at),
    ]
  }
  return []
}

function wantedIn(body: string): Map<string, string> {
  return new Map([...body.matchAll(WANTED)].map(([, name = '', value = '']) => [name, value.trim()]))
}

/** The function by which the expectation is made is the one that is looked at. */
function callsSame(value: string, { body, assertions }: TestCase): boolean {
  const names = [...value.matchAll(/([A-Za-z_]\w*)\(/g)].map(([, name]) => name ?? '')
  const rest = body.replace(value, '')
  return names.some(name => rest.includes(`${name}(`) || assertions.some(one => one.words.includes(name)))
}
