import { type FoundAssertion, foundAt, squeeze } from './assertions.ts'
import { closingOf, lineAt, type Masked, partsOf } from './source-text.ts'
import { type Skip, skipKind, type TestCase, worseSkip } from './test-case.ts'
import { markTroubles } from './troubles.ts'

const TEST_BEGINS =
  /(?<![\w$.])((?:t|s|ctx|Deno)\.test|describe|context|suite|it|test|specify|fit|fdescribe|xit|xtest|xdescribe|xspecify|xcontext)((?:\s*\.\s*[A-Za-z]+)*)\s*(?=[(`])/g
/** Words after a dot with which a call is not a test. */
const OTHER =
  /^(before|after|beforeEach|afterEach|beforeAll|afterAll|use|step|extend|mock|setTimeout|info|slow|configure|poll)$/
const GROUPS = /^(describe|context|suite|fdescribe|xdescribe|xcontext)$/

/** No real file has more; one that does was written to slow the check down. */
const MOST_BLOCKS = 1_500

interface Block {
  name: string
  from: number
  to: number
  isGroup: boolean
  skip?: Skip
  skipText?: string
  isFocused: boolean
  cases: string[]
  body: [number, number]
}

/** Tests of node:test, jest, vitest, mocha, ava and similar runners. */
export function javascriptTests(masked: Masked, file: string): TestCase[] {
  const blocks = [...blocksOf(masked)]
  const loops = [...loopsOf(masked)]
  return blocks
    .filter(block => !block.isGroup)
    .map(block => {
      const around = blocks.filter(other => other !== block && other.from < block.from && block.to <= other.to)
      const assertions = javascriptAssertions(masked, ...block.body)
      markTroubles(masked, block.body, assertions)
      const inner = skipInside(masked, block.body)
      const all = [block, ...around]
      const skip = all.reduce((worst, each) => worseSkip(worst, each.skip), inner.skip)
      const skipText = all.find(each => each.skipText !== undefined)?.skipText ?? inner.text
      return {
        name: block.name,
        file,
        line: lineAt(masked.text, block.from),
        language: 'javascript' as const,
        ...(skip === undefined ? {} : { skip }),
        ...(skipText === undefined ? {} : { skipText }),
        isFocused: all.some(each => each.isFocused),
        body: squeeze(masked.bare.slice(...block.body)),
        assertions,
        cases: [...all, ...loops.filter(each => each.from < block.from && block.to <= each.to)].flatMap(
          each => each.cases,
        ),
        isHelper: false,
      }
    })
}

function* blocksOf(masked: Masked): Generator<Block> {
  const { code, bare } = masked
  let left = MOST_BLOCKS
  for (const match of code.matchAll(TEST_BEGINS)) {
    if (left-- === 0) return
    const chain = (match[2] ?? '').split('.').map(word => word.trim())
    const word = match[1] ?? ''
    if (chain.some(each => OTHER.test(each))) continue
    let open = match.index + match[0].length
    const modifiers: [number, number][] = []
    while (code[open] === '`' || /^(each|for|skipIf|runIf|todoIf|if)$/.test(chain.at(-1) ?? '')) {
      const end = code[open] === '`' ? code.indexOf('`', open + 1) + 1 : closingOf(code, open)
      modifiers.push([open, end])
      const next = /^\s*\(/.exec(code.slice(end, end + 40))
      if (next === null || modifiers.length > 1) break
      open = end + next[0].length - 1
      if (modifiers.length === 1) chain.push('')
    }
    if (code[open] !== '(') continue
    const end = closingOf(code, open)
    const parts = partsOf(code, open + 1, end - 1)
    const [first, ...rest] = parts
    if (first === undefined) continue
    const isTitled = /^\s*["'`]/.test(code.slice(...first)) || rest.length > 0
    if (!isTitled && !/=>|function/.test(code.slice(...first))) continue
    const from = isTitled ? first[1] : first[0]
    const options = rest.find(part => /^\s*\{/.test(code.slice(...part)) && !/=>|function/.test(code.slice(...part)))
    yield {
      name: isTitled ? squeeze(bare.slice(...first)).replace(/^["'`]|["'`]$/g, '') : '',
      from: match.index,
      to: end,
      isGroup: GROUPS.test(word) || chain.includes('describe'),
      ...skipOf(
        word,
        chain,
        modifiers.map(span => bare.slice(span[0] + 1, span[1] - 1)),
        options && bare.slice(...options),
      ),
      isFocused:
        /^f(it|describe)$/.test(word) ||
        chain.includes('only') ||
        /\bonly\s*:\s*true/.test(options ? bare.slice(...options) : ''),
      cases: chain.includes('each') || chain.includes('for') ? rowsOf(masked, modifiers[0]) : [],
      body: [from, end - 1],
    }
  }
}

function skipOf(
  word: string,
  chain: string[],
  modifiers: string[],
  options: string | undefined,
): { skip?: Skip; skipText?: string } {
  const marked = chain.find(each => /^(skip|todo|failing|fails|fixme)$/.test(each))
  if (/^x/.test(word) || marked !== undefined)
    return { skip: 'always', skipText: /^x/.test(word) ? word : `.${marked}` }
  const condition = modifiers[0] ?? ''
  if (chain.includes('skipIf') || chain.includes('todoIf'))
    return { skip: skipKind(condition), skipText: `skipIf(${condition})` }
  if (chain.includes('runIf')) return { skip: skipKind(`!(${condition})`), skipText: `runIf(${condition})` }
  const option = /\b(skip|todo)\s*:\s*([^,}]+)/.exec(options ?? '')
  if (!option || /^(false|undefined|null)\s*$/.test(option[2] ?? '')) return {}
  return { skip: skipKind(option[2] ?? ''), skipText: `${option[1]}: ${(option[2] ?? '').trim()}` }
}

/** `t.skip()` and `this.skip()` in the test itself, alone or under an `if`. */
function skipInside({ code, bare }: Masked, [from, to]: [number, number]): { skip?: Skip; text?: string } {
  const found = /(?<![\w$])(t|this|ctx|context|test|it)\.(skip|todo|fixme)\(|(?<![\w$.])pending\(/.exec(
    code.slice(from, to),
  )
  if (!found) return {}
  const at = from + found.index
  const argument = bare.slice(at + found[0].length, closingOf(code, at + found[0].length - 1) - 1)
  const line = bare.slice(0, at)
  const guard = /\bif\s*\(([^\n]*)\)\s*(?:\{\s*)?(?:return\s+)?$/.exec(line.slice(-400))
  if (guard) return { skip: skipKind(guard[1] ?? ''), text: `${found[0]}) if ${guard[1]}` }
  const given = /^(test|it)$/.test(found[1] ?? '') ? (argument.split(',')[0] ?? '') : ''
  return { skip: skipKind(/^\s*["'`]/.test(given) ? '' : given), text: `${found[0]})` }
}

interface Loop {
  from: number
  to: number
  cases: string[]
}

/** `for (const row of [ … ])` and `[ … ].forEach(` around tests: tables written by hand. */
function* loopsOf(masked: Masked): Generator<Loop> {
  const { code } = masked
  for (const match of code.matchAll(/\bfor\s*\(\s*(?:const|let|var)\s[^;]*?\sof\s+/g)) {
    const open = code.indexOf('(', match.index)
    const end = closingOf(code, open)
    const body = code.indexOf('{', end)
    if (body < 0 || /\S/.test(code.slice(end, body))) continue
    const list = listAt(masked, match.index + match[0].length)
    yield { from: match.index, to: closingOf(code, body), cases: list }
  }
  for (const match of code.matchAll(/([\w$]+|\])\s*\.forEach\(/g)) {
    const end = closingOf(code, match.index + match[0].length - 1)
    const name = match[1] === ']' ? undefined : match[1]
    const from = match.index
    if (name !== undefined) yield { from, to: end, cases: named(masked, name) }
    else yield { from, to: end, cases: rowsOf(masked, [openingOf(code, from), from + 1]) }
  }
}

function listAt(masked: Masked, at: number): string[] {
  if (masked.code[at] === '[') return rowsOf(masked, [at, closingOf(masked.code, at)])
  const name = /^(?:Object\.entries\()?([\w$]+)/.exec(masked.code.slice(at, at + 80))?.[1]
  return name === undefined ? [] : named(masked, name)
}

/** The list that a name refers to, in the same file. */
function named(masked: Masked, name: string): string[] {
  const found = new RegExp(`\\b(?:const|let|var)\\s+${name.replaceAll('$', '\\$')}\\b[^=\\n]*=\\s*(?=[[{])`).exec(
    masked.code,
  )
  if (!found) return []
  const at = found.index + found[0].length
  return partsOf(masked.code, at + 1, closingOf(masked.code, at) - 1).map(part => squeeze(masked.bare.slice(...part)))
}

function openingOf(code: string, close: number): number {
  let depth = 0
  for (let at = close; at >= 0; at--) {
    if (code[at] === ']') depth += 1
    if (code[at] === '[') depth -= 1
    if (depth === 0) return at
  }
  return 0
}

/** The rows of `each([ … ])`, or of a table in a template. */
function rowsOf({ code, bare }: Masked, span: [number, number] | undefined): string[] {
  if (span === undefined) return []
  if (code[span[0]] === '`')
    return bare
      .slice(span[0] + 1, span[1] - 1)
      .split('\n')
      .slice(1)
      .map(squeeze)
      .filter(Boolean)
  const open = code.indexOf('[', span[0])
  if (open < 0 || open >= span[1]) return []
  return partsOf(code, open + 1, closingOf(code, open) - 1).map(part => squeeze(bare.slice(...part)))
}

const ASSERTION_BEGINS =
  /(?<![\w$.])(?:(?:t|test|ctx|context|chai|browser)\.)?(expect(?:\.soft|\.poll)?|assert(?:\.\w+)*|(?:assert|expect|should)[A-Z]\w*|t\.(?:is|not|deepEqual|notDeepEqual|like|true|false|truthy|falsy|throws|throwsAsync|notThrows|notThrowsAsync|regex|notRegex|pass|fail|equal|same|strictSame|match|ok|notOk|equals|error|rejects|snapshot))\s*(?:<[^()<>]{0,80}>\s*)?\(/g

/** How many assertions of one test are read: a test with more is a table that nobody reads. */
const MOST_OF_A_TEST = 400

/** `expect(…).toBe(…)`, `assert.equal(…)`, `t.is(…)`, and functions with names of assertions. */
export function javascriptAssertions(masked: Masked, from: number, to: number): FoundAssertion[] {
  const found: FoundAssertion[] = []
  const { code } = masked
  ASSERTION_BEGINS.lastIndex = from
  let left = MOST_OF_A_TEST
  for (
    let match = ASSERTION_BEGINS.exec(code);
    match !== null && match.index < to;
    match = ASSERTION_BEGINS.exec(code)
  ) {
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
    ASSERTION_BEGINS.lastIndex = Math.max(one.to, open + 1)
  }
  return found
}

function isDeclared(code: string, at: number): boolean {
  return /(function\*?|class|const|let|var|import|get|set)\s*$/.test(code.slice(Math.max(0, at - 20), at))
}

/** `expect(subject).not.toBe(expected)`; without a matcher it asserts nothing. */
function chained(masked: Masked, from: number, open: number, closed: number): FoundAssertion | undefined {
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

function called(
  masked: Masked,
  name: string,
  from: number,
  [open, closed]: [number, number],
): FoundAssertion | undefined {
  const matcher = name.replace(/^(assert|t)\.(strict\.)?/, '')
  const args = argsOf(masked, open, closed)
  const isNegated = /^(not|isNot|doesNot)[A-Z]?/.test(matcher) && matcher !== 'notOk'
  return foundAt(masked, [from, closed], { matcher, isNegated, args })
}

export function argsOf(masked: Masked, open: number, closed: number): string[] {
  return partsOf(masked.code, open + 1, closed - 1).map(([from, to]) => masked.bare.slice(from, to).trim())
}
