import { type CodeNode, type CodeTree, isString, lineOf, nodesIn } from '../../../base/syntax/code-tree.ts'

/** What a piece of code says, whatever its layout. */
export interface CodePiece {
  /** In a normal form: without comments, one layout, strings in double quotes. */
  text: string
  /** Numbers, strings and words such as `null` in it; constants in lower case. */
  literals: string[]
  /** Names in it, except those that every test has. */
  words: string[]
  /** Names of what it calls. */
  calls: string[]
}

/** No person writes a longer piece; the beginning identifies it. */
const MOST_LEAVES = 4_000

export function pieceOf(...nodes: CodeNode[]): CodePiece {
  const piece: CodePiece = { text: '', literals: [], words: [], calls: [] }
  const texts: string[] = []
  for (const leaf of nodes.flatMap(leavesOf)) {
    const { text } = leaf
    if (isLiteral(leaf)) piece.literals.push(literalOf(leaf))
    else if (/^[A-Za-z_$]\w/.test(text) || /^[A-Za-z_]/.test(text)) {
      if (isCalled(leaf)) piece.calls.push(text)
      if (!COMMON.has(text)) piece.words.push(text)
    }
    texts.push(text)
  }
  piece.text = joined(texts)
  return piece
}

/** Everything in a node in one layout, however long it is. */
export function codeText(node: CodeNode): string {
  return joined([...nodesIn(node)].filter(({ parts }) => parts.length === 0).map(({ text }) => text))
}

/** The lines of a text without comments, and those without the content of strings too; the text as it is where there is no grammar. */
export function codeLines(tree: CodeTree | undefined, text: string): { code: string[]; bare: string[] } {
  const bare = text.split('\n')
  if (!tree) return { code: bare, bare }
  const leaves = bare.map((): CodeNode[] => [])
  for (const node of nodesIn(tree.root)) if (node.parts.length === 0) leaves[lineOf(node) - 1]?.push(node)
  return {
    code: leaves.map(line => joined(line.map(leaf => (isString(leaf) ? '""' : leaf.text)))),
    bare: leaves.map(line => joined(line.map(leaf => leaf.text))),
  }
}

/** The leaves of a node, without the commas and semicolons that say nothing. */
function leavesOf(node: CodeNode): CodeNode[] {
  const leaves: CodeNode[] = []
  for (const each of nodesIn(node)) {
    if (each.parts.length > 0 || each.text === '' || each.text === ';') continue
    if (/^[)\]}]/.test(each.text) && leaves.at(-1)?.text === ',') leaves.pop()
    leaves.push(each)
    if (leaves.length === MOST_LEAVES) break
  }
  return leaves
}

function isCalled(leaf: CodeNode): boolean {
  let inner = leaf
  for (let at = leaf.parent, depth = 0; at && depth < 3; at = at.parent, depth += 1) {
    const list = at.parts.findIndex(part => ARGUMENTS.test(part.kind))
    if (list > 0) return at.parts.indexOf(inner) < list
    inner = at
  }
  return false
}

/** The arguments of a call. */
export const ARGUMENTS =
  /^(arguments|(value_|annotation_|attribute_)?argument(s|_list)|value_arguments|call_suffix|token_tree)$/

const NUMBER = /^\d/
const CONSTANT = /^(true|false|null|undefined|none|nil|nan|nullptr)$/i

function isLiteral(node: CodeNode): boolean {
  return (
    isString(node) ||
    /(string|str)_(content|fragment|text)|_content$/.test(node.kind) ||
    NUMBER.test(node.text) ||
    CONSTANT.test(node.text) ||
    /^:\w/.test(node.text)
  )
}

function literalOf({ text, kind, parent }: CodeNode): string {
  if (NUMBER.test(text))
    return (parent?.parts[0]?.text === '-' && parent.parts.length === 2 ? '-' : '') + text.replaceAll('_', '')
  if (CONSTANT.test(text)) return text.toLowerCase()
  return /_content|_fragment|_text/.test(kind) ? `"${text}"` : text
}

/** One layout for all. */
function joined(texts: readonly string[]): string {
  let all = ''
  let last = ''
  for (const text of texts) {
    const isTight = last === '' || /^[)\]},.;:?!([]/.test(text) || /[([{.!]$|^(::|\?\.|->|@|#|\$)$/.test(last)
    all += isTight || /^(::|\?\.|->)$/.test(text) ? text : ` ${text}`
    last = text
  }
  return all
}

const COMMON = new Set(
  'expect assert self this t tc ctx require await async not toBe toEqual toStrictEqual toMatchObject toContain toMatch toThrow toBeTruthy toBeFalsy toBeDefined toBeNull toBeUndefined toHaveLength equal strictEqual deepEqual deepStrictEqual ok match is if else return const let var for in of new function def fn func and or Errorf Error Fatal Fatalf assert_eqǃ assert_neǃ assertǃ assertEqual assertEquals assertSame assertTrue assertFalse assertThat Assert isEqualTo toHaveBeenCalledWith toHaveBeenCalled resolves rejects unwrap Equal NoError True False Nil NotNil lambda with as pytest raises to eq XCTAssertEqual EXPECT_EQ'.split(
    ' ',
  ),
)

/** How similar two lists are: the share of entries that both have. */
export function overlap(one: readonly string[], other: readonly string[]): number {
  if (one.length === 0 && other.length === 0) return 1
  const left = new Map<string, number>()
  for (const each of one) left.set(each, (left.get(each) ?? 0) + 1)
  let both = 0
  for (const each of other) {
    const count = left.get(each) ?? 0
    if (count === 0) continue
    left.set(each, count - 1)
    both += 1
  }
  return both / (one.length + other.length - both)
}

/** Whether every entry of `few` is in `many`. */
export function isCovered(few: readonly string[], many: readonly string[]): boolean {
  const there = new Set(many)
  return few.every(each => there.has(each))
}
