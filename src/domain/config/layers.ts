import { readFile, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { AppPaths } from '../../base/app-paths.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { parseToml, type TomlTable, tomlLines } from '../../base/toml.ts'
import { absolutePath, checkText, checkValue, nearestKey, suggestionFor } from './parse-setting.ts'
import { isSettingKey, SETTING_KEYS, type SettingKey, settingOf, type Values } from './settings.ts'

/** The version of the file's own shape, written as `version = 1`; it may be left out. */
const CONFIG_VERSION = 1

interface ConfigFile {
  path: string
  content: string
  values: Partial<Values>
  /** Line of each key, for messages. */
  lines: Map<string, number>
}

/** A config file, checked; undefined where there is none. A wrong one is refused by file, line, key and expectation. */
export async function readConfigFile(path: string, home: string): Promise<ConfigFile | undefined> {
  const content = await readText(path)
  return content === undefined ? undefined : checkConfigText({ path, content, home })
}

/** The user's file. The standard one may be absent; one that a person named may not, or a mistyped --config would go unnoticed. */
export async function readUserFile(
  { configFile, home }: AppPaths,
  homeDirectory: string,
): Promise<ConfigFile | undefined> {
  const user = await readConfigFile(configFile, homeDirectory)
  if (user || configFile === join(home, 'config.toml')) return user
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
  const found = [...leavesOf(parsed.table)].sort((a, b) => lineOf(lines, a.key) - lineOf(lines, b.key))
  const values: Partial<Record<SettingKey, unknown>> = {}
  for (const { key, value } of found) {
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
  return { path, content, values: values as Partial<Values>, lines }
}

async function readText(path: string): Promise<string | undefined> {
  try {
    const bytes = await readFile(path)
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

/** Every value with its dotted key. A setting's own value is never descended into, so a section in its place is seen whole. */
function* leavesOf(table: TomlTable, prefix = ''): Generator<{ key: string; value: unknown }> {
  for (const [name, value] of Object.entries(table)) {
    const key = prefix + name
    const isTable = typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
    if (isTable && !isSettingKey(key) && (isSection(key) || Object.keys(value).length > 0)) {
      yield* leavesOf(value as TomlTable, `${key}.`)
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

/** The nearest project file at or above a directory; the home directory is the last one looked at. */
export async function findProjectFile(directory: string, home: string): Promise<string | undefined> {
  for (const each of directoriesUp(directory, home)) {
    const file = join(each, PROJECT_FILE)
    if (await exists(file)) return file
  }
  return undefined
}

/** A directory and those above it, up to home when it lies inside, else to the root of the file system. */
function directoriesUp(directory: string, home: string): string[] {
  const found: string[] = []
  for (let at = resolve(directory); ; at = dirname(at)) {
    found.push(at)
    if (at === resolve(home) || at === dirname(at)) return found
  }
}

/**
 * What a project's file comes to: all of it when trusted; until then what is free, and of the rest only what makes a
 * setting stricter. `untrusted` names the keys that wait, in whole or in part.
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
    if (setting.project === 'never') throw notInProject(file, key)
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

function notInProject(file: ConfigFile, key: SettingKey): AppError {
  const problem = 'a project file may not set this; it belongs in your own config file (pcc config path)'
  return new AppError('config_invalid', { file: file.path, line: file.lines.get(key) ?? 1, key, problem })
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    thrown =>
      (thrown as NodeJS.ErrnoException).code !== 'ENOENT' && (thrown as NodeJS.ErrnoException).code !== 'ENOTDIR',
  )
}

/** `PCC_SESSIONS_MAX_CONCURRENT` for `sessions.max_concurrent`. */
export function variableOf(key: SettingKey): string {
  return `PCC_${key.toUpperCase().replaceAll('.', '_')}`
}

/** Every variable that sets it, the one that wins first. */
function variablesOf(key: SettingKey): string[] {
  const { variable } = settingOf(key)
  return variable === undefined ? [variableOf(key)] : [variableOf(key), variable]
}

/** The variable of an environment that sets it; undefined where none does. */
export function variableIn(env: Record<string, string | undefined>, key: SettingKey): string | undefined {
  return variablesOf(key).find(name => env[name])
}

/** Of the variables that travel with a request, those that may be stored: known settings that are no secrets. */
export function settingsToKeep(env: Record<string, string>): Record<string, string> {
  const kept = SETTING_KEYS.filter(key => !settingOf(key).secret).flatMap(variablesOf)
  return Object.fromEntries(kept.flatMap(name => (env[name] ? [[name, env[name]]] : [])))
}

/**
 * The brains' keys that settings only name (`env:NAME`), as variables of ours: they travel with a session, because the daemon
 * does not see the shell's environment, and the agent must not see them.
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

/** Of an environment, what `namedKeys` put into it. */
export function brainKeysIn(env: Record<string, string>): Record<string, string> {
  const names = new Set(SETTING_KEYS.filter(key => key.startsWith('brain.') && settingOf(key).secret).map(variableOf))
  return Object.fromEntries(Object.entries(env).filter(([name]) => names.has(name)))
}

/** What the environment sets. An empty variable sets nothing; one that is mistyped, in its section or in its name, is refused. */
export function environmentLayer(env: Record<string, string | undefined>): Partial<Values> {
  const keyOf = new Map(SETTING_KEYS.flatMap(key => variablesOf(key).map(name => [name, key])))
  const sections = [...new Set(SETTING_KEYS.map(key => `PCC_${key.split('.')[0]?.toUpperCase()}_`))]
  const values: Partial<Record<SettingKey, unknown>> = {}
  for (const [name, text] of Object.entries(env)) {
    if (text === undefined || text === '' || !name.startsWith('PCC_')) continue
    const key = keyOf.get(name)
    if (!key) {
      const typed = name.slice('PCC_'.length).toLowerCase().replace('_', '.')
      // Others of ours (PCC_HOME, PCC_SESSION_MARK) are near to no setting.
      if (!sections.some(section => name.startsWith(section)) && !isMistyped(typed)) continue
      throw new AppError('setting_invalid', { origin: 'environment', key: name, problem: unknown(typed) })
    }
    if (variableIn(env, key) !== name) continue
    const checked = checkText(key, text)
    if (!checked.ok) throw new AppError('setting_invalid', { origin: name, key, problem: checked.problem })
    const isPath = settingOf(key).kind === 'path'
    // Not `~/`: the shell has expanded it, and placesFor reads PCC_DATA_DIRECTORY the same way.
    values[key] = isPath ? resolve(String(checked.value)) : checked.value
  }
  return values as Partial<Values>
}

function unknown(typed: string): string {
  return `no setting has this variable${suggestionFor(typed)}`
}

/** One word alone is no mistyped setting: they have two at least. */
function isMistyped(typed: string): boolean {
  return typed.includes('.') && nearestKey(typed) !== undefined
}
