import { join } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'
import { AppError } from '../../base/errors.ts'
import { filesIn } from '../layers.ts'
import type { PolicyRule } from './rules.ts'
import {
  findInProject,
  findProjectRules,
  parseRules,
  readRules,
  userRulesFile,
  type WrittenRule,
} from './rules-file.ts'

export interface LoadRulesOptions {
  paths: Pick<AppPaths, 'home' | 'accepted'>
  /** Without a project only the person's own rules count. */
  project?: string | undefined
  /** Whether a person has agreed to the project's file as it is now, for example `trustedFile(status)`. */
  trusted?: boolean | ((file: { path: string; content: string }) => boolean) | undefined
  /** Used instead of the person's own file, to try a change. */
  userFile?: string | undefined
}

export interface LoadedRules {
  /** The rules in force, in order: the person's own, then the project's. */
  rules: PolicyRule[]
  /** The rules in force, each with its file and line; the rule that is added because of an invalid file has none. */
  written: WrittenRule[]
  /** A project's allow rules that wait for `pcc trust`. */
  waiting: WrittenRule[]
  /** Set if a file was invalid: its last good rules are in force, or, if there are none, every request asks. */
  problem?: AppError
}

interface KnownRules {
  content: string
  rules: WrittenRule[]
}

export interface RulesLoader {
  load(options: LoadRulesOptions): Promise<LoadedRules>
}

/** Every rule as lists show it: with its place, and whether it is in force. What lists print is decided here only. */
export function rowsOfRules({ written, waiting }: LoadedRules, userFile: string) {
  const row = (in_force: boolean) => (one: WrittenRule) => {
    const scope = one.file === userFile ? ('user' as const) : ('project' as const)
    const { shown: _, ...rule } = one.rule
    return { number: one.number, scope, ...rule, file: one.file, line: one.line, in_force }
  }
  return [...written.map(row(true)), ...waiting.map(row(false))]
}

/** Comes last, so that it overrides every allow; a deny stays final. */
const EVERYTHING_ASKS: PolicyRule = { effect: 'ask', tool: '*' }

/** Reads the rules each time and remembers the last good content of each file, in case somebody breaks it. */
export function openRules(): RulesLoader {
  const lastGood = new Map<string, KnownRules>()
  return { load: options => load(options, lastGood) }
}

/** The rules in force for a project, with no memory of earlier ones. */
export function loadRules(options: LoadRulesOptions): Promise<LoadedRules> {
  return load(options, new Map())
}

async function load(options: LoadRulesOptions, lastGood: Map<string, KnownRules>): Promise<LoadedRules> {
  const { paths, project, trusted = false } = options
  const userFile = options.userFile ?? userRulesFile(paths)
  const isTrial = options.userFile !== undefined
  const user = await readFileRules(userFile, lastGood, { mustExist: isTrial, ...(!isTrial && paths) })
  const policies = await readPolicies(join(paths.home, 'policies'), lastGood)
  const fromProject = project === undefined ? [] : await readProjectRules(paths, project, lastGood)

  const written = [...policies.map(withoutAllow), user].flatMap(({ good }) => good?.rules ?? [])
  const waiting: WrittenRule[] = []
  for (const { file, good } of fromProject) {
    if (!good) continue
    const mayAllow = typeof trusted === 'function' ? trusted({ path: file, content: good.content }) : trusted
    for (const entry of good.rules) (mayAllow || entry.rule.effect !== 'allow' ? written : waiting).push(entry)
  }
  const all = [user, ...policies.map(withoutAllow), ...fromProject]
  const problem = all.find(result => result.problem)?.problem
  const isLost = all.some(result => result.problem && !result.good)
  const rules = written.map(({ rule }) => rule)
  return { rules: isLost ? [...rules, EVERYTHING_ASKS] : rules, written, waiting, ...(problem && { problem }) }
}

/** A project's rules come after its policies, so that they win. */
async function readProjectRules(
  paths: Pick<AppPaths, 'home'>,
  project: string,
  lastGood: Map<string, KnownRules>,
): Promise<FileRules[]> {
  const [file, folder] = await Promise.all([
    findProjectRules(paths, project),
    findInProject(paths, project, 'policies'),
  ])
  const policies = folder === undefined ? [] : await readPolicies(folder, lastGood)
  return [...policies, ...(file === undefined ? [] : [{ file, ...(await readFileRules(file, lastGood)) }])]
}

async function readPolicies(folder: string, lastGood: Map<string, KnownRules>): Promise<FileRules[]> {
  const files = await filesIn(folder, 'policies')
  return Promise.all(files.map(async file => ({ file, ...(await readFileRules(file, lastGood)) })))
}

interface FileRules {
  file: string
  good?: KnownRules
  problem?: AppError
}

/**
 * What allows something must be in the person's rules: only there does pcc notice a change that somebody else made. A policy of the
 * person that allows is refused whole.
 */
function withoutAllow({ file, good, problem }: FileRules): FileRules {
  const allows = good?.rules.find(({ rule }) => rule.effect === 'allow')
  if (!allows) return { file, ...(good && { good }), ...(problem && { problem }) }
  return { file, problem: new AppError('rules_invalid', { file, line: allows.line, problem: ALLOWS }) }
}

const ALLOWS = 'a policy of yours can only ask or deny; what is allowed belongs in your rules (pcc rules add allow …)'

async function readFileRules(
  file: string,
  lastGood: Map<string, KnownRules>,
  { mustExist = false, accepted }: { mustExist?: boolean } & Pick<AppPaths, 'accepted'> = {},
): Promise<{ good?: KnownRules; problem?: AppError }> {
  try {
    const onDisk = readRules(file, { mustExist })
    const content = accepted ? await accepted.inForce(file, onDisk) : onDisk
    const before = lastGood.get(file)
    // Rules are loaded for every request, so unchanged content is not parsed again: parsing may not depend on the time.
    if (before?.content === content) return { good: before }
    const good = { content, rules: parseRules(file, content) }
    // Empty rules are not remembered: a first rules file with a mistake in it must not count as if there were no rules.
    if (good.rules.length > 0) lastGood.set(file, good)
    else lastGood.delete(file)
    return { good }
  } catch (thrown) {
    const good = lastGood.get(file)
    return { ...(good && { good }), problem: thrown as AppError }
  }
}
