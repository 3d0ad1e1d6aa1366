import { stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'

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
    if (path !== join(paths.home, name) && (await exists(path))) return path
    if (at === dirname(at)) return undefined
  }
  return undefined
}

/** A file that cannot be accessed counts as existing, so that it is refused with a reason and not ignored. */
async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    thrown => !['ENOENT', 'ENOTDIR'].includes((thrown as NodeJS.ErrnoException).code ?? ''),
  )
}
