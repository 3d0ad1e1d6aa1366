import type { AppPaths } from '../../base/app-paths.ts'
import type { AppError } from '../../base/errors.ts'
import type { PolicyRule } from './rules.ts'
import { findProjectRules, parseRules, readRules, userRulesFile, type WrittenRule } from './rules-file.ts'

export interface LoadRulesOptions {
  paths: Pick<AppPaths, 'home'>
  /** Without one only the person's own rules count. */
  project?: string | undefined
  /** Whether a person has agreed to the project's file as it is now; `trustedFile(status)` tells. */
  trusted?: boolean | ((file: { path: string; content: string }) => boolean) | undefined
  /** In place of the person's own file: to try a change. */
  userFile?: string | undefined
}

export interface LoadedRules {
  /** In force, in the order in which they count: the person's own, then the project's. */
  rules: PolicyRule[]
  /** The same with where each is written; those for the case of a wrong file are written nowhere. */
  written: WrittenRule[]
  /** A project's allow rules that wait for `pcc trust`. */
  waiting: WrittenRule[]
  /** A file was wrong: its last good rules are in force, or, when there are none, everything asks. */
  problem?: AppError
}

interface KnownRules {
  content: string
  rules: WrittenRule[]
}

export interface RulesLoader {
  load(options: LoadRulesOptions): Promise<LoadedRules>
}

/** Said last, so that it stands above every allow; a deny stays final. */
const EVERYTHING_ASKS: PolicyRule = { effect: 'ask', tool: '*' }

/** Reads rules as often as asked and remembers the last good content of each file, for when somebody breaks it. */
export function openRules(): RulesLoader {
  const kept = new Map<string, KnownRules>()
  return { load: options => load(options, kept) }
}

/** The rules in force for a project, with no memory of earlier ones. */
export function loadRules(options: LoadRulesOptions): Promise<LoadedRules> {
  return load(options, new Map())
}

async function load(options: LoadRulesOptions, kept: Map<string, KnownRules>): Promise<LoadedRules> {
  const { paths, project, trusted = false } = options
  const own = options.userFile ?? userRulesFile(paths)
  const theirs = project === undefined ? undefined : await findProjectRules(paths, project)
  const user = await rulesIn(own, kept, options.userFile !== undefined)
  const fromProject = theirs === undefined ? undefined : await rulesIn(theirs, kept, false)

  const written = [...(user.good?.rules ?? [])]
  const waiting: WrittenRule[] = []
  if (theirs !== undefined && fromProject?.good) {
    const { content, rules } = fromProject.good
    const mayAllow = typeof trusted === 'function' ? trusted({ path: theirs, content }) : trusted
    for (const each of rules) (mayAllow || each.rule.effect !== 'allow' ? written : waiting).push(each)
  }
  const problem = user.problem ?? fromProject?.problem
  const lost = [user, fromProject].some(each => each?.problem && !each.good)
  const rules = written.map(({ rule }) => rule)
  return { rules: lost ? [...rules, EVERYTHING_ASKS] : rules, written, waiting, ...(problem && { problem }) }
}

async function rulesIn(
  file: string,
  kept: Map<string, KnownRules>,
  mustExist: boolean,
): Promise<{ good?: KnownRules; problem?: AppError }> {
  try {
    const content = readRules(file, { mustExist })
    const before = kept.get(file)
    // Asked for with every request: what did not change is not parsed again.
    if (before?.content === content) return { good: before }
    const good = { content, rules: parseRules(file, content) }
    // A first rules file with a mistake in it must not run as if nobody had written one.
    if (good.rules.length > 0) kept.set(file, good)
    else kept.delete(file)
    return { good }
  } catch (thrown) {
    const good = kept.get(file)
    return { ...(good && { good }), problem: thrown as AppError }
  }
}
