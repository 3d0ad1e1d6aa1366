import { readFileSync, statSync } from 'node:fs'
import { type Document, isMap, isNode, LineCounter, parseDocument } from 'yaml'
import type * as z from 'zod'
import { AppError, issueText, messageOf } from '../base/errors.ts'
import { findNearestWord } from '../base/words.ts'
import { FAULT_KINDS } from './faults.ts'
import { Scenario } from './scenario.ts'

/** Far above any scenario written by hand; a log or a dump passed by mistake is refused before parsing. */
const MAX_BYTES = 4_000_000
/** Every use of a YAML alias copies its target, so a few of them can grow to gigabytes. */
const MAX_ALIASES = 100

/** Reads a scenario file; any problem is an AppError that names file, line and key. */
export function readScenarioFile(file: string): Scenario {
  return parseScenario(readText(file), file)
}

/** Checks the text of a scenario; `file` is the name used in errors. */
export function parseScenario(text: string, file: string): Scenario {
  if (text.length > MAX_BYTES) throw new AppError('scenario_unreadable', { file, problem: tooLarge(text.length) })
  const lines = new LineCounter()
  const refuse = (offset: number, key: string, problem: string) =>
    new AppError('scenario_invalid', { file, line: lines.linePos(offset).line || 1, key, problem })
  const { document, value } = parseYaml(text, lines, refuse)
  if (value === null) throw refuse(0, 'the file', 'is empty')
  const parsed = Scenario.safeParse(value, { reportInput: true })
  if (parsed.success) return parsed.data
  const issue = deepest(parsed.error.issues[0])
  throw refuse(offsetOf(document, issue), keyOf(issue), problemOf(issue))
}

type Refuse = (offset: number, key: string, problem: string) => AppError

function parseYaml(text: string, lineCounter: LineCounter, refuse: Refuse): { document: Document; value: unknown } {
  try {
    const document = parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'error' })
    const yamlError = document.errors[0]
    if (yamlError) throw refuse(yamlError.pos[0], 'YAML', yamlError.message)
    return { document, value: document.toJS({ maxAliasCount: MAX_ALIASES }) }
  } catch (error) {
    // Errors for an alias bomb, or for nesting too deep for the stack, have no position.
    throw error instanceof AppError ? error : refuse(0, 'YAML', messageOf(error))
  }
}

function readText(file: string): string {
  const unreadable = (problem: string) => new AppError('scenario_unreadable', { file, problem })
  try {
    const stats = statSync(file)
    if (!stats.isFile()) throw unreadable('it is not a file')
    if (stats.size > MAX_BYTES) throw unreadable(tooLarge(stats.size))
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file))
  } catch (error) {
    if (error instanceof AppError) throw error
    if (error instanceof TypeError) throw unreadable('it is not text in UTF-8')
    throw unreadable(PROBLEMS[(error as NodeJS.ErrnoException).code ?? ''] ?? messageOf(error))
  }
}

const PROBLEMS: Record<string, string> = {
  ENOENT: 'it does not exist',
  ENOTDIR: 'it does not exist',
  EACCES: 'permission denied',
}

const tooLarge = (bytes: number) => `it has ${bytes} bytes, more than the ${MAX_BYTES} a scenario may have`

type Issue = z.core.$ZodIssue

/** The most specific issue: of a union's issues, the one with the longest path. */
function deepest(issue: Issue | undefined): Issue {
  if (!issue) throw new Error('a failed parse has an issue')
  if (issue.code !== 'invalid_union') return issue
  const inner = issue.errors.flat().toSorted((a, b) => b.path.length - a.path.length)[0]
  return inner && inner.path.length > 0 ? { ...deepest(inner), path: [...issue.path, ...inner.path] } : issue
}

function keyOf(issue: Issue): string {
  const extra = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  const path = [...issue.path, ...extra]
  if (path.length === 0) return 'the file'
  return path.map((part, at) => (typeof part === 'number' ? `[${part}]` : `${at ? '.' : ''}${String(part)}`)).join('')
}

function problemOf(issue: Issue): string {
  if (issue.code === 'unrecognized_keys') return 'there is no such key'
  if (issue.code === 'invalid_type' && issue.input === undefined) return `is missing (${issue.expected} expected)`
  if (issue.code === 'invalid_union' && issue.errors.length === 0) {
    const input = issue.input as { kind?: unknown } | undefined
    const kind = String(input?.kind ?? input)
    const near = findNearestWord(
      kind,
      FAULT_KINDS.map(form => ({ form, means: form })),
    )
    return `"${kind}" is not one of the faults that pcc docs simulator lists${near ? `; did you mean "${near}"?` : ''}`
  }
  return issueText(issue)
}

/** The position of the named key; for a missing key, the start of the object that lacks it. */
function offsetOf(document: Document, issue: Issue): number {
  const path = issue.path.map(part => (typeof part === 'symbol' ? String(part) : part))
  const unknown = issue.code === 'unrecognized_keys' ? issue.keys[0] : undefined
  for (let length = path.length; length >= 0; length--) {
    const name = length === path.length ? unknown : undefined
    const offset = name === undefined ? startOf(document, path.slice(0, length)) : keyOffset(document, path, name)
    if (offset !== undefined) return offset
  }
  return 0
}

function startOf(document: Document, path: (string | number)[]): number | undefined {
  const last = path.at(-1)
  const atKey = typeof last === 'string' ? keyOffset(document, path.slice(0, -1), last) : undefined
  if (atKey !== undefined) return atKey
  const node = path.length === 0 ? document.contents : document.getIn(path, true)
  return isNode(node) ? node.range?.[0] : undefined
}

function keyOffset(document: Document, path: (string | number)[], name: string): number | undefined {
  const parent = path.length === 0 ? document.contents : document.getIn(path, true)
  if (!isMap(parent)) return undefined
  const pair = parent.items.find(item => String(item.key) === name)
  return isNode(pair?.key) ? pair.key.range?.[0] : undefined
}
