import { readFileSync, statSync } from 'node:fs'
import * as z from 'zod'
import { AppError, messageOf } from '../../base/errors.ts'
import { parseToml, scanToml, tomlLines } from '../../base/toml.ts'
import type { PolicyRule } from './rules.ts'

/** A rule with the file and line where a person wrote it. */
export interface WrittenRule {
  rule: PolicyRule
  file: string
  line: number
  /** The number of the rule in its file, from 1, as `pcc rules remove` takes it. */
  number: number
}

/** Text without control characters and without invisible ones. */
const Words = z
  .string()
  .min(1, 'it is empty')
  .refine(text => !/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u.test(text), 'it holds a character that cannot be seen')

const Rule = z.strictObject({ effect: z.enum(['allow', 'ask', 'deny']), tool: Words, match: Words.optional() })
const RulesFile = z.strictObject({ rules: z.array(Rule).default([]) })

/** The rules of a file in the order written. An invalid file is refused whole, with the line: half a list means something else. */
export function parseRules(file: string, content: string): WrittenRule[] {
  const parsed = parseToml(content)
  if (!parsed.ok) throw new AppError('rules_invalid', { file, line: parsed.line, problem: parsed.problem })
  const checked = RulesFile.safeParse(parsed.table)
  if (!checked.success) throw rulesError(file, content, checked.error)
  const lines = ruleLines(content)
  return checked.data.rules.map(({ effect, tool, match }, index) => ({
    rule: { effect, tool, ...(match !== undefined && { match }) },
    file,
    line: lines[index] ?? lines[0] ?? 1,
    number: index + 1,
  }))
}

function rulesError(file: string, content: string, { issues }: z.ZodError): AppError {
  const [issue] = issues
  const path = issue?.path ?? []
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined
  const key = unknown ?? (typeof path[2] === 'string' ? path[2] : undefined)
  const line =
    typeof path[1] === 'number' ? lineInRule(content, path[1], key) : (tomlLines(content).get(key ?? 'rules') ?? 1)
  const text = unknown === undefined ? describeIssue(issue) : `there is no key "${unknown}"; a rule has ${KEYS}`
  return new AppError('rules_invalid', { file, line, problem: key && !unknown ? `${key}: ${text}` : text })
}

const KEYS = 'effect, tool and match, under [[rules]]'

function describeIssue(issue: z.core.$ZodIssue | undefined): string {
  if (issue === undefined) return 'it is no list of rules'
  if (issue.code === 'invalid_value') return `it must be one of ${issue.values.join(', ')}`
  if (issue.code === 'invalid_type' && issue.path.length <= 1) return 'rules are written as [[rules]] tables'
  if (issue.code === 'invalid_type') return 'a text is needed'
  return issue.message
}

/** The line on which each rule begins. In an inline list all rules have the line of the list. */
function ruleLines(content: string): number[] {
  const { headers } = scanToml(content)
  const tables = headers.filter(({ path }) => path.join('.') === 'rules').map(({ line }) => line)
  return tables.length > 0 ? tables : [tomlLines(content).get('rules') ?? 1]
}

function lineInRule(content: string, index: number, key: string | undefined): number {
  const lines = ruleLines(content)
  const from = lines[index] ?? lines[0] ?? 1
  const to = lines[index + 1] ?? Number.POSITIVE_INFINITY
  const entry = scanToml(content).entries.find(({ path, line }) => path[1] === key && line >= from && line < to)
  return key === undefined ? from : (entry?.line ?? from)
}

/** Far more than a person writes; every request is compared with each rule. */
const MAX_BYTES = 256 * 1024

/** The text of a rules file; empty if there is none. */
export function readRules(file: string, { mustExist = false } = {}): string {
  try {
    const info = statSync(file)
    // Opening a pipe would wait for a writer for ever.
    if (!info.isFile()) throw new Error('it is no regular file')
    if (info.size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`)
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file))
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if ((code === 'ENOENT' || code === 'ENOTDIR') && !mustExist) return ''
    throw new AppError('rules_invalid', { file, line: 1, problem: PROBLEMS[code ?? ''] ?? messageOf(thrown) }, thrown)
  }
}

const PROBLEMS: Record<string, string> = {
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not text in UTF-8',
  ENOENT: 'it does not exist',
  ENOTDIR: 'it does not exist',
  EACCES: 'it may not be read',
}
