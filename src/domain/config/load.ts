import { homedir } from 'node:os'
import { join } from 'node:path'
import { AppError } from '../../base/errors.ts'
import type { Places } from '../../base/places.ts'
import { type Config, nestValues, standardValues, type Values } from './config.ts'
import { environmentLayer, variableIn, variableOf } from './environment-layer.ts'
import { readConfigFile, readUserFile } from './file-layer.ts'
import { findProjectFile, projectLayer } from './project-layer.ts'
import { checkValue } from './setting-value.ts'
import { isSettingKey, type SettingKey } from './settings.ts'

export interface LoadOptions {
  places: Places
  env: Record<string, string | undefined>
  /** The project's directory; its file is looked for there and above. */
  project?: string | undefined
  /** What command line flags set, by full key. */
  flags?: Partial<Values> | undefined
  /** Whether a person has agreed to the project's file as it is now. Without it nothing of a project is trusted. */
  trusted?: ((file: { path: string; content: string }) => boolean) | undefined
}

export interface LoadedConfig {
  config: Config
  values: Values
  /** `default`, a file with its line, a variable or `flag`. */
  origin(key: string): string
  userFile?: string
  projectFile?: string
  /** Keys of the project file left out, in whole or in part, until it is trusted. */
  untrusted: SettingKey[]
}

/** The settings in force: defaults < user file < project file < environment < flags. */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const { places, env, project, flags, trusted } = options
  const home = env['HOME'] || homedir()
  const values: Values = { ...standardValues(), 'data.directory': join(places.home, 'data') }
  const origins = new Map<string, string>()
  const lay = (layer: Partial<Values>, originOf: (key: SettingKey) => string) => {
    for (const key of Object.keys(layer) as SettingKey[]) {
      if (layer[key] === undefined) continue
      Object.assign(values, { [key]: layer[key] })
      origins.set(key, originOf(key))
    }
  }

  const user = await readUserFile(places, home)
  if (user) lay(user.values, key => `${user.path}:${user.lines.get(key) ?? 1}`)

  const projectPath = project === undefined ? undefined : await findProjectFile(project, home)
  const file = projectPath === undefined ? undefined : await readConfigFile(projectPath, home)
  const mayLoosen = file !== undefined && trusted?.({ path: file.path, content: file.content }) === true
  const fromProject = file ? projectLayer(file, values, mayLoosen) : { values: {}, untrusted: [] }
  if (file) lay(fromProject.values, key => `${file.path}:${file.lines.get(key) ?? 1}`)

  lay(environmentLayer(env), key => variableIn(env, key) ?? variableOf(key))
  lay(checkedFlags(flags ?? {}), () => 'flag')

  return {
    config: nestValues(values),
    values,
    origin: key => origins.get(key) ?? 'default',
    ...(user ? { userFile: user.path } : {}),
    ...(file ? { projectFile: file.path } : {}),
    untrusted: fromProject.untrusted,
  }
}

function checkedFlags(flags: Partial<Values>): Partial<Values> {
  for (const [key, value] of Object.entries(flags)) {
    if (value === undefined || !isSettingKey(key)) continue
    const checked = checkValue(key, value)
    if (!checked.ok) throw new AppError('setting_invalid', { origin: 'command line', key, problem: checked.problem })
  }
  return flags
}
