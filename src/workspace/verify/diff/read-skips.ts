import { type CodeNode, isString, nodesAround, nodesIn } from '../../../base/syntax/code-tree.ts'
import { type Chain, chainOf, chainsIn, isFunction, type Link, marksOf, pathTo } from './call-chain.ts'
import { pieceOf } from './code-piece.ts'
import { conditionOf, IF } from './read-assertions.ts'
import { isNever } from './strength.ts'
import { type Skip, skipKind, worseSkip } from './test-case.ts'
import type { TestLanguage } from './test-languages.ts'

export interface FoundSkip {
  skip?: Skip | undefined
  text?: string
}

type Aliases = ReadonlyMap<string, string>

export function worstOf(found: readonly FoundSkip[]): FoundSkip {
  const skip = found.reduce<Skip | undefined>((worst, each) => worseSkip(worst, each.skip), undefined)
  const text = found.find(each => each.skip === skip)?.text
  return skip === undefined ? {} : { skip, ...(text !== undefined && { text }) }
}

/** What a call or mark such as `it.skip(…)`, `@skipIf(…)` or `[Fact(Skip = …)]` says about its test. */
export function skipOfChain(chain: Chain, language: TestLanguage): FoundSkip {
  const { links } = chain
  const found = links.map((link, at): FoundSkip => {
    const path = pathTo(links, at)
    const condition = firstOf(link)
    const given = condition && !isString(condition) && !isFunction(condition) ? pieceOf(condition).text : ''
    const text = chain.said ?? `${at === 0 ? '' : '.'}${link.name}${given && `(${given})`}`
    if (language.skips.test(path)) return { skip: skipOfMark(link), text }
    if (language.skipsIf?.test(path)) return { skip: skipKind(condition ? pieceOf(condition).text : path), text }
    if (language.skipsUnless?.test(path) && condition) return { skip: skipUnless(link), text }
    return optionOf(link, text)
  })
  return worstOf(found)
}

/** `skip("why")` and `skip('title', fn)` always skip; `skip(isWindows, "why")` under a condition. */
function skipOfMark(link: Link): Skip {
  const condition = firstOf(link)
  if (
    !condition ||
    isString(condition) ||
    isFunction(condition) ||
    condition.kind === 'keyword_argument' ||
    PAIR.test(condition.kind)
  )
    return 'always'
  // Marks of one word with a list, such as @Disabled({ "why" }).
  return skipKind(pieceOf(condition).text)
}

function firstOf({ args = [] }: Link): CodeNode | undefined {
  const [first] = args
  return first?.kind === 'keyword_argument' && first.parts[0]?.text === 'condition' ? first.parts.at(-1) : first
}

/** The condition under which it runs; in Rust, `cfg` of the build. */
function skipUnless({ name, args = [] }: Link): Skip | undefined {
  const text = pieceOf(...args).text
  if (/^cfg/.test(name)) {
    if (/^test\b(?!,)/.test(text) && name === 'cfg') return undefined
    if (/\bany\(\)|\bnot\(test\)|\ball\(\)|^FALSE|never/.test(text)) return 'always'
    return /target_|windows|unix|miri|debug_assertions/.test(text) ? 'elsewhere' : skipKind(text)
  }
  const [first] = args
  if (first && isNever(first)) return 'always'
  return first && /^(true|True|1)$/.test(pieceOf(first).text)
    ? undefined
    : skipKind(text.startsWith('"') ? '!x' : `!(${text})`)
}

const PAIR =
  /^(pair|keyword_argument|element_value_pair|assignment_expression|attribute_argument|value_argument|named_argument)$/

/** `{ skip: true }`, `skip: "why"`, `:skip`, `Skip = "why"`, `enabled = false`. */
function optionOf({ args = [] }: Link, text: string): FoundSkip {
  for (const arg of args) {
    if (isFunction(arg)) continue
    for (const node of nodesIn(arg, one => !isFunction(one) && !isString(one))) {
      if (/^:(skip|pending|disabled)$/.test(node.text)) return { skip: 'always', text }
      const [key, value] = [node.parts[0]?.text ?? '', node.parts.at(-1)]
      if (!PAIR.test(node.kind) || !value || node.parts.length < 3) continue
      const said = pieceOf(value).text
      if (
        /^(skip|Skip|todo|pending|disabled|Ignore|ignored)$/.test(key) &&
        !/^(false|False|undefined|null|nil|None)$/.test(said)
      )
        return { skip: skipKind(said), text: pieceOf(node).text }
      if (key === 'enabled' && said === 'false') return { skip: 'always', text: pieceOf(node).text }
    }
  }
  return {}
}

export function isFocusing({ links, path }: Chain, { focuses }: TestLanguage): boolean {
  const given = links.flatMap(({ args = [] }) => args.filter(arg => !isFunction(arg) && !isString(arg)))
  return (
    focuses?.test(path) === true ||
    links.some((_, at) => focuses?.test(pathTo(links, at))) ||
    /(^|[{( ,])(only|focus): ?true|^:focus$/.test(pieceOf(...given).text)
  )
}

/** `t.skip()`, `pytest.skip()` and `return skip` in the test itself, alone or under an `if`. */
export function skipInside(
  body: CodeNode,
  language: TestLanguage,
  aliases: Aliases,
  isTest: (chain: Chain) => boolean,
): FoundSkip {
  const found: FoundSkip[] = []
  for (const chain of chainsIn(body, aliases)) {
    if (isTest(chain)) continue
    const one = ofStatement(chain.path) ? skipOfChain(chain, language) : {}
    if (one.skip !== undefined) found.push(underCondition(chain.node, body, { ...one, text: `${chain.path}()` }))
  }
  // Ruby calls without brackets.
  for (const node of nodesIn(body))
    if (
      node.kind === 'identifier' &&
      /^(body_statement|then|if_modifier|unless_modifier|do_block|method)$/.test(node.parent?.kind ?? '') &&
      language.skips.test(node.text) &&
      language.named?.test('test_')
    )
      found.push(underCondition(node, body, { skip: 'always', text: node.text }))
  return worstOf(found)

  function ofStatement(path: string): boolean {
    return (
      language.skips.test(path) ||
      language.skipsIf?.test(path) === true ||
      (language.skipsUnless?.test(path) === true && !/^cfg/.test(path))
    )
  }
}

function underCondition(node: CodeNode, body: CodeNode, found: FoundSkip): FoundSkip {
  let inner = node
  for (const around of nodesAround(node, body)) {
    if (/^(except_clause|else_clause|rescue|catch_clause)$/.test(around.kind))
      return { skip: 'condition', text: found.text ?? '' }
    if (IF.test(around.kind)) {
      const condition = conditionOf(around)
      if (!condition || condition === inner) return found
      const text =
        pieceOf(...around.parts.slice(1, around.parts.indexOf(condition) + 1)).text || pieceOf(condition).text
      const said = /^(unless|guard)/.test(around.kind) ? `!(${text})` : text
      return { skip: skipKind(said), text: `${found.text} if ${text}` }
    }
    inner = around
  }
  return found
}

/** Skips of everything around a test: its class, its module, `if` and `#if` around it. */
export function skipAround(node: CodeNode, language: TestLanguage, aliases: Aliases): FoundSkip[] {
  const found: FoundSkip[] = []
  for (const around of nodesAround(node)) {
    for (const mark of marksOf(around, aliases)) found.push(skipOfChain(mark, language))
    if (IF.test(around.kind) || /^preproc_(if|ifdef)$/.test(around.kind)) found.push(builtOnlyIf(around))
    if (/^(block|module|program|source_file)$/.test(around.kind)) found.push(...statements(around, language, aliases))
  }
  return found
}

function builtOnlyIf(node: CodeNode): FoundSkip {
  const condition = conditionOf(node)
  if (!condition || /__name__|^(true|True|1)$/.test(pieceOf(condition).text)) return {}
  const { text } = pieceOf(condition)
  return { skip: isNever(condition) || text === '0' ? 'always' : skipKind(`!(${text})`), text: `if ${text}` }
}

/** `pytestmark = pytest.mark.skip`, `__test__ = False`, `pytest.skip(allow_module_level=True)`. */
function statements(block: CodeNode, language: TestLanguage, aliases: Aliases): FoundSkip[] {
  return block.parts.flatMap((statement): FoundSkip[] => {
    if (statement.kind !== 'expression_statement') return []
    const [only] = statement.parts
    const [name, , value] = only?.parts ?? []
    if (only?.kind === 'assignment' && name?.text === '__test__')
      return value?.text === 'False' ? [{ skip: 'always', text: '__test__ = False' }] : []
    if (only?.kind === 'assignment' && name?.text === 'pytestmark' && value) {
      const given = value.kind === 'list' ? value.parts.slice(1, -1) : [value]
      return given.map(each => ({
        ...skipOfChain(oneChain(each, aliases), language),
        text: `pytestmark = ${pieceOf(each).text}`,
      }))
    }
    if (only?.kind !== 'call' || chainOf(only, aliases).path !== 'pytest.skip') return []
    const isWhole = /allow_module_level/.test(pieceOf(only).text)
    return isWhole ? [{ skip: 'always', text: 'pytest.skip(allow_module_level)' }] : []
  })
}

function oneChain(node: CodeNode, aliases: Aliases): Chain {
  const [chain] = [...chainsIn(node, aliases)]
  if (chain) return chain
  const path = pieceOf(node).text
  return { node, links: path.split('.').map(name => ({ name })), path }
}
