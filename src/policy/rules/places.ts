import { stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Places } from '../../base/places.ts'

/** The person's own rules. */
export function userRulesFile({ home }: Pick<Places, 'home'>): string {
  return join(home, 'rules.toml')
}

/** Where a project's rules are written when it has none yet. */
export function projectRulesFile(project: string): string {
  return join(project, '.perpetualcc', 'rules.toml')
}

/** The nearest rules file at or above a project, below the home directory: what lies there is the person's own. */
export async function findProjectRules(places: Pick<Places, 'home'>, project: string): Promise<string | undefined> {
  const home = resolve(homedir())
  for (let at = resolve(project); at !== home; at = dirname(at)) {
    const file = projectRulesFile(at)
    if (file !== userRulesFile(places) && (await exists(file))) return file
    if (at === dirname(at)) return undefined
  }
  return undefined
}

/** What cannot be looked at counts as there: then it is refused with its reason and not passed over. */
async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    thrown => !['ENOENT', 'ENOTDIR'].includes((thrown as NodeJS.ErrnoException).code ?? ''),
  )
}
