import { stringify } from 'yaml'
import type { TaskView } from '../../domain/task.ts'
import { partStateOf } from '../transition.ts'
import { LIKE_AFTER, type TaskFormat } from './task-text.ts'

/** Writes tasks as a file from which `readTasks` reads the same tasks with the same ids. The history of runs is not included. */
export function writeTasks(tasks: readonly TaskView[], format: TaskFormat): string {
  if (format === 'markdown') return toMarkdown(tasks)
  const plain = tasks.map(plainTask)
  if (format === 'jsonl') return plain.map(task => `${JSON.stringify(task)}\n`).join('')
  return stringify({ tasks: plain }, { lineWidth: 0, aliasDuplicateObjects: false })
}

/** The fields of a task; those with default values are left out. */
function plainTask(task: TaskView) {
  const { id, title, description, after, parent_id, priority, feature, type, labels, acceptance, paths } = task
  const state = partStateOf(task.state)
  // The state of a task with parts follows from them.
  const isOwn = task.children === 0 && state !== 'open'
  return {
    id,
    title,
    ...(task.alias !== null && { alias: task.alias }),
    ...(description !== title && { description }),
    ...(isOwn && { state }),
    ...(priority !== 0 && { priority }),
    ...(after.length > 0 && { after }),
    ...(parent_id !== null && { parent: parent_id }),
    ...(feature !== null && { feature }),
    ...(type !== 'task' && { type }),
    ...(labels.length > 0 && { labels }),
    ...(acceptance.length > 0 && { acceptance }),
    ...(paths.length > 0 && { paths }),
    ...(task.max_retries !== null && { max_retries: task.max_retries }),
    ...(task.model !== null && { model: task.model }),
    ...(task.budget !== null && { budget: task.budget }),
  }
}

const MARKS = { open: ' ', done: 'x', failed: '~', cancelled: '-' } as const

/** Parts are written under their parents. */
function toMarkdown(tasks: readonly TaskView[]): string {
  const ids = new Set(tasks.map(({ id }) => id))
  const parts = Map.groupBy(tasks, ({ parent_id }) => (parent_id !== null && ids.has(parent_id) ? parent_id : ''))
  const lines: string[] = ['# Tasks', '']
  const open = (parts.get('') ?? []).toReversed().map(task => ({ task, depth: 0 }))
  for (let next = open.pop(); next; next = open.pop()) {
    const { task, depth } = next
    lines.push(...itemLines(task, depth))
    open.push(...(parts.get(task.id) ?? []).toReversed().map(part => ({ task: part, depth: depth + 1 })))
  }
  return `${lines.join('\n')}\n`
}

function itemLines(task: TaskView, depth: number): string[] {
  const {
    title,
    description,
    state = 'open',
    parent,
    ...more
  } = { parent: undefined, description: undefined, ...plainTask(task) }
  const before = '  '.repeat(depth)
  const isPlain = description !== undefined && isPlainText(description)
  const shown = title.replaceAll('<!--', '<! --').replace(LIKE_AFTER, '( ')
  const hidden = {
    ...more,
    ...(shown !== title && { title }),
    ...(depth === 0 && parent !== undefined && { parent }),
    ...(!isPlain && description !== undefined && { description }),
  }
  // The JSON must not contain the end of the comment.
  const json = JSON.stringify(hidden).replaceAll('>', '\\u003e')
  const body = isPlain ? description.split('\n').map(line => (line === '' ? '' : `${before}  ${line}`)) : []
  return [`${before}- [${MARKS[state]}] ${shown} <!-- task: ${json} -->`, ...body]
}

/** Whether a text under an item is read back unchanged: it has no box, fence or odd white space. */
function isPlainText(text: string): boolean {
  return text === text.trim() && !/^[ \t]|[ \t]$|\r|\t|^\s*([-*+]|\d+[.)])\s+\[.\]|```|~~~|<!--\s*task\b/im.test(text)
}
