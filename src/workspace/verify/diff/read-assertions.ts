import { type CodeNode, isString, lineOf, nodesAround, nodesIn } from '../../../base/syntax/code-tree.ts'
import { type Chain, chainOf, chainsIn, definitionOf, pathTo } from './call-chain.ts'
import { pieceOf } from './code-piece.ts'
import { type Comparison, isNever, plainName, sidesOf, strengthOf } from './strength.ts'
import { type Assertion, skipKind } from './test-case.ts'
import type { TestLanguage } from './test-languages.ts'

/** How many assertions of one test are read: a test with more is a table that nobody reads. */
const MOST_OF_A_TEST = 400

/** The assertions in a function, each with what keeps it from counting. */
export function assertionsIn(
  body: CodeNode,
  language: TestLanguage,
  aliases: ReadonlyMap<string, string>,
): Assertion[] {
  const found: Assertion[] = []
  const inside = new Set<CodeNode>()
  const add = (node: CodeNode, comparison: Comparison, shown: readonly CodeNode[], prefix = '') => {
    const ifs = comparison.matcher === 'if' ? 1 : 0
    const trouble = troubleOf(node, body, ifs, language)
    const piece = pieceOf(...shown)
    const matcher = `${comparison.isNegated ? 'not.' : ''}${comparison.matcher}`
    found.push({
      ...piece,
      text: `${prefix}${piece.text}`,
      line: lineOf(node),
      strength: strengthOf(comparison),
      matcher,
      ...(trouble && { trouble }),
    })
  }
  const chains = new Map([...chainsIn(body, aliases)].map(chain => [chain.node, chain]))
  const enters = (node: CodeNode) => !inside.has(node)
  for (const node of nodesIn(body, enters)) {
    if (found.length === MOST_OF_A_TEST) break
    const chain = chains.get(node)
    if (node.kind === 'assert_statement') {
      const [, condition] = node.parts
      if (!condition) continue
      add(node, { matcher: 'assert', isNegated: false, args: [condition] }, [condition], 'assert ')
      inside.add(node)
    } else if (node.kind === 'infix_expression' && /^should/.test(node.parts[1]?.text ?? '')) {
      const [subject, matcher, expected] = node.parts as [CodeNode, CodeNode, CodeNode]
      add(node, { matcher: matcher.text, isNegated: /^shouldNot/.test(matcher.text), args: [subject, expected] }, [
        node,
      ])
      inside.add(node)
    } else if (chain) {
      const read = expected(chain, language) ?? complained(chain, body, language) ?? called(chain, language, aliases)
      if (!read) continue
      if (/^(all|softly|multiple|group)/i.test(plainName(read.matcher))) continue
      add(node, read, read.shown, read.prefix)
      inside.add(node)
    }
  }
  return found
}

interface ReadCall extends Comparison {
  shown: CodeNode[]
  prefix?: string
}

const FILLER =
  /^(not|to|be|been|is|that|which|and|has|have|with|at|of|same|but|does|still|also|deep|resolves|rejects|soft|poll|should|Should|to_not|not_to|should_not|a|an|And|Which|Subject|)$/

/** `expect(subject).not.toBe(expected)`; without a matcher it asserts nothing. */
function expected({ node, links }: Chain, { expects }: TestLanguage): ReadCall | undefined {
  const paths = links.map((_, at) => pathTo(links, at))
  const begin = expects ? paths.findIndex(path => expects.test(path)) : -1
  if (begin < 0) return undefined
  let matcher = ''
  let isNegated = false
  let args: CodeNode[] = []
  for (const [at, { name, args: given }] of links.entries()) {
    if (at < begin || (at === begin && !/^should/.test(name))) continue
    if (/^(not|to_not|not_to|should_not)$|^(NotBe|NotEqual)/.test(name)) isNegated = !isNegated
    if (!given || (FILLER.test(name) && given.length === 0)) {
      if (!FILLER.test(name)) matcher = name
    } else if (/^(to|not_to|to_not|should|should_not|eventually)$/.test(name)) {
      const inner = matcherIn(given)
      matcher = inner.matcher
      args = inner.args
    } else {
      matcher = name
      args = given
    }
  }
  if (matcher === '' || matcher === 'catch' || matcher === 'then') return undefined
  return { matcher, isNegated, args: [...(links[begin]?.args ?? [node]).slice(0, 1), ...args], shown: [node] }
}

/** The matcher of RSpec is an argument: `eq(3)`, `be > 3`. */
function matcherIn([first]: readonly CodeNode[]): { matcher: string; args: CodeNode[] } {
  if (!first) return { matcher: '', args: [] }
  const sides = sidesOf(first)
  if (sides) return { matcher: /^={2,3}$/.test(sides.sign) ? 'eq' : 'greaterthan', args: [sides.right] }
  const { links, path } = chainOf(first)
  return { matcher: links[0]?.name ?? path, args: links.flatMap(({ args = [] }) => args) }
}

function called(
  { node, links }: Chain,
  { asserts }: TestLanguage,
  aliases: ReadonlyMap<string, string>,
): ReadCall | undefined {
  for (let at = links.length - 1; at >= 0; at--) {
    const link = links[at]
    const path = pathTo(links, at)
    if (!link?.args || link.name === '' || !asserts.test(path)) continue
    const all = link.args.filter(arg => arg.parts.length > 0 || (aliases.get(arg.text) ?? arg.text) !== 't')
    const plain = plainName(link.name)
    const isNegated =
      (/^(not|doesnot|ne$)/.test(plain) &&
        !/^(notok|notnil|notempty|notzero|notnull|notnone|not|nothrow)$/.test(plain)) ||
      /^refute_/.test(link.name)
    const args = withoutMessage(plain, all)
    // What people read when it fails says nothing about what is asserted.
    const shown = args.length === all.length ? [node] : [...node.parts.slice(0, -1), ...args]
    return { matcher: link.name.replace(/f$/, ''), isNegated, args, shown }
  }
  return undefined
}

/** An equality has two arguments and a condition one: a string beside them is for people. */
function withoutMessage(plain: string, args: CodeNode[]): CodeNode[] {
  const most = /^(assert|ok|true|false|null|nil|none|notnull|notnil|notnone)$/.test(plain)
    ? 1
    : /(^|not)(equals?|eq|ne|same|strictequal|deepequal|deepstrictequal|areequal)$/.test(plain)
      ? 2
      : Number.POSITIVE_INFINITY
  const isMessage = (arg: CodeNode | undefined) => arg !== undefined && isString(arg)
  if (args.length <= most) return args
  if (isMessage(args[most])) return args.slice(0, most)
  return args.length === most + 1 && isMessage(args[0]) ? args.slice(1) : args
}

/** The assertion is the condition of the error; the text of the error is only for people. */
function complained(chain: Chain, body: CodeNode, { complaints }: TestLanguage): ReadCall | undefined {
  if (!complaints?.test(chain.path)) return undefined
  const around = [...nodesAround(chain.node, body)].find(
    ({ kind }) => IF.test(kind) || /^(func_literal|for_statement)$/.test(kind),
  )
  const condition = around && IF.test(around.kind) ? conditionOf(around) : undefined
  if (!condition || !around) return { matcher: 'fail', isNegated: false, args: [], shown: [], prefix: 'fail' }
  const before = around.parts.slice(1, around.parts.indexOf(condition))
  return { matcher: 'if', isNegated: false, args: [condition], shown: [...before, condition], prefix: 'if ' }
}

export const IF =
  /^(if_statement|if_expression|elif_clause|if_modifier|unless_modifier|if|unless|elsif|guard_statement|if_let_expression)$/

/** The condition of an `if`. */
export function conditionOf(node: CodeNode): CodeNode | undefined {
  if (/_modifier$/.test(node.kind)) return node.parts.at(-1)
  const end = node.parts.findIndex(
    ({ kind, text }, at) => at > 1 && (BODY.test(kind) || /^(:|\{|else|then)$/.test(text)),
  )
  const before = node.parts.slice(1, end < 0 ? undefined : end).filter(({ text }) => !/^[();]$/.test(text))
  const first = before[0]
  // Without braces the statement stands beside the condition.
  return end < 0 || first?.kind === 'parenthesized_expression' ? first : before.at(-1)
}

const BODY = /^(block|statement_block|compound_statement|control_structure_body|then|statements)$|_statement$/

/** Why an assertion may not count: caught by the test itself, after a return, under a condition. */
function troubleOf(node: CodeNode, body: CodeNode, ifs: number, { functions }: TestLanguage): Assertion['trouble'] {
  let trouble: Assertion['trouble']
  let conditions = 0
  let inner = node
  for (const around of [...nodesAround(node, body), body]) {
    if (isSwallowing(around, inner)) return 'swallowed'
    const condition = conditionAround(around, inner)
    if (condition) {
      conditions += 1
      if (isNever(condition)) trouble = 'unreached'
      if (conditions > ifs) trouble ??= 'guarded'
    }
    const name = around === body ? undefined : definitionOf(around, functions)?.name
    // A function that nothing else mentions is never called.
    if (name !== undefined && pieceOf(body).words.filter(word => word === name).length < 2) trouble = 'unreached'
    for (const earlier of around.parts.slice(0, around.parts.indexOf(inner))) {
      if (isReturn(earlier)) trouble = 'unreached'
      else if (around === body || around.parent === body) if (leavesSilently(earlier)) trouble ??= 'guarded'
    }
    inner = around
  }
  return trouble
}

/** The condition under which a part of a node runs: of an `if`, or before `&&` and `?`. */
function conditionAround(node: CodeNode, part: CodeNode): CodeNode | undefined {
  const [first] = node.parts
  const isChoice =
    /^(ternary_expression|conditional_expression)$/.test(node.kind) ||
    /^(&&|\|\||and|or)$/.test(sidesOf(node)?.sign ?? '')
  const condition = IF.test(node.kind) ? conditionOf(node) : isChoice ? first : undefined
  return condition === part ? undefined : condition
}

function isReturn(node: CodeNode): boolean {
  if (node.kind === 'expression_statement') return node.parts[0] !== undefined && isReturn(node.parts[0])
  return (
    /^(return_statement|return_expression|return)$/.test(node.kind) ||
    (/^(jump_expression|control_transfer_statement)$/.test(node.kind) && node.parts[0]?.text === 'return')
  )
}

/** A condition under which the test returns without a word, and that does not depend on the machine. */
function leavesSilently(node: CodeNode): boolean {
  const held = node.kind === 'expression_statement' ? node.parts[0] : node
  if (!held || !IF.test(held.kind)) return false
  const condition = conditionOf(held)
  const leaves = [...nodesIn(held)].filter(each => isReturn(each) && each.kind !== 'expression_statement')
  const isBare = leaves.length > 0 && leaves.every(each => pieceOf(each).text === 'return' && isAlone(each))
  return isBare && condition !== undefined && skipKind(pieceOf(condition).text) !== 'elsewhere'
}

function isAlone({ parent }: CodeNode): boolean {
  const at = parent?.kind === 'expression_statement' ? parent.parent : parent
  return (
    at !== undefined &&
    at.parts.filter(({ text, kind }) => !/^[{}:;]$/.test(text) && kind !== 'if').length <= (IF.test(at.kind) ? 99 : 1)
  )
}

const CATCHES_ALL = /^$|Assert|Throwable|\b(Base)?Exception\b|^(Error|Any)$|StandardError|\.\.\.|Expectation/

/** `try` whose handler swallows the failure of an assertion; calls that catch panics; `suppress`. */
function isSwallowing(node: CodeNode, inner: CodeNode): boolean {
  if (/^(try_statement|try_expression|do_statement|begin|body_statement|block_body)$/.test(node.kind)) {
    const handlers = node.parts.filter(({ kind }) => HANDLER.test(kind))
    if (HANDLER.test(inner.kind) || /finally|ensure/.test(inner.kind)) return false
    return handlers.some(isSilent)
  }
  if (node.kind === 'with_statement') {
    const [chain] = [...chainsIn(node)]
    return (
      chain !== undefined &&
      /(^|\.)suppress$/.test(chain.path) &&
      CATCHES_ALL.test(pieceOf(...(chain.links.at(-1)?.args ?? [])).text)
    )
  }
  const { links, path } = /^call/.test(node.kind) ? chainOf(node) : { links: [], path: '' }
  if (!/(^|\.)catch_unwind$/.test(path) || !links.at(-1)?.args) return false
  const holder = node.parent
  return (
    holder?.kind === 'expression_statement' || (holder?.kind === 'let_declaration' && holder.parts[1]?.text === '_')
  )
}

const HANDLER = /^(catch_clause|except_clause|except_group_clause|catch_block|rescue)$/

function isSilent(handler: CodeNode): boolean {
  const block = handler.parts.find(({ kind }) =>
    /^(block|statement_block|compound_statement|then|statements)$/.test(kind),
  )
  const types = handler.parts.filter(
    part => part !== block && part.parts.length > 0 && !/declaration$|exception_variable/.test(part.kind),
  )
  const named = handler.parts.filter(({ kind }) => /^identifier$/.test(kind) && !/^catch_clause$/.test(handler.kind))
  const type = pieceOf(...types, ...named).text.replace(/^\(|\)$/g, '')
  const isForAll =
    handler.kind === 'catch_clause' &&
    !handler.parts.some(({ kind }) => /catch_(formal_parameter|declaration)|type_list|parameter_list/.test(kind))
      ? true
      : CATCHES_ALL.test(type)
  const { calls, text } = pieceOf(...(block ? [block] : handler.parts.slice(1)))
  return (
    isForAll &&
    !/\b(throw|raise|panic)\b/.test(text) &&
    !calls.some(name => /^(expect|fail|done|reject|should)|assert|fail$/i.test(name)) &&
    !/\bassert\b/.test(text)
  )
}
