import { squeeze } from '../assertions/found.ts'
import { javascriptAssertions } from '../assertions/javascript.ts'
import { closingOf, lineAt, partsOf } from '../brackets.ts'
import type { Masked } from '../mask.ts'
import { skipKind, worseSkip } from '../skip-kind.ts'
import type { Skip, TestCase } from '../test-case.ts'
import { markTroubles } from '../troubles.ts'
import { loopsOf, rowsOf } from './javascript-tables.ts'

const BEGINS =
  /(?<![\w$.])((?:t|s|ctx|Deno)\.test|describe|context|suite|it|test|specify|fit|fdescribe|xit|xtest|xdescribe|xspecify|xcontext)((?:\s*\.\s*[A-Za-z]+)*)\s*(?=[(`])/g
/** Words after a dot that make it something else than a test. */
const OTHER =
  /^(before|after|beforeEach|afterEach|beforeAll|afterAll|use|step|extend|mock|setTimeout|info|slow|configure|poll)$/
const GROUPS = /^(describe|context|suite|fdescribe|xdescribe|xcontext)$/

/** Nobody writes more into a file; whoever does wants to hold us up. */
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

/** Tests of node:test, jest, vitest, mocha, ava and their like. */
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
  for (const match of code.matchAll(BEGINS)) {
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
