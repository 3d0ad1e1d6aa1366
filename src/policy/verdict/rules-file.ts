import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { readRegularFileSync } from '../../base/files.ts'
import { isThere } from '../../base/is-there.ts'
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

/** What is wrong with a file: in which rule, at which key, and what. */
interface RuleProblem {
  index?: number
  key?: string
  problem: string
}

/** The rules of a file in the order written. An invalid file is refused whole, with the line: half a list means something else. */
export function parseRules(file: string, content: string): WrittenRule[] {
  const parsed = parseToml(content)
  if (!parsed.ok) throw new AppError('rules_invalid', { file, line: parsed.line, problem: parsed.problem })
  const rules = checkRules(parsed.table)
  if (!Array.isArray(rules)) {
    const { index, key, problem } = rules
    const line = index === undefined ? (tomlLines(content).get(key ?? 'rules') ?? 1) : lineInRule(content, index, key)
    throw new AppError('rules_invalid', { file, line, problem })
  }
  const lines = ruleLines(content)
  return rules.map((rule, index) => ({ rule, file, line: lines[index] ?? lines[0] ?? 1, number: index + 1 }))
}

/** Checked by hand: commands that explain a verdict would pay more for loading zod than for all the rest. */
function checkRules(table: Record<string, unknown>): PolicyRule[] | RuleProblem {
  const { rules = [], ...others } = table
  if (!Array.isArray(rules)) return { problem: 'rules are written as [[rules]] tables' }
  const checked: PolicyRule[] = []
  for (const [index, rule] of rules.entries()) {
    const result = checkRule(rule)
    if ('problem' in result) return { index, ...result }
    checked.push(result)
  }
  const [unknown] = Object.keys(others)
  return unknown === undefined ? checked : { key: unknown, problem: unknownKey(unknown) }
}

function checkRule(rule: unknown): PolicyRule | RuleProblem {
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule))
    return { problem: 'a rule is a table with effect, tool and match, under [[rules]]' }
  const { effect, tool, match, ...others } = rule as Record<string, unknown>
  const known = EFFECTS.find(each => each === effect)
  if (!known) return { key: 'effect', problem: `effect: it must be one of ${EFFECTS.join(', ')}` }
  for (const [key, text] of Object.entries({ tool, ...(match !== undefined && { match }) })) {
    const problem = checkText(text)
    if (problem !== undefined) return { key, problem: `${key}: ${problem}` }
  }
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) return { key: unknown, problem: unknownKey(unknown) }
  return { effect: known, tool: String(tool), ...(match !== undefined && { match: String(match) }) }
}

const EFFECTS = ['allow', 'ask', 'deny'] as const

/** Text without control characters and without invisible ones. */
function checkText(text: unknown): string | undefined {
  if (typeof text !== 'string') return 'a text is needed'
  if (text === '') return 'it is empty'
  return /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u.test(text) ? 'it holds a character that cannot be seen' : undefined
}

function unknownKey(key: string): string {
  return `there is no key "${key}"; a rule has effect, tool and match, under [[rules]]`
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
    return new TextDecoder('utf-8', { fatal: true }).decode(readRegularFileSync(file, MAX_BYTES))
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

/** The person's own rules. */
export function userRulesFile({ home }: Pick<AppPaths, 'home'>): string {
  return join(home, 'rules.toml')
}

/** The file for a project's rules if it has none yet. */
export function projectRulesFile(project: string): string {
  return join(project, '.perpetualcc', 'rules.toml')
}

/** The nearest rules file at or above a project, but below the home directory: a file there would be the person's own. */
export function findProjectRules(paths: Pick<AppPaths, 'home'>, project: string): Promise<string | undefined> {
  return findInProject(paths, project, 'rules.toml')
}

/** The nearest file or folder of this name in a `.perpetualcc` at or above a project, but below the home directory. */
export async function findInProject(
  paths: Pick<AppPaths, 'home'>,
  project: string,
  name: string,
): Promise<string | undefined> {
  const home = resolve(homedir())
  for (let at = resolve(project); at !== home; at = dirname(at)) {
    const path = join(at, '.perpetualcc', name)
    if (path !== join(paths.home, name) && isThere(path)) return path
    if (at === dirname(at)) return undefined
  }
  return undefined
}
