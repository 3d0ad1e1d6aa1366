import { isMap, isSeq, LineCounter, parseDocument } from 'yaml'
import { nearest } from '../../../base/nearest.ts'
import { fromText } from '../from-text.ts'
import { newReading, type Reading } from '../reading.ts'
import { constraintsIn } from '../ruled-out.ts'
import { type Field, fieldsOf, itemsOf, type Sheet, textIn } from './fields.ts'
import { preferencesIn } from './preferences.ts'
import { tasksIn } from './tasks.ts'

/** Reads the YAML of the manual: project, description, tasks, preferences, constraints. A list alone is one of tasks. */
export function fromYaml(source: string): Reading {
  const lines = new LineCounter()
  const doc = parseDocument(source, { lineCounter: lines, prettyErrors: false })
  const reading = newReading()
  const sheet: Sheet = { doc, lines, problems: reading.problems }
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

function readField(field: Field, sheet: Sheet, reading: Reading): void {
  const { requirements, problems } = reading
  switch (field.key) {
    case 'project':
    case 'title':
    case 'name':
      requirements.title ??= textIn(field, sheet)
      return
    case 'description':
    case 'overview':
      requirements.overview ??= textIn(field, sheet)?.slice(0, MAX_OVERVIEW)
      return
    case 'tasks':
      readTasks(field, sheet, reading)
      return
    case 'preferences':
      requirements.preferences.push(...preferencesIn(field, sheet))
      return
    case 'constraints':
      requirements.constraints.push(...itemsOf(field, sheet).flatMap(item => constraintsOf(item, sheet)))
      return
    default: {
      // What is not known may be meant for the agent; what is nearly a known name is a mistake that would lose something.
      const meant = nearest(field.key, FORMS)
      if (meant)
        problems.push({ line: field.line, field: field.path, problem: `unknown field, did you mean ${meant}?` })
    }
  }
}

function readTasks(field: Field, sheet: Sheet, { requirements, taskLines }: Reading): void {
  requirements.tasks.push(...tasksIn(field, sheet))
  const to = field.value?.range?.[1]
  if (to === undefined) return
  const end = sheet.lines.linePos(to)
  taskLines.push([field.line, end.col === 1 ? end.line - 1 : end.line])
}

/** "- Forbidden: MySQL" is a map to YAML and a sentence to the person. */
function constraintsOf(item: Field, sheet: Sheet): string[] {
  if (!isMap(item.value)) return constraintsIn(textIn(item, sheet) ?? '').filter(Boolean)
  return fieldsOf(item.value, item.path, sheet).flatMap(pair =>
    itemsOf(pair, sheet).flatMap(value => {
      const text = textIn(value, sheet)
      return text === undefined ? [] : constraintsIn(`${pair.key}: ${text}`)
    }),
  )
}

const FORMS = [
  ...['project', 'description', 'tasks', 'preferences', 'constraints'].map(form => ({ form, means: form })),
  ...['todo', 'todos'].map(form => ({ form, means: 'tasks' })),
]

/** It is kept with the session and put into prompts. */
const MAX_OVERVIEW = 20_000
