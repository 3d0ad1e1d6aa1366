import { isMap, isScalar, stringify } from 'yaml'
import { nearest } from '../../../base/nearest.ts'
import type { RequiredTask } from '../../../domain/brain/requirements.ts'
import { quoted } from '../problems.ts'
import { type Field, fieldsOf, isNothing, itemsOf, type Sheet, textIn } from './fields.ts'

interface Found extends RequiredTask {
  id_line: number
  references: { name: string; line: number; path: string }[]
}

/** The list of tasks: maps with `id`, `description`, `priority`, `depends_on`, `done`, or plain texts. */
export function tasksIn(field: Field, sheet: Sheet): RequiredTask[] {
  if (isMap(field.value)) {
    sheet.problems.push({
      line: field.line,
      field: field.path,
      problem: 'it must be a list: begin each task with "- "',
    })
    return []
  }
  const found = itemsOf(field, sheet).flatMap(item => taskIn(item, sheet) ?? [])
  checkIds(found, field.path, sheet)
  return found.map(({ id_line: _, references: __, ...task }) => task)
}

function taskIn(item: Field, sheet: Sheet): Found | undefined {
  const task: Found = {
    text: '',
    done: false,
    priority: 0,
    depends_on: [],
    line: item.line,
    id_line: 0,
    references: [],
  }
  if (!isMap(item.value)) {
    const text = textIn(item, sheet)
    return text === undefined ? undefined : { ...task, text }
  }
  const texts: { title?: string | undefined; description?: string | undefined } = {}
  const others: string[] = []
  for (const field of fieldsOf(item.value, item.path, sheet)) {
    switch (field.key) {
      case 'id':
        task.id = textIn(field, sheet)
        task.id_line = field.line
        break
      case 'title':
      case 'name':
        texts.title = textIn(field, sheet)
        break
      case 'description':
        texts.description = textIn(field, sheet)
        break
      case 'priority':
        task.priority = priorityIn(field, sheet)
        break
      case 'done':
        task.done = doneIn(field, sheet)
        break
      case 'depends_on':
        task.references = referencesIn(field, sheet)
        task.depends_on = [...new Set(task.references.map(({ name }) => name))]
        break
      default:
        others.push(...otherIn(field, sheet))
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

/** What the manual does not name is for the agent, under the description, as it is written; a mistyped name is a mistake. */
function otherIn({ key, path, line, value }: Field, { doc, problems }: Sheet): string[] {
  const meant = nearest(key, FORMS)
  if (meant) problems.push({ line, field: path, problem: `unknown field, did you mean ${meant}?` })
  if (meant || isNothing(value)) return []
  try {
    return [stringify({ [key]: value?.toJS(doc) }).trim()]
  } catch {
    problems.push({ line, field: path, problem: 'its anchors cannot be resolved' })
    return []
  }
}

function priorityIn(field: Field, sheet: Sheet): number {
  const said = textIn(field, sheet)
  if (said === undefined) return 0
  const word = PRIORITIES.get(said.toLowerCase())
  if (word !== undefined) return word
  if (/^[+-]?\d{1,6}$/.test(said)) return Number(said)
  const problem = `${quoted(said)} is no priority: a whole number (higher is sooner), or ${[...PRIORITIES.keys()].join(', ')}`
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

function doneIn(field: Field, sheet: Sheet): boolean {
  const { value, line, path } = field
  const said = isScalar(value) ? value.value : undefined
  if (typeof said === 'boolean') return said
  sheet.problems.push({ line, field: path, problem: 'it must be true or false' })
  return false
}

function referencesIn(field: Field, sheet: Sheet): Found['references'] {
  return itemsOf(field, sheet).flatMap(item => {
    const name = textIn(item, sheet)
    return name === undefined ? [] : [{ name, line: item.line, path: field.path }]
  })
}

function checkIds(tasks: Found[], path: string, { problems }: Sheet): void {
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
    const meant = nearest(name, ids)
    const hint = meant === undefined ? '' : `, did you mean ${quoted(meant)}?`
    problems.push({ line, field, problem: `no task has the id ${quoted(name)}${hint}` })
  }
}

const FORMS = [
  ...['id', 'description', 'priority', 'depends_on'].map(form => ({ form, means: form })),
  { form: 'desc', means: 'description' },
  { form: 'prio', means: 'priority' },
  ...['depends', 'dependencies', 'after', 'needs', 'requires', 'blocked_by'].map(form => ({
    form,
    means: 'depends_on',
  })),
]
