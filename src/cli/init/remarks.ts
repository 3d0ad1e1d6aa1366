import { homedir } from 'node:os'
import { dirname, join, sep } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import { readConfigFile } from '../../domain/config/file-layer.ts'
import { findProjectFile } from '../../domain/config/project-layer.ts'
import type { ProjectFacts } from '../../domain/project/project-facts.ts'

/** Where a project's settings come from before `pcc init`. */
export interface Settings {
  /** The file of its own checkout above it that holds already. */
  above?: string
  remarks: string[]
}

/** Looks at the settings files that are there: one that is wrong is named, one above is not to be hidden by accident. */
export async function lookAtSettings(
  project: string,
  { git }: ProjectFacts,
  home = process.env['HOME'] || homedir(),
): Promise<Settings> {
  const nearest = await findProjectFile(project, home)
  if (nearest === undefined) return { remarks: [] }
  const remarks = await readConfigFile(nearest, home).then(
    () => [],
    (error: unknown) => [`${messageOf(error)} It is left as it is, and no session starts here until it is mended.`],
  )
  if (nearest === join(project, '.perpetualcc.toml')) return { remarks }
  const isOfCheckout = git !== undefined && `${dirname(nearest)}${sep}`.startsWith(`${git.top}${sep}`)
  if (isOfCheckout) return { above: nearest, remarks }
  return { remarks: [...remarks, `From now on the settings of this project count here, and ${nearest} does not.`] }
}

/** What a person should know beside what was done. */
export function remarksOn({ git, problems, is_cut }: ProjectFacts, { skipIndex }: { skipIndex: boolean }): string[] {
  return [
    ...(git === undefined
      ? [
          'This is not a git repository: what agents change cannot be looked at or taken back. After git init, run pcc init again.',
        ]
      : []),
    ...(is_cut ? ['The project is larger than what was looked at: the deepest folders were left out.'] : []),
    ...problems.slice(0, MOST).map(({ file, problem }) => `${file} could not be understood: ${problem}`),
    ...(problems.length > MOST ? [`${problems.length - MOST} more files could not be understood.`] : []),
    ...(skipIndex ? ['There is nothing to skip: this version of pcc has no index of the code yet.'] : []),
  ]
}

const MOST = 8
