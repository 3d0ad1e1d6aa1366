import { homedir } from 'node:os'
import { join } from 'node:path'
import { type AppPathOptions, type AppPaths, appPathsFor, wrongHome } from '../../base/app-paths.ts'
import { AppError } from '../../base/errors.ts'
import {
  environmentLayer,
  findProjectFile,
  projectLayer,
  readConfigFile,
  readUserFile,
  variableIn,
  variableOf,
} from './layers.ts'
import { checkValue } from './parse-setting.ts'
import {
  type Config,
  defaultValues,
  isSettingKey,
  nestValues,
  type OwnConfig,
  type OwnValues,
  type SettingKey,
  type Values,
} from './settings.ts'

export interface LoadOptions {
  paths: AppPaths
  env: Record<string, string | undefined>
  /**
   * The project's directory; its config file is searched there and in the directories above. Without it, only what no project may set
   * can be read. `null` says that of the other settings the person's own value is meant, too.
   */
  project?: string | null | undefined
  /** The values of command line flags, by full key. */
  flags?: Partial<Values> | undefined
  /** Whether a person trusts the project's file as it is now. If absent, no project is trusted. */
  trusted?: ((file: { path: string; content: string }) => boolean) | undefined
}

export interface LoadedConfig extends LoadedOwnConfig {
  config: Config
  values: Values
}

/** The settings that no project may set. */
export interface LoadedOwnConfig {
  config: OwnConfig
  values: OwnValues
  /** `default`, a file with its line, a variable or `flag`. */
  origin(key: string): string
  userFile?: string
  projectFile?: string
  /** Keys of the project file that are ignored, completely or partly, until it is trusted. */
  untrusted: SettingKey[]
  /** A sentence for each key in a file that no longer means anything. */
  warnings: string[]
}

/** Loads the effective settings: defaults < user file < project file < environment < flags. */
export function loadConfig(options: LoadOptions & { project: string | null }): Promise<LoadedConfig>
export function loadConfig(options: LoadOptions & { project?: undefined }): Promise<LoadedOwnConfig>
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const { paths, env, project, flags, trusted } = options
  const home = env['HOME'] || homedir()
  const values: Values = { ...defaultValues(), 'data.directory': join(paths.home, 'data') }
  const origins = new Map<string, string>()
  const apply = (layer: Partial<Values>, originOf: (key: SettingKey) => string) => {
    for (const key of Object.keys(layer) as SettingKey[]) {
      if (layer[key] === undefined) continue
      Object.assign(values, { [key]: layer[key] })
      origins.set(key, originOf(key))
    }
  }

  const user = await readUserFile(paths, home)
  if (user) apply(user.values, key => `${user.path}:${user.lines.get(key) ?? 1}`)

  const projectPath = project == null ? undefined : await findProjectFile(project, home)
  const file = projectPath === undefined ? undefined : await readConfigFile(projectPath, home)
  const mayLoosen = file !== undefined && trusted?.({ path: file.path, content: file.content }) === true
  const fromProject = file ? projectLayer(file, values, mayLoosen) : { values: {}, untrusted: [] }
  if (file) apply(fromProject.values, key => `${file.path}:${file.lines.get(key) ?? 1}`)

  apply(environmentLayer(env), key => variableIn(env, key) ?? variableOf(key))
  apply(checkFlags(flags ?? {}), () => 'flag')

  return {
    config: nestValues(values),
    values,
    origin: key => origins.get(key) ?? 'default',
    ...(user ? { userFile: user.path } : {}),
    ...(file ? { projectFile: file.path } : {}),
    untrusted: fromProject.untrusted,
    warnings: [user, file].flatMap(each =>
      (each?.retired ?? []).map(
        key => `${key} no longer has a meaning; remove it from ${each?.path}:${each?.lines.get(key) ?? 1}`,
      ),
    ),
  }
}

function checkFlags(flags: Partial<Values>): Partial<Values> {
  for (const [key, value] of Object.entries(flags)) {
    if (value === undefined || !isSettingKey(key)) continue
    const checked = checkValue(key, value)
    if (!checked.ok) throw new AppError('setting_invalid', { origin: 'command line', key, problem: checked.problem })
  }
  return flags
}

/** Like `appPathsFor`, but also applies `data.directory` of the user's file. Call it if `dataDirectoryHint` returns `look`. */
export async function resolvePaths(options: AppPathOptions): Promise<AppPaths> {
  const { env } = options
  refuseWrongHome(env)
  const paths = appPathsFor(options)
  const user = await readUserFile(paths, env['HOME'] || homedir())
  if (options.dataDir || env['PCC_DATA_DIRECTORY']) return paths
  const dataDir = user?.values['data.directory']
  return dataDir === undefined ? paths : appPathsFor({ ...options, dataDir })
}

/** Throws where nobody can say which home is meant: it would be another one in every directory, or that of somebody else. */
export function refuseWrongHome(env: AppPathOptions['env']): void {
  const wrong = wrongHome(env)
  if (wrong) throw new AppError('setting_invalid', { origin: 'environment', ...wrong })
}
