import { statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'
import { readEnvSecrets } from '../../base/env-files.ts'
import { projectRulesFile, userRulesFile } from '../../policy/verdict/rules-file.ts'
import type { RememberedAnswers } from '../../store/offline-reads.ts'
import { loadProjectPolicy } from '../judge-call.ts'
import type { HookPolicy } from './triage.ts'

export interface PolicyCacheDeps {
  paths: AppPaths
  env: Record<string, string | undefined>
  answers: Pick<RememberedAnswers, 'find'>
}

interface CachedPolicy {
  state: string
  loadedAt: number
  policy: Promise<HookPolicy>
}

/** Some of what counts is in no file that is looked at here: trust of other files, what a person accepted, `.env` files. */
const FRESH_MS = 2_000
/** More projects than a person has agents in at once. */
const MOST_PROJECTS = 50

/** Loads the policy of a project, and again when one of its files has changed: loading takes several times as long as a verdict. */
export function openPolicyCache(deps: PolicyCacheDeps): (project: string) => Promise<HookPolicy> {
  const cached = new Map<string, CachedPolicy>()
  return project => {
    const state = describeState(project, deps)
    const known = cached.get(project)
    if (known && known.state === state && process.uptime() * 1000 - known.loadedAt < FRESH_MS) return known.policy
    const policy = loadPolicy(project, deps)
    cached.delete(project)
    cached.set(project, { state, loadedAt: process.uptime() * 1000, policy })
    for (const oldest of [...cached.keys()].slice(0, -MOST_PROJECTS)) cached.delete(oldest)
    policy.catch(() => cached.delete(project))
    return policy
  }
}

async function loadPolicy(project: string, { paths, env, answers }: PolicyCacheDeps): Promise<HookPolicy> {
  return { ...(await loadProjectPolicy({ paths, env, project, answers })), secrets: readEnvSecrets(project) }
}

/** The files that hold settings and rules: which there are, and whether one was written since. */
function describeState(project: string, { paths, env }: PolicyCacheDeps): string {
  const own = [paths.configFile, userRulesFile(paths), paths.trustFile]
  const home = env['HOME'] ?? '/'
  const above: string[] = []
  for (let at = resolve(project); ; at = dirname(at)) {
    above.push(join(at, '.perpetualcc.toml'), projectRulesFile(at))
    if (at === home || at === dirname(at)) break
  }
  return [...own, ...above].map(describeFile).join()
}

function describeFile(file: string): string {
  try {
    const stat = statSync(file, { throwIfNoEntry: false })
    return stat ? `${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}` : ''
  } catch {
    return 'unreadable'
  }
}
