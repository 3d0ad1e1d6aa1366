import { type CodeNode, isString, nodesAround, nodesIn } from '../../../base/syntax/code-tree.ts'
import { type Chain, definitionOf, isCall, pathTo } from './call-chain.ts'
import { type CodePiece, pieceOf } from './code-piece.ts'
import type { TestLanguage } from './test-languages.ts'

/** Reads the tables of cases of the tests in a file. */
export class RowReader {
  readonly #root: CodeNode
  readonly #language: TestLanguage
  readonly #chains: ReadonlyMap<CodeNode, Chain>
  #declared: Map<string, CodeNode> | undefined

  constructor(root: CodeNode, language: TestLanguage, chains: ReadonlyMap<CodeNode, Chain>) {
    this.#root = root
    this.#language = language
    this.#chains = chains
  }

  of(test: CodeNode, body: CodeNode, marks: readonly Chain[]): CodePiece[] {
    return [...marks.flatMap(mark => this.#rowsOf(mark)), ...this.#loopsAround(test), ...this.#tableIn(body)]
  }

  /** The rows of `each([ … ])`, `@parametrize("a,b", [ … ])`, `[InlineData(1, 2)]`. */
  #rowsOf({ links }: Chain): CodePiece[] {
    const { rows } = this.#language
    return links.flatMap(({ name, args = [] }, at) => {
      const path = pathTo(links, at)
      if (!rows?.test(path) && !rows?.test(name))
        return args.flatMap(arg =>
          arg.kind === 'value_argument' && rows?.test(arg.parts[0]?.text ?? '') ? this.#list(arg.parts.at(-1)) : [],
        )
      const lists = args.flatMap(arg => this.#list(/pair$|keyword_argument/.test(arg.kind) ? arg.parts.at(-1) : arg))
      return lists.length > 0 ? lists : args.length > 0 && !/each|for/i.test(name) ? [pieceOf(...args)] : []
    })
  }

  /** The entries of a list, also of one that a name stands for, and of a table in a template. */
  #list(node: CodeNode | undefined): CodePiece[] {
    if (!node) return []
    if (node.kind === 'template_string')
      return pieceOf(node)
        .text.split('\n')
        .slice(1)
        .filter(row => /\S/.test(row))
        .map(row => ({
          text: row.replace(/\s+/g, ' ').trim(),
          literals: row.match(/\d+(\.\d+)?|"[^"]*"|'[^']*'/g) ?? [],
          words: [],
          calls: [],
        }))
    if (LIST.test(node.kind)) return entriesOf(node).map(rowOf)
    if (isString(node)) return this.#provided(node.text.slice(1, -1))
    if (isCall(node)) return this.#list(this.#chains.get(node)?.links.at(-1)?.args?.[0])
    this.#declared ??= this.#readDeclared()
    return this.#list(this.#declared.get(node.text))
  }

  /** The list that a function returns: a provider of rows is named by a string. */
  #provided(name: string): CodePiece[] {
    const nodes = [...nodesIn(this.#root)]
    const provider = nodes.find(node => definitionOf(node, this.#language.functions)?.name === name)
    const list = provider && [...nodesIn(provider)].find(({ kind, parts }) => parts.length > 0 && LIST.test(kind))
    return list ? this.#list(list) : []
  }

  /** Lists that have a name. */
  #readDeclared(): Map<string, CodeNode> {
    const lists = new Map<string, CodeNode>()
    for (const { parts } of nodesIn(this.#root)) {
      const [name, value] = [parts[0]?.text, parts.at(-1)]
      if (name && value && parts.at(-2)?.text === '=' && LIST.test(value.kind)) lists.set(name, value)
    }
    return lists
  }

  /** `for (const row of [ … ])` and `[ … ].forEach(` around tests: tables written by hand. */
  #loopsAround(node: CodeNode): CodePiece[] {
    return [...nodesAround(node)].flatMap(around => {
      if (/^for/.test(around.kind))
        return around.parts.flatMap(part => (/block|body|statement/.test(part.kind) ? [] : this.#list(part)))
      const chain = this.#chains.get(around)
      if (chain?.links.at(-1)?.name !== 'forEach') return []
      const [member] = around.parts
      return this.#list(member?.parts[0])
    })
  }

  /** The rows of `tests := []struct{…}{ … }`. */
  #tableIn(body: CodeNode): CodePiece[] {
    const table = [...nodesIn(body)].find(
      ({ kind, parts }) =>
        kind === 'composite_literal' && /^(slice_type|map_type|array_type)$/.test(parts[0]?.kind ?? ''),
    )
    const list = table?.parts.at(-1)
    return list ? entriesOf(list).map(each => pieceOf(each)) : []
  }
}

const LIST =
  /^(array|list|tuple|set|dictionary|object|array_expression|array_literal|collection_literal|literal_value|element_value_array_initializer|array_initializer|array_creation_expression|initializer_list|implicit_array_creation_expression|initializer_expression)$/

/** A row; one of `@CsvSource` is a string with commas. */
function rowOf(node: CodeNode): CodePiece {
  const piece = pieceOf(node)
  const values = isString(node) ? node.text.slice(1, -1).split(/\s*,\s*/) : []
  return values.length < 2 ? piece : { ...piece, literals: values.flatMap(value => [value, `"${value}"`]) }
}

function entriesOf(list: CodeNode): CodeNode[] {
  return list.parts.filter(({ text }) => !/^[()[\]{},]$|^new$/.test(text))
}
