import type { Node } from '../shell/tree.ts'

/** Whether a function starts itself in a pipe or in the background: copies without end. */
export function callsItselfApart(nodes: readonly Node[], name: string, apart: boolean): boolean {
  return nodes.some(node => {
    switch (node.is) {
      case 'command': {
        const bit = node.words[0]?.bits[0]
        return apart && bit?.is === 'text' && bit.value === name
      }
      case 'pipeline':
        return callsItselfApart(node.parts, name, true)
      case 'group':
        return callsItselfApart(node.body, name, apart || node.background)
      default:
        return callsItselfApart(node.body, name, apart)
    }
  })
}
