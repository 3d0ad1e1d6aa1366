import type { AppPaths } from '../../base/app-paths.ts'
import type { AppError } from '../../base/errors.ts'
import { findProjectRules, userRulesFile } from './find-rules.ts'
import type { PolicyRule } from './rules.ts'
import { parseRules, readRules, type WrittenRule } from './rules-file.ts'

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
  /** The same rules with their file and line, without the rule that is added because of an invalid file. */
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
  const projectFile = project === undefined ? undefined : await findProjectRules(paths, project)
  const isTrial = options.userFile !== undefined
  const user = await readFileRules(userFile, lastGood, { mustExist: isTrial, ...(!isTrial && paths) })
  const fromProject = projectFile === undefined ? undefined : await readFileRules(projectFile, lastGood)

  const written = [...(user.good?.rules ?? [])]
  const waiting: WrittenRule[] = []
  if (projectFile !== undefined && fromProject?.good) {
    const { content, rules } = fromProject.good
    const mayAllow = typeof trusted === 'function' ? trusted({ path: projectFile, content }) : trusted
    for (const entry of rules) (mayAllow || entry.rule.effect !== 'allow' ? written : waiting).push(entry)
  }
  const problem = user.problem ?? fromProject?.problem
  const isLost = [user, fromProject].some(result => result?.problem && !result.good)
  const rules = written.map(({ rule }) => rule)
  return { rules: isLost ? [...rules, EVERYTHING_ASKS] : rules, written, waiting, ...(problem && { problem }) }
}

async function readFileRules(
  file: string,
  lastGood: Map<string, KnownRules>,
  { mustExist = false, accepted }: { mustExist?: boolean } & Pick<AppPaths, 'accepted'> = {},
): Promise<{ good?: KnownRules; problem?: AppError }> {
  try {
    const onDisk = readRules(file, { mustExist })
    const content = accepted ? await accepted.inForce(file, onDisk) : onDisk
    const before = lastGood.get(file)
    // Rules are loaded for every request, so unchanged content is not parsed again.
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
