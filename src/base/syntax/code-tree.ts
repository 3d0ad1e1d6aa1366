import type { SgNode } from '@ast-grep/napi'
import { parseTree } from './grammar.ts'
import type { CodeLanguage } from './languages.ts'

/** A node of a syntax tree without comments: unlike a node of the parser, it costs nothing to ask. */
export interface CodeNode {
  kind: string
  /** The node of the parser. Where it is costs more to ask than everything else together, so it is asked only when it matters. */
  source: SgNode
  /** What is written, for a leaf; strings without code inside are leaves, with double quotes. */
  text: string
  parts: CodeNode[]
  parent: CodeNode | undefined
}

export interface CodeTree {
  root: CodeNode
  comments: CodeNode[]
}

/** Longer texts are not read: nobody wrote them, and a tree uses forty times the memory of its text. */
const LONGEST = 600_000

/** Copies the syntax tree of a text; undefined if its grammar is not installed, or the text is too long. */
export function readCode(language: CodeLanguage, text: string): CodeTree | undefined {
  const top = text.length > LONGEST ? undefined : parseTree(language, text)
  if (!top) return undefined
  const tree: CodeTree = { root: copyOf(top, undefined), comments: [] }
  const open: [SgNode, CodeNode][] = [[top, tree.root]]
  for (let next = open.pop(); next; next = open.pop()) {
    const [node, copy] = next
    const inner = node.children()
    if (inner.length === 0 || (STRING.test(copy.kind) && !inner.some(each => INSERTED.test(String(each.kind()))))) {
      copy.text = STRING.test(copy.kind) ? unquoted(node.text()) : node.text()
      continue
    }
    for (const child of inner) {
      const made = copyOf(child, copy)
      if (!COMMENT.test(made.kind)) {
        copy.parts.push(made)
        open.push([child, made])
      } else tree.comments.push({ ...made, text: child.text() })
    }
  }
  return tree
}

/** The first and last lines of what a grammar does not know in a text; undefined if there is no grammar. */
export function findErrors(language: CodeLanguage, text: string): [number, number][] | undefined {
  const top = text.length > LONGEST ? undefined : parseTree(language, text)
  return top?.findAll({ rule: { kind: 'ERROR' } }).map(node => {
    const { start, end } = node.range()
    return [start.line + 1, end.line + 1]
  })
}

export function lineOf({ source }: CodeNode): number {
  return source.range().start.line + 1
}

const COMMENT = /comment$|^hash_bang_line$/
const STRING = /(^|_)(string|regex|char|character|rune|heredoc)(_literal|_body)?$/
/** Code in a string. */
const INSERTED = /interpolat|substitution|expansion|^interpolated_expression$/

function copyOf(node: SgNode, parent: CodeNode | undefined): CodeNode {
  return { kind: String(node.kind()), source: node, text: '', parts: [], parent }
}

/** `'a'`, `"a"` and `r#"a"#` are the same string. */
function unquoted(text: string): string {
  const [, quote = '', inner] = /^[a-zA-Z@$]{0,3}#*("""|'''|["'`])([\s\S]*)\1#*$/.exec(text) ?? []
  return quote === '' ? text : `"${inner}"`
}

/** The node and everything in it, in the order of the text; `enters` says whether to look inside a node. */
export function* nodesIn(node: CodeNode, enters: (node: CodeNode) => boolean = () => true): Generator<CodeNode> {
  const open = [node]
  for (let next = open.pop(); next; next = open.pop()) {
    yield next
    if (enters(next)) for (let at = next.parts.length - 1; at >= 0; at--) open.push(next.parts[at] as CodeNode)
  }
}

/** The nodes around a node, from the inside out, up to and without `until`. */
export function* nodesAround(node: CodeNode, until?: CodeNode): Generator<CodeNode> {
  for (let at = node.parent; at && at !== until; at = at.parent) yield at
}

export function isString({ kind }: CodeNode): boolean {
  return STRING.test(kind)
}
