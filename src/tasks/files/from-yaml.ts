import { isMap, isNode, isSeq, LineCounter, type Node, parseDocument, type YAMLSeq } from 'yaml'
import { messageOf } from '../../base/errors.ts'
import type { RawTasks } from './task-text.ts'

/** Reads a list of tasks, or a map with a list under `tasks`. */
export function fromYaml(text: string): RawTasks {
  const raw: RawTasks = { tasks: [], problems: [] }
  const lines = new LineCounter()
  const placeOf = (node: unknown) => {
    const { line, col } = isNode(node) && node.range ? lines.linePos(node.range[0]) : { line: 1, col: 1 }
    return { line, column: col }
  }
  try {
    const doc = parseDocument(text, { lineCounter: lines, prettyErrors: false })
    for (const { pos, message } of doc.errors) {
      const { line, col } = lines.linePos(pos[0])
      raw.problems.push({ line, column: col, problem: message.replace(/\s+/g, ' ') })
    }
    if (raw.problems.length > 0) return raw
    const list = findList(doc.contents)
    if (!list) return { tasks: [], problems: [{ line: 1, column: 1, problem: 'there is no list of tasks' }] }
    // The whole list is converted at once: aliases are counted together, so that a few lines cannot become a million.
    const values = list.toJS(doc, { maxAliasCount: MAX_ALIASES }) as unknown[]
    for (const [index, value] of values.entries())
      raw.tasks.push({ ...placeOf(list.items[index]), value: normalize(value) })
  } catch (error) {
    raw.problems.push({ line: 1, problem: messageOf(error).replace(/\s+/g, ' ').slice(0, 200) })
  }
  return raw
}

/** People use an anchor for a description that a few tasks share, not hundreds. */
const MAX_ALIASES = 100

function findList(contents: Node | null): YAMLSeq | undefined {
  if (isSeq(contents)) return contents
  const under = isMap(contents) ? contents.get('tasks', true) : undefined
  return isSeq(under) ? under : undefined
}

/** A plain text is a title; the field names of requirements files are accepted too. */
function normalize(value: unknown): unknown {
  if (typeof value === 'string' || typeof value === 'number') return { title: String(value) }
  if (typeof value !== 'object' || value === null) return value
  const { depends_on, done, name, id, after = depends_on, ...rest } = value as Record<string, unknown>
  return {
    ...(name !== undefined && { title: name }),
    ...(id !== undefined && { id: typeof id === 'number' ? String(id) : id }),
    ...(after != null && { after: (Array.isArray(after) ? after : [after]).map(asText) }),
    ...(typeof done === 'boolean' && { state: done ? 'done' : 'open' }),
    ...rest,
  }
}

function asText(value: unknown): unknown {
  return typeof value === 'number' ? String(value) : value
}
