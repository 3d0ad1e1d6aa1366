import { isAbsolute, relative } from 'node:path'

/** What a tool call is aimed at, short enough for one line: the file, the command, the pattern, the address. */
export function targetOf(input: Record<string, unknown>, project: string): string {
  for (const key of PATH_KEYS) {
    const path = input[key]
    if (typeof path === 'string' && path !== '') return withPattern(input, shortPath(path, project))
  }
  for (const key of TEXT_KEYS) {
    const text = input[key]
    if (typeof text === 'string' && text !== '') return oneLine(text)
  }
  return ''
}

const PATH_KEYS = ['file_path', 'notebook_path', 'path']
const TEXT_KEYS = [
  'command',
  'pattern',
  'url',
  'query',
  'title',
  'description',
  'subject',
  'skill',
  'plan',
  'prompt',
  'task_id',
  'task',
  'text',
]

/** Long enough for a command worth reading, short enough for a line of a log. */
const MAX_TARGET = 200

function withPattern(input: Record<string, unknown>, path: string): string {
  const pattern = input['pattern']
  return typeof pattern === 'string' ? oneLine(`${pattern} in ${path}`) : oneLine(path)
}

function shortPath(path: string, project: string): string {
  if (!isAbsolute(path)) return path
  const inside = relative(project, path)
  return inside === '' ? '.' : inside.startsWith('..') ? path : inside
}

function oneLine(text: string): string {
  // A line break ends a command: it is shown, so that two commands do not look like one.
  const line = text
    .trim()
    .replace(/\s*\n\s*/g, ' ⏎ ')
    .replace(/\s+/g, ' ')
  return line.length > MAX_TARGET ? `${line.slice(0, MAX_TARGET - 1)}…` : line
}
