import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { parseToml, tomlLines } from '../../base/toml/parse.ts'
import { scanToml } from '../../base/toml/scan.ts'
import type { PolicyRule } from '../verdict/rules.ts'

/** A rule with the place where a person wrote it. */
export interface WrittenRule {
  rule: PolicyRule
  file: string
  line: number
  /** From 1, in its file: what `pcc rules remove` takes. */
  number: number
}

/** Nothing that a terminal would obey, and nothing that cannot be seen. */
const Words = z
  .string()
  .min(1, 'it is empty')
  .refine(text => !/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u.test(text), 'it holds a character that cannot be seen')

const Rule = z.strictObject({ effect: z.enum(['allow', 'ask', 'deny']), tool: Words, match: Words.optional() })
const RulesFile = z.strictObject({ rules: z.array(Rule).default([]) })

/** The rules of a file in the order written. A wrong one is refused whole, with the line: half a list would mean something else. */
export function parseRules(file: string, content: string): WrittenRule[] {
  const parsed = parseToml(content)
  if (!parsed.ok) throw new AppError('rules_invalid', { file, line: parsed.line, problem: parsed.problem })
  const checked = RulesFile.safeParse(parsed.table)
  if (!checked.success) throw refusal(file, content, checked.error)
  const lines = ruleLines(content)
  return checked.data.rules.map(({ effect, tool, match }, index) => ({
    rule: { effect, tool, ...(match !== undefined && { match }) },
    file,
    line: lines[index] ?? lines[0] ?? 1,
    number: index + 1,
  }))
}

function refusal(file: string, content: string, { issues }: z.ZodError): AppError {
  const [issue] = issues
  const path = issue?.path ?? []
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined
  const key = unknown ?? (typeof path[2] === 'string' ? path[2] : undefined)
  const line =
    typeof path[1] === 'number' ? lineInRule(content, path[1], key) : (tomlLines(content).get(key ?? 'rules') ?? 1)
  const words = unknown === undefined ? wordsOf(issue) : `there is no key "${unknown}"; a rule has ${KEYS}`
  return new AppError('rules_invalid', { file, line, problem: key && !unknown ? `${key}: ${words}` : words })
}

const KEYS = 'effect, tool and match, under [[rules]]'

function wordsOf(issue: z.core.$ZodIssue | undefined): string {
  if (issue === undefined) return 'it is no list of rules'
  if (issue.code === 'invalid_value') return `it must be one of ${issue.values.join(', ')}`
  if (issue.code === 'invalid_type' && issue.path.length <= 1) return 'rules are written as [[rules]] tables'
  if (issue.code === 'invalid_type') return 'a text is needed'
  return issue.message
}

/** Where each rule begins. Written as one inline list, all begin where the list does. */
function ruleLines(content: string): number[] {
  const { headers } = scanToml(content)
  const tables = headers.filter(({ path }) => path.join('.') === 'rules').map(({ line }) => line)
  return tables.length > 0 ? tables : [tomlLines(content).get('rules') ?? 1]
}

function lineInRule(content: string, index: number, key: string | undefined): number {
  const lines = ruleLines(content)
  const from = lines[index] ?? lines[0] ?? 1
  const to = lines[index + 1] ?? Number.POSITIVE_INFINITY
  const named = scanToml(content).entries.find(({ path, line }) => path[1] === key && line >= from && line < to)
  return key === undefined ? from : (named?.line ?? from)
}
