import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'
import { isThere } from '../../base/is-there.ts'

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
