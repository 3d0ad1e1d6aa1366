import { type CodeNode, isString, nodesIn } from '../../../base/syntax/code-tree.ts'
import { ARGUMENTS, pieceOf } from './code-piece.ts'
import type { TestLanguage } from './test-languages.ts'

/** One name of a chain such as `expect(a).not.toBe(b)`, with its arguments if it is called. */
export interface Link {
  name: string
  args?: CodeNode[]
}

/** A call or a name with dots, read from the left. */
export interface Chain {
  node: CodeNode
  links: Link[]
  /** The names with dots between them. */
  path: string
  /** A mark as it is written. */
  said?: string
}

const CALL =
  /^(call|call_expression|invocation_expression|method_invocation|macro_invocation|(function|member|scoped|nullsafe_member)_call_expression|object_creation_expression|constructor_invocation)$/
const MEMBER =
  /^(member_expression|attribute|selector_expression|field_expression|member_access_expression|navigation_expression|scoped_identifier|qualified_identifier|scope_resolution|generic_name|generic_function|template_function|user_type|await_expression|non_null_expression|parenthesized_expression|variable_name|qualified_name)$/
const INSIDE = /^(navigation_suffix|call_suffix|relative_scope|prefix_expression)$/
const TRAILING = /^(do_block|annotated_lambda|lambda_literal|block)$/
const SKIPPED = /^(type_arguments|type_argument_list|template_argument_list)$/
const NAME = /^[A-Za-z_$@][\w$ǃ?!]*$/

export function isCall({ kind }: CodeNode): boolean {
  return CALL.test(kind)
}

/** Reads a chain; the names that a file gave to test libraries are replaced by their own. */
export function chainOf(node: CodeNode, aliases?: ReadonlyMap<string, string>): Chain {
  const links: Link[] = []
  const open: CodeNode[] = [node]
  for (let next = open.pop(); next; next = open.pop()) {
    const last = links.at(-1)
    if (CALL.test(next.kind) || MEMBER.test(next.kind) || INSIDE.test(next.kind)) {
      for (let at = next.parts.length - 1; at >= 0; at--) open.push(next.parts[at] as CodeNode)
    } else if (SKIPPED.test(next.kind)) {
      // Types say nothing about the call.
    } else if (ARGUMENTS.test(next.kind)) {
      if (last && last.args === undefined) last.args = argumentsIn(next)
      else links.push({ name: '', args: argumentsIn(next) })
    } else if (TRAILING.test(next.kind) && last) {
      last.args = [...(last.args ?? []), next]
    } else if (isString(next) && last) {
      last.args = [...(last.args ?? []), next]
    } else if (NAME.test(next.text) && !/^(await|\$|new)$/.test(next.text)) {
      links.push({ name: links.length === 0 ? (aliases?.get(next.text) ?? next.text) : next.text })
    } else if (links.length === 0 && next.text !== 'await' && (next.parts.length > 0 || isString(next))) {
      links.push({ name: isString(next) ? next.text : '' })
    }
  }
  return { node, links, path: pathTo(links, links.length) }
}

/** The names up to a link, with dots between them. */
export function pathTo(links: readonly Link[], last: number): string {
  const names = links.slice(0, last + 1).map(({ name }) => name)
  return names.filter(Boolean).join('.')
}

/** What stands between the commas. */
export function argumentsIn(list: CodeNode): CodeNode[] {
  const [only] = list.parts
  if (list.kind === 'call_suffix' && only) return ARGUMENTS.test(only.kind) ? argumentsIn(only) : list.parts
  return list.parts.filter(part => !/^[()[\]{},;]$/.test(part.text)).map(bared)
}

/** Without the nodes that only hold another one: `argument`, brackets around a whole. */
export function bared(node: CodeNode): CodeNode {
  let at = node
  for (;;) {
    const inner = at.parts.filter(part => !/^[();]$/.test(part.text))
    const [only] = inner
    if (inner.length !== 1 || !only || !WRAPS.test(at.kind)) return at
    at = only
  }
}

const WRAPS =
  /^((value_|attribute_)?argument|parenthesized_expression|literal_element|expression_list|expression_statement|annotated_lambda|boolean_literal|await_expression|as_expression)$/

const FUNCTION =
  /^(arrow_function|function_expression|generator_function|func_literal|lambda_literal|anonymous_function|anonymous_function_creation_expression|lambda_expression|lambda|do_block|block|closure_expression)$/

export function isFunction({ kind }: CodeNode): boolean {
  return FUNCTION.test(kind)
}

/** The outermost call chains in a node: `expect(a).toBe(b)` is one, and the calls in its arguments are others. */
export function* chainsIn(node: CodeNode, aliases?: ReadonlyMap<string, string>): Generator<Chain> {
  const links = new Set<CodeNode>()
  for (const each of nodesIn(node)) {
    if (!CALL.test(each.kind) || links.has(each)) continue
    for (let at: CodeNode | undefined = each.parts[0]; at; at = at.parts[0]) if (CALL.test(at.kind)) links.add(at)
    yield chainOf(each, aliases)
  }
}

/** Marks on a definition: decorators, annotations, attributes. */
export function marksOf(node: CodeNode, aliases?: ReadonlyMap<string, string>): Chain[] {
  const marks: CodeNode[] = []
  const { parent } = node
  if (parent?.kind === 'decorated_definition') marks.push(...parent.parts.filter(({ kind }) => kind === 'decorator'))
  for (let at = (parent?.parts.indexOf(node) ?? 0) - 1; at >= 0; at--) {
    const above = parent?.parts[at]
    if (above?.kind !== 'attribute_item' && above?.kind !== 'attribute_list') break
    marks.unshift(above)
  }
  for (const part of node.parts) if (HOLDS_MARKS.test(part.kind)) marks.push(part)
  return marks
    .flatMap(each => [...nodesIn(each, one => !MARK.test(one.kind))].filter(({ kind }) => MARK.test(kind)))
    .map(mark => {
      const inner = mark.parts.filter(({ text }) => text !== '@')
      const [only] = inner
      const chain = chainOf(inner.length === 1 && only ? only : { ...mark, kind: 'call', parts: inner }, aliases)
      const whole = mark.parent?.kind === 'attribute_item' ? mark.parent : mark
      return { ...chain, said: whole.source.text().slice(0, 80) }
    })
}

const HOLDS_MARKS = /^(modifiers|attribute_list|decorator|annotation)$/
const MARK = /^(decorator|annotation|marker_annotation|attribute)$/

const NAMES =
  /^(identifier|simple_identifier|field_identifier|property_identifier|private_property_identifier|name|word|operator_name)$/

/** The name and body of a function. */
export function definitionOf(node: CodeNode, functions: RegExp): { name: string; body: CodeNode } | undefined {
  if (functions.test(node.kind)) {
    const head = node.parts.find(({ kind }) => kind === 'function_declarator') ?? node
    const name = head.parts.findLast(({ kind }) => NAMES.test(kind))?.text
    const body = node.parts.findLast(
      ({ parts, kind }) => parts.length > 0 && !/parameter|modifiers|declarator|attribute/.test(kind),
    )
    return name !== undefined && body ? { name, body } : undefined
  }
  const [name, value] = [node.parts[0], node.parts.at(-1)]
  if (node.kind !== 'variable_declarator' || !name || !value || !/function/.test(value.kind) || !NAMES.test(name.kind))
    return undefined
  const body = value.parts.at(-1)
  return body ? { name: name.text, body } : undefined
}

/** What a file calls the test libraries, and the object that a test is given. */
export function aliasesIn(root: CodeNode, { libraries, tests }: TestLanguage): Map<string, string> {
  const aliases = new Map<string, string>()
  for (const node of nodesIn(root)) {
    if (/^parameter_declaration$/.test(node.kind) && /testing\.(T|TB|B|F)$/.test(pieceOf(node).text) && node.parts[0])
      aliases.set(node.parts[0].text, 't')
    if (libraries && /^(import_statement|import_from_statement|import_spec|variable_declarator)$/.test(node.kind))
      for (const [name, own] of imported(node, libraries)) aliases.set(name, own)
  }
  if (tests)
    for (const chain of chainsIn(root, aliases)) {
      const last = chain.links.at(-1)
      const given = last?.args?.findLast(isFunction)
      if (!given || !tests.test(chain.path) || /\.(each|for)\b/.test(chain.path)) continue
      const list = given.parts.find(({ kind }) => /^(formal_parameters|identifier)$/.test(kind))
      const names =
        list?.kind === 'identifier' ? [list] : (list?.parts ?? []).filter(({ text }) => !/^[(),]$/.test(text))
      const name = names[0]
        ? pieceOf(names[0])
            .text.replace(/[:=].*$/, '')
            .trim()
        : ''
      if (/^\w+$/.test(name)) aliases.set(name, 't')
    }
  return aliases
}

/** The names that an import gives, with those that the library has for them. */
function imported(node: CodeNode, libraries: RegExp): [string, string][] {
  const module = [...nodesIn(node)]
    .flatMap(each =>
      isString(each) ? [each.text.replace(/^"|"$/g, '')] : each.kind === 'dotted_name' ? [pieceOf(each).text] : [],
    )
    .find(name => libraries.test(name))
  if (module === undefined) return []
  const own = /assert|chai/.test(module)
    ? 'assert'
    : /[/.]/.test(module)
      ? (module.split(/[/.]/).at(-1) ?? module)
      : module
  const plain = /^(node:)?test$|^(ava|tape|tap|uvu|mocha)$/.test(module) ? 'test' : own
  if (node.kind === 'variable_declarator') {
    if (!/\brequire\(/.test(pieceOf(node).text)) return []
    const [left] = node.parts
    if (!left) return []
    return left.parts.length === 0 ? [[left.text, plain]] : pairsIn(left)
  }
  const direct = [...nodesIn(node)].filter(
    ({ kind, parent }) =>
      (kind === 'identifier' && /^(import_clause|namespace_import)$/.test(parent?.kind ?? '')) ||
      kind === 'package_identifier',
  )
  return [...direct.map(({ text }): [string, string] => [text, plain]), ...pairsIn(node)]
}

/** `{ test as check }`, `{ test: check }`, `skip as leave`. */
function pairsIn(node: CodeNode): [string, string][] {
  return [...nodesIn(node)].flatMap((each): [string, string][] => {
    if (!/^(import_specifier|pair_pattern|aliased_import)$/.test(each.kind) || each.parts.length < 3) return []
    const [own, alias] = [each.parts[0], each.parts.at(-1)]
    return own && alias ? [[pieceOf(alias).text, pieceOf(own).text]] : []
  })
}
