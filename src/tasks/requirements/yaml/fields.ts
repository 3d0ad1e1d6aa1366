import { type Document, isAlias, isMap, isNode, isScalar, isSeq, type LineCounter, type Node, type YAMLMap } from 'yaml'
import type { Problem } from '../problems.ts'

/** A document while it is read. */
export interface Sheet {
  doc: Document
  lines: LineCounter
  problems: Problem[]
}

/** A value of the document and where it stands. */
export interface Field {
  /** Its own name, or its number in a list. */
  key: string
  /** From the top, for messages: `tasks.0.priority`. */
  path: string
  line: number
  value: Node | undefined
}

/** The fields of a map, in their order. */
export function fieldsOf(map: YAMLMap, path: string, sheet: Sheet): Field[] {
  return map.items.map(({ key, value }) => {
    const name = isScalar(key) ? (key.source ?? String(key.value)) : String(key)
    const line = isNode(key) ? lineOf(key, sheet) : 0
    return { key: name, path: path === '' ? name : `${path}.${name}`, line, value: resolved(value, sheet) }
  })
}

/** The items of a list; a value that is no list is a list of one, and nothing is an empty one. */
export function itemsOf(field: Field, sheet: Sheet): Field[] {
  const { value, path, line } = field
  if (isNothing(value)) return []
  if (!isSeq(value)) return [field]
  return value.items.map((item, index) => ({
    key: String(index),
    path: `${path}.${index}`,
    line: isNode(item) ? lineOf(item, sheet) : line,
    value: resolved(item, sheet),
  }))
}

/** Its text, as it is written: `3.10` is not 3.1. Anything else is a problem. */
export function textIn({ value, path, line }: Field, sheet: Sheet): string | undefined {
  if (isScalar(value) && !isNothing(value)) {
    const text = typeof value.value === 'string' ? value.value : (value.source ?? String(value.value))
    if (text.trim() !== '') return text.trim()
  }
  const problem = isNothing(value) || isScalar(value) ? 'it is empty' : `it must be a text, not a ${kindOf(value)}`
  sheet.problems.push({ line, field: path, problem })
  return undefined
}

/** Whether a field was left empty. */
export function isNothing(value: Node | undefined): boolean {
  return value === undefined || (isScalar(value) && value.value === null)
}

function kindOf(value: Node | undefined): string {
  return isMap(value) ? 'map' : 'list'
}

function resolved(value: unknown, { doc }: Sheet): Node | undefined {
  if (isAlias(value)) return value.resolve(doc)
  return isNode(value) ? value : undefined
}

function lineOf({ range }: Node, { lines }: Sheet): number {
  return lines.linePos(range?.[0] ?? 0).line
}
