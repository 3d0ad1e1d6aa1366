import { dirname, join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { AppPaths } from '../../base/app-paths.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { readRegularFile } from '../../base/files.ts'
import { isThere } from '../../base/is-there.ts'
import { parseToml, type TomlTable, tomlLines } from '../../base/toml.ts'
import { absolutePath, checkText, checkValue, nearestKey, suggestionFor } from './parse-setting.ts'
import { readSecret } from './secret-references.ts'
import { isSettingKey, RETIRED_KEYS, SETTING_KEYS, type SettingKey, settingOf, type Values } from './settings.ts'

/** The version of the file format, written as `version = 1`; it is optional. */
const CONFIG_VERSION = 1

interface ConfigFile {
  path: string
  content: string
  values: Partial<Values>
  /** The line of each key, for messages. */
  lines: Map<string, number>
  /** Keys that no longer mean anything. */
  retired: string[]
}

/** Reads and checks a config file; undefined if there is none. An invalid one is refused with its file, line, key and the expected value. */
export async function readConfigFile(path: string, home: string): Promise<ConfigFile | undefined> {
  const content = await readText(path)
  return content === undefined ? undefined : checkConfigText({ path, content, home })
}

/** Reads the user's file. The standard file may be absent, but a named one may not, or a mistyped --config would go unnoticed. */
export async function readUserFile(
  { configFile, home, accepted }: AppPaths,
  homeDirectory: string,
): Promise<ConfigFile | undefined> {
  const onDisk = await readText(configFile)
  const content = accepted ? await accepted.inForce(configFile, onDisk ?? '') : onDisk
  if (content || onDisk !== undefined) {
    const file = checkConfigText({ path: configFile, content: content ?? '', home: homeDirectory })
    accepted?.begin(configFile, file.content)
    return file
  }
  if (configFile === join(home, 'config.toml')) return undefined
  throw new AppError('config_unreadable', { file: configFile, problem: 'it does not exist' })
}

/** The checks of `readConfigFile` on a text that may not be on disk yet. */
export function checkConfigText({ path, content, home }: { path: string; content: string; home: string }): ConfigFile {
  const parsed = parseToml(content)
  if (!parsed.ok) {
    throw new AppError('config_invalid', { file: path, line: parsed.line, key: 'TOML', problem: parsed.problem })
  }
  refuseNewer(path, parsed.table['version'])
  const lines = tomlLines(content)
  const entries = [...listValues(parsed.table)].sort((a, b) => lineOf(lines, a.key) - lineOf(lines, b.key))
  const values: Partial<Record<SettingKey, unknown>> = {}
  const retired = entries.map(({ key }) => key).filter(key => RETIRED_KEYS.includes(key))
  for (const { key, value } of entries) {
    if (RETIRED_KEYS.includes(key)) continue
    const refuse = (problem: string) =>
      new AppError('config_invalid', { file: path, line: lineOf(lines, key), key, problem })
    if (key === 'version') {
      if (!Number.isInteger(value) || Number(value) < 1) throw refuse('expected a whole number, 1 or more')
      continue
    }
    if (isSection(key)) throw refuse(`expected a section, written [${key}]`)
    if (!isSettingKey(key)) throw refuse(`unknown setting${suggestionFor(key)}`)
    const checked = checkValue(key, value)
    if (!checked.ok) throw refuse(checked.problem)
    const isPath = settingOf(key).kind === 'path' && typeof checked.value === 'string'
    values[key] = isPath ? absolutePath(String(checked.value), dirname(path), home) : checked.value
  }
  return { path, content, values: values as Partial<Values>, lines, retired }
}

async function readText(path: string): Promise<string | undefined> {
  try {
    const bytes = await readRegularFile(path)
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    const problem = thrown instanceof TypeError ? 'it is not text in UTF-8' : messageOf(thrown)
    throw new AppError('config_unreadable', { file: path, problem }, thrown)
  }
}

function refuseNewer(file: string, version: unknown): void {
  if (typeof version !== 'number' || version <= CONFIG_VERSION) return
  throw new AppError('config_newer', { file, found: version, known: CONFIG_VERSION })
}

/** Every value with its dotted key. The value of a setting is never descended into, so a section in its place is returned whole. */
function* listValues(table: TomlTable, prefix = ''): Generator<{ key: string; value: unknown }> {
  for (const [name, value] of Object.entries(table)) {
    const key = prefix + name
    const isTable = typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
    if (isTable && !isSettingKey(key) && (isSection(key) || Object.keys(value).length > 0)) {
      yield* listValues(value as TomlTable, `${key}.`)
    } else {
      yield { key, value }
    }
  }
}

function isSection(key: string): boolean {
  return SETTING_KEYS.some(setting => setting.startsWith(`${key}.`))
}

function lineOf(lines: Map<string, number>, key: string): number {
  return lines.get(key) ?? 1
}

const PROJECT_FILE = '.perpetualcc.toml'

/** The nearest project file in a directory or above; the home directory is the last one checked. */
export async function findProjectFile(directory: string, home: string): Promise<string | undefined> {
  for (const parent of directoriesUp(directory, home)) {
    const file = join(parent, PROJECT_FILE)
    if (isThere(file)) return file
  }
  return undefined
}

/** A directory and those above it, up to home if it is inside, or else up to the root. */
function directoriesUp(directory: string, home: string): string[] {
  const directories: string[] = []
  for (let at = resolve(directory); ; at = dirname(at)) {
    directories.push(at)
    if (at === resolve(home) || at === dirname(at)) return directories
  }
}

/**
 * The effective values of a project's file: all of them if it is trusted; until then only free settings, and stricter values
 * of others. `untrusted` names the keys that are ignored, completely or partly.
 */
export function projectLayer(
  file: ConfigFile,
  held: Values,
  trusted: boolean,
): { values: Partial<Values>; untrusted: SettingKey[] } {
  const values: Partial<Record<SettingKey, unknown>> = {}
  const untrusted: SettingKey[] = []
  for (const key of Object.keys(file.values) as SettingKey[]) {
    const setting = settingOf(key)
    const proposed = file.values[key]
    if (setting.project === 'never') throw notAllowedError(file, key)
    if (trusted || setting.project === 'free') {
      values[key] = proposed
      continue
    }
    const strict = setting.tighten ? setting.tighten(held[key], proposed) : held[key]
    if (!isDeepStrictEqual(strict, proposed)) untrusted.push(key)
    if (!isDeepStrictEqual(strict, held[key])) values[key] = strict
  }
  return { values: values as Partial<Values>, untrusted }
}

function notAllowedError(file: ConfigFile, key: SettingKey): AppError {
  const problem = 'a project file may not set this; it belongs in your own config file (pcc config path)'
  return new AppError('config_invalid', { file: file.path, line: file.lines.get(key) ?? 1, key, problem })
}

/** `PCC_SESSIONS_MAX_CONCURRENT` for `sessions.max_concurrent`. */
export function variableOf(key: string): string {
  return `PCC_${key.toUpperCase().replaceAll('.', '_')}`
}

/** Every variable for a setting, the one with precedence first. */
function variablesOf(key: SettingKey): string[] {
  const { variable } = settingOf(key)
  return variable === undefined ? [variableOf(key)] : [variableOf(key), variable]
}

/** The variable in an environment that sets this key; undefined if none does. */
export function variableIn(env: Record<string, string | undefined>, key: SettingKey): string | undefined {
  return variablesOf(key).find(name => env[name])
}

/** Every variable that sets something. */
export function settingVariables(): string[] {
  return SETTING_KEYS.flatMap(variablesOf)
}

/** The variables of a request that may be stored: known settings without secrets. */
export function settingsToKeep(env: Record<string, string>): Record<string, string> {
  const names = SETTING_KEYS.filter(key => !settingOf(key).secret).flatMap(variablesOf)
  return Object.fromEntries(names.flatMap(name => (env[name] ? [[name, env[name]]] : [])))
}

/**
 * The brains' keys that settings refer to by `env:NAME`, as variables of ours. They are sent with a session, because the
 * daemon does not see the shell's environment, and the agent must not see them.
 */
export function namedKeys(values: Values, env: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    SETTING_KEYS.filter(key => key.startsWith('brain.') && settingOf(key).secret).flatMap(key => {
      const name = /^env:(.+)$/.exec(String(values[key] ?? ''))?.[1]
      const secret = name === undefined ? undefined : env[name]
      return secret ? [[variableOf(key), secret]] : []
    }),
  )
}

/** The values of all secret settings (keys of brains, tokens and addresses of channels), also those that are named by `env:NAME`. */
export function secretSettings(values: Values, env: Record<string, string | undefined>): string[] {
  return SETTING_KEYS.filter(key => settingOf(key).secret).flatMap(key => {
    const value = values[key]
    return typeof value === 'string' ? (readSecret(value, env) ?? []) : []
  })
}

/** The variables that `namedKeys` put into an environment. */
export function brainKeysIn(env: Record<string, string>): Record<string, string> {
  const names = new Set(SETTING_KEYS.filter(key => key.startsWith('brain.') && settingOf(key).secret).map(variableOf))
  return Object.fromEntries(Object.entries(env).filter(([name]) => names.has(name)))
}

/** What the names of variables mean. The daemon reads settings many times for every task, so this is made once. */
const KEY_OF_VARIABLE = new Map(SETTING_KEYS.flatMap(key => variablesOf(key).map(name => [name, key])))
const SECTIONS = [...new Set(SETTING_KEYS.map(key => `PCC_${key.split('.')[0]?.toUpperCase()}_`))]
const RETIRED_VARIABLES = new Set(RETIRED_KEYS.map(variableOf))

/** The settings from the environment. An empty variable sets nothing; a mistyped one is refused. */
export function environmentLayer(env: Record<string, string | undefined>): Partial<Values> {
  const values: Partial<Record<SettingKey, unknown>> = {}
  for (const [name, text] of Object.entries(env)) {
    if (text === undefined || text === '' || !name.startsWith('PCC_') || RETIRED_VARIABLES.has(name)) continue
    const key = KEY_OF_VARIABLE.get(name)
    if (!key) {
      const typed = name.slice('PCC_'.length).toLowerCase().replace('_', '.')
      // Other variables of ours (PCC_HOME, PCC_SESSION_MARK) are not similar to any setting.
      if (!SECTIONS.some(section => name.startsWith(section)) && !isMistyped(typed)) continue
      throw new AppError('setting_invalid', { origin: 'environment', key: name, problem: describeUnknown(typed) })
    }
    if (variableIn(env, key) !== name) continue
    const checked = checkText(key, text)
    if (!checked.ok) throw new AppError('setting_invalid', { origin: name, key, problem: checked.problem })
    const isPath = settingOf(key).kind === 'path'
    // `~/` is not handled: the shell has expanded it, and `appPathsFor` reads PCC_DATA_DIRECTORY the same way.
    values[key] = isPath ? resolve(String(checked.value)) : checked.value
  }
  return values as Partial<Values>
}

function describeUnknown(typed: string): string {
  return `no setting has this variable${suggestionFor(typed)}`
}

/** A single word is not a mistyped setting, because settings have at least two. */
function isMistyped(typed: string): boolean {
  return typed.includes('.') && nearestKey(typed) !== undefined
}
