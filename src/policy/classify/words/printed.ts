import type { Bit, Word } from '../../shell/tree.ts'
import type { Scope } from './scope.ts'

/** What `$(echo .env)` prints, where that is plain to see; `undefined` otherwise. */
export function printedBy(bit: Extract<Bit, { is: 'substitution' }>, scope: Scope): string | undefined {
  const [node, second] = bit.script.body
  if (bit.how !== '$(' || node?.is !== 'command' || second !== undefined) return undefined
  if (node.assigns.length > 0 || node.redirects.length > 0) return undefined
  const [name, ...words] = node.words.map(literal)
  if (name === undefined || scope.functions.has(name) || !words.every(word => word !== undefined)) return undefined
  if (name === 'echo') return /^-[neE]+$/.test(words[0] ?? '') ? undefined : plain(words.join(' '))
  const [format, ...values] = words
  if (name !== 'printf' || format === undefined) return undefined
  return plain(format.replaceAll('%s', () => values.shift() ?? ''))
}

/** One word without escapes, so that nothing is left to split, to expand or to interpret. */
function plain(text: string): string | undefined {
  return /^[\w./+,:@=~-]+$/.test(text) ? text : undefined
}

function literal(word: Word): string | undefined {
  let text = ''
  for (const bit of word.bits) {
    if (bit.is !== 'text' || (bit.value.startsWith('~') && !bit.quoted)) return undefined
    text += bit.value
  }
  return text
}
