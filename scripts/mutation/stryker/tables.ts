import type { NodePath } from '@stryker-mutator/api/ignore'

/** The part of a syntax tree that is used here. */
interface Node {
  type: string
  value?: unknown
  elements?: readonly (Node | null)[]
  quasis?: readonly { value: { cooked: string } }[]
}

/**
 * Strings that are data, not logic. First, words in a list of only words (names of programs, flags, folders), also if the
 * list is one string (`-a --all -k:`): a mutant of each would need a test that repeats the word. The list itself is still
 * mutated, so that an unused one is found. Second, sentences: the text of a reason is not tested letter by letter, but its
 * code is.
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
