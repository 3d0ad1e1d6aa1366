import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { AppError, messageOf } from '../../base/errors.ts'
import { parseToml, type TomlTable, tomlLines } from '../../base/toml/parse.ts'
import type { Values } from './config.ts'
import { suggestionFor } from './setting-names.ts'
import { absolutePath, checkValue } from './setting-value.ts'
import { isSettingKey, SETTING_KEYS, type SettingKey, settingOf } from './settings.ts'

/** The version of the file's own shape, written as `version = 1`; it may be left out. */
const CONFIG_VERSION = 1

export interface ConfigFile {
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
