import { closingOf, partsOf } from '../brackets.ts'
import type { Masked } from '../mask.ts'
import { type Found, foundAt } from './found.ts'

const BEGINS =
  /(?<![\w$.])(?:(?:t|test|ctx|context|chai|browser)\.)?(expect(?:\.soft|\.poll)?|assert(?:\.\w+)*|(?:assert|expect|should)[A-Z]\w*|t\.(?:is|not|deepEqual|notDeepEqual|like|true|false|truthy|falsy|throws|throwsAsync|notThrows|notThrowsAsync|regex|notRegex|pass|fail|equal|same|strictSame|match|ok|notOk|equals|error|rejects|snapshot))\s*(?:<[^()<>]{0,80}>\s*)?\(/g

/** A test with more of them is a table that nobody reads. */
const MOST_OF_A_TEST = 400

/** `expect(…).toBe(…)`, `assert.equal(…)`, `t.is(…)`, and functions called as if they were such. */
export function javascriptAssertions(masked: Masked, from: number, to: number): Found[] {
  const found: Found[] = []
  const { code } = masked
  BEGINS.lastIndex = from
  let left = MOST_OF_A_TEST
  for (let match = BEGINS.exec(code); match !== null && match.index < to; match = BEGINS.exec(code)) {
    if (left-- === 0) break
    if (isDeclared(code, match.index)) continue
    const open = match.index + match[0].length - 1
    const closed = closingOf(code, open)
    const name = match[1] ?? ''
    const one = /^expect(\.|$)/.test(name)
      ? chained(masked, match.index, open, closed)
      : called(masked, name, match.index, [open, closed])
    if (one === undefined) continue
    found.push(one)
    BEGINS.lastIndex = Math.max(one.to, open + 1)
  }
  return found
}

function isDeclared(code: string, at: number): boolean {
  return /(function\*?|class|const|let|var|import|get|set)\s*$/.test(code.slice(Math.max(0, at - 20), at))
}

/** `expect(subject).not.toBe(expected)`; without a matcher it asserts nothing. */
function chained(masked: Masked, from: number, open: number, closed: number): Found | undefined {
  const subject = argsOf(masked, open, closed)
  let place = closed
  let matcher = ''
  let isNegated = false
  let expected: string[] = []
  for (;;) {
    const step = /^\s*\??\.\s*([A-Za-z_$][\w$]*)\s*/.exec(masked.code.slice(place, place + 200))
    if (!step) break
    const word = step[1] ?? ''
    place += step[0].length
    if (word === 'not') isNegated = !isNegated
    if (masked.code[place] === '(') {
      const end = closingOf(masked.code, place)
      expected = argsOf(masked, place, end)
      place = end
      matcher = word
    } else if (
      !/^(not|to|be|been|is|that|which|and|has|have|with|at|of|same|but|does|still|also|deep|resolves|rejects)$/.test(
        word,
      )
    )
      matcher = word
  }
  if (matcher === '' || matcher === 'catch' || matcher === 'then') return undefined
  return foundAt(masked, [from, place], { matcher, isNegated, args: [...subject, ...expected] })
}

function called(masked: Masked, name: string, from: number, [open, closed]: [number, number]): Found | undefined {
  const matcher = name.replace(/^(assert|t)\.(strict\.)?/, '')
  const args = argsOf(masked, open, closed)
  const isNegated = /^(not|isNot|doesNot)[A-Z]?/.test(matcher) && matcher !== 'notOk'
  return foundAt(masked, [from, closed], { matcher, isNegated, args })
}

export function argsOf(masked: Masked, open: number, closed: number): string[] {
  return partsOf(masked.code, open + 1, closed - 1).map(([from, to]) => masked.bare.slice(from, to).trim())
}
