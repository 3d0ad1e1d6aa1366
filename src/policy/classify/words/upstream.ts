import type { Node } from '../../shell/tree.ts'
import type { Arg } from './arg.ts'
import { expandWords } from './expand.ts'
import type { Scope } from './scope.ts'
import { textOf } from './values.ts'

/** A program that stands before another in a pipe. */
export interface Upstream {
  words: Arg[]
  /** Its here-document. */
  text?: Arg
}

/** What a part of a pipe is, as far as the parts behind it need to know. */
export function upstreamOf(node: Node, scope: Scope): Upstream {
  if (node.is === 'command') {
    const body = node.redirects.findLast(one => one.body !== undefined)?.body
    return { words: expandWords(node.words, scope), ...(body && { text: textOf(body, scope) }) }
  }
  const last = node.is === 'pipeline' ? node.parts.at(-1) : node.body.at(-1)
  return last ? upstreamOf(last, scope) : { words: [] }
}
