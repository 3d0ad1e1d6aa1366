import { type CodeNode, isString, nodesIn } from '../../../base/syntax/code-tree.ts'
import { chainsIn, isFunction } from './call-chain.ts'
import { pieceOf } from './code-piece.ts'
import type { TestLanguage } from './test-languages.ts'

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
