import type { ListItem, Paragraph, RootContent, Table } from 'mdast'
import { keyValue } from '../key-value.ts'
import { plain } from './plain.ts'

/** What a section states, one line each: items with what they stand under, paragraphs, rows of a table as "key: value". */
export function statements(blocks: readonly RootContent[]): string[] {
  return blocks.flatMap(block => stated(block)).filter(text => text !== '')
}

function stated(block: RootContent): string[] {
  switch (block.type) {
    case 'list':
      return block.children.flatMap(itemStated)
    case 'table':
      return rowsStated(block)
    case 'paragraph':
      return paragraphStated(block)
    case 'blockquote':
      return statements(block.children)
    default:
      return [] // code, rules and comments state nothing
  }
}

/** An item with a list under it: the list's items are stated under its words, or are its value together. */
function itemStated(item: ListItem): string[] {
  const own = item.children
    .filter(child => child.type !== 'list')
    .map(plain)
    .join(' ')
  const under = statements(item.children.filter(child => child.type === 'list'))
  if (under.length === 0) return [dashed(item) ?? own]
  const { key, value } = keyValue(own)
  if (value !== '' && key !== '') return [own, ...under]
  const name = own.replace(/[\s:=]+$/, '')
  if (under.every(text => keyValue(text).key === '') && own.endsWith(':')) return [`${name}: ${under.join('; ')}`]
  return under.map(text => (keyValue(text).key === '' ? `${name}: ${text}` : `${name} ${text}`))
}

/** "**Database** – PostgreSQL": a bold beginning is a key whatever stands behind it. */
function dashed({ children: [first] }: ListItem): string | undefined {
  if (first?.type !== 'paragraph' || first.children[0]?.type !== 'strong') return undefined
  const [strong, ...rest] = first.children
  const key = plain(strong).replace(/[\s:=]+$/, '')
  const value = plain({ ...first, children: rest }).replace(/^[:=–—-]+\s*/, '')
  const joins = /^\s*[:=–—-]/.test(plain({ ...first, children: rest })) || /[:=]\s*$/.test(plain(strong))
  return joins && value !== '' ? `${key}: ${value}` : undefined
}

/** The first row is the table's head. */
function rowsStated({ children: [, ...rows] }: Table): string[] {
  return rows.map(({ children }) => {
    const [key = '', ...values] = children.map(plain)
    return values.some(Boolean) ? `${key}: ${values.filter(Boolean).join(', ')}` : key
  })
}

/** Lines that are all "key: value" are one each; others are a sentence that goes on. */
function paragraphStated(block: Paragraph): string[] {
  const lines = splitLines(block).map(plain)
  return lines.length > 1 && lines.every(line => keyValue(line).key !== '') ? lines : [plain(block)]
}

function splitLines(block: Paragraph): Paragraph[] {
  const lines: Paragraph[] = [{ ...block, children: [] }]
  for (const child of block.children) {
    if (child.type !== 'text' && child.type !== 'break') {
      lines.at(-1)?.children.push(child)
      continue
    }
    const [first = '', ...others] = child.type === 'break' ? ['', ''] : child.value.split('\n')
    lines.at(-1)?.children.push({ type: 'text', value: first })
    for (const value of others) lines.push({ ...block, children: [{ type: 'text', value }] })
  }
  return lines
}
