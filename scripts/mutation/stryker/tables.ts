import type { NodePath } from '@stryker-mutator/api/ignore'

/** The little of a syntax tree that is looked at here. */
interface Node {
  type: string
  value?: unknown
  elements?: readonly (Node | null)[]
  quasis?: readonly { value: { cooked: string } }[]
}

/**
 * Strings that are data and no logic. A word in a list of nothing but words (names of programs, flags, folders), also where
 * the list is one string (`-a --all -k:`): a mutant of each would ask for a test that says the same word again. A list of
 * strings itself stays under mutation, so that one which nobody looks at is found. And sentences: what a reason says to a
 * person is not tested letter by letter, its code is.
 */
export function ignoreData(path: NodePath): string | undefined {
  const { node, parent } = path as { node: Node; parent?: Node }
  if (isSentence(node)) return 'a sentence for people, or a list of names or flags'
  return node.type === 'StringLiteral' && isListOfWords(parent) ? 'a word in a list of words' : undefined
}

function isSentence({ type, value, quasis = [] }: Node): boolean {
  const filled = quasis.map(quasi => quasi.value.cooked).join('x')
  const text = type === 'StringLiteral' ? String(value) : filled
  return /[a-z]{2,} [a-z]|[a-z] [a-z]{2,}/i.test(text) || /^-\S+( +-\S+)+$/.test(text.trim())
}

function isListOfWords(parent: Node | undefined): boolean {
  const { type, elements = [] } = parent ?? { type: '' }
  return type === 'ArrayExpression' && elements.length > 1 && elements.every(one => one?.type === 'StringLiteral')
}
