import type { ListItem, Nodes } from 'mdast'

/** The words of a node on one line, without what is struck through. */
export function plain(node: Nodes): string {
  return words(node).replace(/\s+/g, ' ').trim()
}

/** The lines that a node stands on. */
export function linesOf({ position }: Nodes): [from: number, to: number] {
  return [position?.start.line ?? 0, position?.end.line ?? 0]
}

/** As it is written, from its first word on, with no more indentation than its parts need. */
export function sourceOf(node: Nodes, text: string): string {
  const from = 'children' in node && node.type === 'listItem' ? node.children[0]?.position : node.position
  const end = node.position?.end.offset
  if (from?.start.offset === undefined || end === undefined) return ''
  const [first = '', ...others] = text.slice(from.start.offset, end).split(/\r?\n/)
  const indents = others.filter(line => line.trim() !== '').map(line => line.length - line.trimStart().length)
  const least = indents.length > 0 ? Math.min(...indents) : 0
  return [first, ...others.map(line => line.slice(least))]
    .map(line => line.trimEnd())
    .join('\n')
    .trim()
}

/** Whether the whole of an item's own line is struck through. */
export function struck({ children: [first] }: ListItem): boolean {
  if (first?.type !== 'paragraph') return false
  return first.children.some(({ type }) => type === 'delete') && plain(first) === ''
}

function words(node: Nodes): string {
  switch (node.type) {
    case 'delete':
    case 'html':
      return ''
    case 'break':
      return ' '
    case 'image':
    case 'imageReference':
      return node.alt ?? ''
    default:
      if ('value' in node) return node.value
      return 'children' in node ? node.children.map(words).join(isBlock(node) ? ' ' : '') : ''
  }
}

function isBlock({ type }: Nodes): boolean {
  return ['list', 'listItem', 'blockquote', 'table', 'tableRow'].includes(type)
}
