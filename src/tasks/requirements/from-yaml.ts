import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  stringify,
  type YAMLMap,
} from 'yaml'
import { findNearestWord } from '../../base/words.ts'
import type { Preference, RequiredTask } from '../../domain/brain.ts'
import { fromText } from './from-text.ts'
import {
  emptyReading,
  parseConstraints,
  parseKeyValue,
  parsePreference,
  quoted,
  type RequirementsProblem,
  type RequirementsReading,
} from './reading.ts'

/** Reads the YAML of the manual: project, description, tasks, preferences, constraints. A list alone is a list of tasks. */
export function fromYaml(source: string): RequirementsReading {
  const lines = new LineCounter()
  const doc = parseDocument(source, { lineCounter: lines, prettyErrors: false })
  const reading = emptyReading()
  const sheet: YamlSheet = { doc, lines, problems: reading.problems }
  for (const { pos, message } of doc.errors) {
    reading.problems.push({ line: lines.linePos(pos[0]).line, field: 'YAML', problem: message.replace(/\s+/g, ' ') })
  }
  if (doc.errors.length > 0) return reading
  const { contents } = doc
  if (isSeq(contents)) readTasks({ key: 'tasks', path: 'tasks', line: 1, value: contents }, sheet, reading)
  else if (!isMap(contents)) return fromText(source)
  else for (const field of fieldsOf(contents, '', sheet)) readField(field, sheet, reading)
  return reading
}

function readField(field: YamlField, sheet: YamlSheet, reading: RequirementsReading): void {
  const { requirements, problems } = reading
  switch (field.key) {
    case 'project':
    case 'title':
    case 'name':
      requirements.title ??= readText(field, sheet)
      return
    case 'description':
    case 'overview':
      requirements.overview ??= readText(field, sheet)?.slice(0, MAX_OVERVIEW)
      return
    case 'tasks':
      readTasks(field, sheet, reading)
      return
    case 'preferences':
      requirements.preferences.push(...readPreferences(field, sheet))
      return
    case 'constraints':
      requirements.constraints.push(...itemsOf(field, sheet).flatMap(item => readConstraints(item, sheet)))
      return
    default: {
      // An unknown field may be meant for the agent; one that is nearly a known name is a mistake that would lose something.
      const meant = findNearestWord(field.key, FILE_FIELDS)
      if (meant)
        problems.push({ line: field.line, field: field.path, problem: `unknown field, did you mean ${meant}?` })
    }
  }
}

function readTasks(field: YamlField, sheet: YamlSheet, { requirements, taskLines }: RequirementsReading): void {
  requirements.tasks.push(...readTaskList(field, sheet))
  const to = field.value?.range?.[1]
  if (to === undefined) return
  const end = sheet.lines.linePos(to)
  taskLines.push([field.line, end.col === 1 ? end.line - 1 : end.line])
}

/** "- Forbidden: MySQL" is a map for YAML, but a sentence for the person. */
function readConstraints(item: YamlField, sheet: YamlSheet): string[] {
  if (!isMap(item.value)) return parseConstraints(readText(item, sheet) ?? '').filter(Boolean)
  return fieldsOf(item.value, item.path, sheet).flatMap(pair =>
    itemsOf(pair, sheet).flatMap(value => {
      const text = readText(value, sheet)
      return text === undefined ? [] : parseConstraints(`${pair.key}: ${text}`)
    }),
  )
}

const FILE_FIELDS = [
  ...['project', 'description', 'tasks', 'preferences', 'constraints'].map(form => ({ form, means: form })),
  ...['todo', 'todos'].map(form => ({ form, means: 'tasks' })),
]

/** The overview is kept with the session and put into prompts. */
const MAX_OVERVIEW = 20_000

interface FoundTask extends RequiredTask {
  id_line: number
  references: { name: string; line: number; path: string }[]
}

/** The list of tasks: maps with `id`, `description`, `priority`, `depends_on`, `done`, or plain texts. */
function readTaskList(field: YamlField, sheet: YamlSheet): RequiredTask[] {
  if (isMap(field.value)) {
    sheet.problems.push({
      line: field.line,
      field: field.path,
      problem: 'it must be a list: begin each task with "- "',
    })
    return []
  }
  const found = itemsOf(field, sheet).flatMap(item => readTask(item, sheet) ?? [])
  checkIds(found, field.path, sheet)
  return found.map(({ id_line: _, references: __, ...task }) => task)
}

function readTask(item: YamlField, sheet: YamlSheet): FoundTask | undefined {
  const task: FoundTask = {
    text: '',
    done: false,
    priority: 0,
    depends_on: [],
    line: item.line,
    id_line: 0,
    references: [],
  }
  if (!isMap(item.value)) {
    const text = readText(item, sheet)
    return text === undefined ? undefined : { ...task, text }
  }
  const texts: { title?: string | undefined; description?: string | undefined } = {}
  const others: string[] = []
  for (const field of fieldsOf(item.value, item.path, sheet)) {
    switch (field.key) {
      case 'id':
        task.id = readText(field, sheet)
        task.id_line = field.line
        break
      case 'title':
      case 'name':
        texts.title = readText(field, sheet)
        break
      case 'description':
        texts.description = readText(field, sheet)
        break
      case 'priority':
        task.priority = readPriority(field, sheet)
        break
      case 'done':
        task.done = readDone(field, sheet)
        break
      case 'depends_on':
        task.references = readReferences(field, sheet)
        task.depends_on = [...new Set(task.references.map(({ name }) => name))]
        break
      default:
        others.push(...readOtherField(field, sheet))
    }
  }
  const text = [texts.title, texts.description].filter(Boolean).join('\n\n')
  if (text === '' && !('title' in texts) && !('description' in texts)) {
    sheet.problems.push({
      line: item.line,
      field: `${item.path}.description`,
      problem: 'it is missing: say what is to be done',
    })
  }
  return { ...task, text: [text, ...others].join('\n\n') }
}

/** A field that the manual does not name is for the agent, and follows the description as written; a mistyped name is a problem. */
function readOtherField({ key, path, line, value }: YamlField, { doc, problems }: YamlSheet): string[] {
  const meant = findNearestWord(key, TASK_FIELDS)
  if (meant) problems.push({ line, field: path, problem: `unknown field, did you mean ${meant}?` })
  if (meant || isEmptyField(value)) return []
  try {
    return [stringify({ [key]: value?.toJS(doc) }).trim()]
  } catch {
    problems.push({ line, field: path, problem: 'its anchors cannot be resolved' })
    return []
  }
}

function readPriority(field: YamlField, sheet: YamlSheet): number {
  const text = readText(field, sheet)
  if (text === undefined) return 0
  const named = PRIORITIES.get(text.toLowerCase())
  if (named !== undefined) return named
  if (/^[+-]?\d{1,6}$/.test(text)) return Number(text)
  const problem = `${quoted(text)} is not a priority: expected a whole number (higher is sooner), or ${[...PRIORITIES.keys()].join(', ')}`
  sheet.problems.push({ line: field.line, field: field.path, problem })
  return 0
}

const PRIORITIES = new Map([
  ['critical', 20],
  ['high', 10],
  ['medium', 0],
  ['normal', 0],
  ['low', -10],
])

function readDone(field: YamlField, sheet: YamlSheet): boolean {
  const { value, line, path } = field
  const isDone = isScalar(value) ? value.value : undefined
  if (typeof isDone === 'boolean') return isDone
  sheet.problems.push({ line, field: path, problem: 'it must be true or false' })
  return false
}

function readReferences(field: YamlField, sheet: YamlSheet): FoundTask['references'] {
  return itemsOf(field, sheet).flatMap(item => {
    const name = readText(item, sheet)
    return name === undefined ? [] : [{ name, line: item.line, path: field.path }]
  })
}

function checkIds(tasks: FoundTask[], path: string, { problems }: YamlSheet): void {
  const lines = new Map<string, number>()
  for (const [index, { id, id_line: line }] of tasks.entries()) {
    if (id === undefined) continue
    const taken = lines.get(id)
    if (taken === undefined) lines.set(id, line)
    else
      problems.push({ line, field: `${path}.${index}.id`, problem: `${quoted(id)} is the id of line ${taken} already` })
  }
  const ids = [...lines.keys()].map(id => ({ form: id.toLowerCase(), means: id }))
  for (const { name, line, path: field } of tasks.flatMap(({ references }) => references)) {
    if (lines.has(name)) continue
    const meant = findNearestWord(name, ids)
    const hint = meant === undefined ? '' : `, did you mean ${quoted(meant)}?`
    problems.push({ line, field, problem: `no task has the id ${quoted(name)}${hint}` })
  }
}

const TASK_FIELDS = [
  ...['id', 'description', 'priority', 'depends_on'].map(form => ({ form, means: form })),
  { form: 'desc', means: 'description' },
  { form: 'prio', means: 'priority' },
  ...['depends', 'dependencies', 'after', 'needs', 'requires', 'blocked_by'].map(form => ({
    form,
    means: 'depends_on',
  })),
]

/** Deeper nesting is no preference, and an anchor that contains itself has no end. */
const MAX_DEPTH = 6

/** The map of preferences; the key of an inner one includes the outer: `backend: { database: X }` is "backend database". */
function readPreferences(field: YamlField, sheet: YamlSheet, above: string[] = []): Preference[] {
  const { value, path, line } = field
  if (isEmptyField(value) && above.length === 0) return []
  if (above.length > MAX_DEPTH) {
    sheet.problems.push({ line, field: path, problem: `it is nested more than ${MAX_DEPTH} deep` })
    return []
  }
  if (isMap(value)) {
    return fieldsOf(value, path, sheet).flatMap(inner => readPreferences(inner, sheet, [...above, inner.key]))
  }
  if (isSeq(value)) return readPreferenceList(field, sheet, above)
  const text = readAnswer(field, sheet)
  if (text === undefined) return []
  return [parsePreference(above.length > 0 ? { key: above.join(' '), value: text } : parseKeyValue(text))]
}

/** Under a key a list is one preference; at the top level each item is one. */
function readPreferenceList(field: YamlField, sheet: YamlSheet, above: string[]): Preference[] {
  const items = itemsOf(field, sheet)
  if (above.length === 0 || items.some(({ value }) => isMap(value) || isSeq(value))) {
    return items.flatMap(item =>
      isSeq(item.value) ? readPreferenceList(item, sheet, [...above, '']) : readPreferences(item, sheet, above),
    )
  }
  const values = items.flatMap(item => readAnswer(item, sheet) ?? [])
  return values.length === 0 ? [] : [parsePreference({ key: above.join(' ').trim(), value: values.join(', ') })]
}

/** The text of a field; `true` and `false` become "yes" and "no". */
function readAnswer(field: YamlField, sheet: YamlSheet): string | undefined {
  const { value } = field
  if (isScalar(value) && typeof value.value === 'boolean') return value.value ? 'yes' : 'no'
  return readText(field, sheet)
}

/** A document while it is read. */
interface YamlSheet {
  doc: Document
  lines: LineCounter
  problems: RequirementsProblem[]
}

/** A value of the document and its position. */
interface YamlField {
  /** Its name in a map, or its index in a list. */
  key: string
  /** The full path, for messages: `tasks.0.priority`. */
  path: string
  line: number
  value: Node | undefined
}

/** The fields of a map, in their order. */
function fieldsOf(map: YAMLMap, path: string, sheet: YamlSheet): YamlField[] {
  return map.items.map(({ key, value }) => {
    const name = isScalar(key) ? (key.source ?? String(key.value)) : String(key)
    const line = isNode(key) ? lineOf(key, sheet) : 0
    return { key: name, path: path === '' ? name : `${path}.${name}`, line, value: resolveAlias(value, sheet) }
  })
}

/** The items of a list; a single value counts as a list of one, and an empty field as an empty list. */
function itemsOf(field: YamlField, sheet: YamlSheet): YamlField[] {
  const { value, path, line } = field
  if (isEmptyField(value)) return []
  if (!isSeq(value)) return [field]
  return value.items.map((item, index) => ({
    key: String(index),
    path: `${path}.${index}`,
    line: isNode(item) ? lineOf(item, sheet) : line,
    value: resolveAlias(item, sheet),
  }))
}

/** The text of a field as it is written: `3.10` is not 3.1. Anything but a text is a problem. */
function readText({ value, path, line }: YamlField, sheet: YamlSheet): string | undefined {
  if (isScalar(value) && !isEmptyField(value)) {
    const text = typeof value.value === 'string' ? value.value : (value.source ?? String(value.value))
    if (text.trim() !== '') return text.trim()
  }
  const problem = isEmptyField(value) || isScalar(value) ? 'it is empty' : `it must be a text, not a ${kindOf(value)}`
  sheet.problems.push({ line, field: path, problem })
  return undefined
}

/** Whether a field was left empty. */
function isEmptyField(value: Node | undefined): boolean {
  return value === undefined || (isScalar(value) && value.value === null)
}

function kindOf(value: Node | undefined): string {
  return isMap(value) ? 'map' : 'list'
}

function resolveAlias(value: unknown, { doc }: YamlSheet): Node | undefined {
  if (isAlias(value)) return value.resolve(doc)
  return isNode(value) ? value : undefined
}

function lineOf({ range }: Node, { lines }: YamlSheet): number {
  return lines.linePos(range?.[0] ?? 0).line
}
