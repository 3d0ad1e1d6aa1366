import { isAbsolute, join, resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { parseToml } from '../../base/toml.ts'
import { findNearestWord } from '../../base/words.ts'
import { isSettingKey, SETTING_KEYS, type SettingKey, settingOf } from './settings.ts'

/** The full key for a typed name: the key itself, a short name from the manual, or a unique ending of a key. */
export function findSetting(name: string): SettingKey {
  if (isSettingKey(name)) return name
  const alias = SETTING_KEYS.find(key => settingOf(key).also?.includes(name))
  if (alias) return alias
  const endings = SETTING_KEYS.filter(key => key.endsWith(`.${name}`))
  const [only, ...more] = endings
  if (only && more.length === 0) return only
  if (only) throw new AppError('config_ambiguous_key', { key: name, matches: endings.join(', ') })
  throw new AppError('config_unknown_key', { key: name, suggestion: suggestionFor(name) })
}

/** `; did you mean "brain.type"?`, or a full stop if nothing is similar. */
export function suggestionFor(name: string): string {
  const near = nearestKey(name) ?? nearestSection(name)
  return near ? `; did you mean "${near}"?` : '.'
}

/** The setting that a mistyped name probably means. */
export function nearestKey(name: string): string | undefined {
  const forms = SETTING_KEYS.flatMap(key =>
    [key, key.split('.').at(-1) ?? key, ...(settingOf(key).also ?? [])].map(form => ({ form, means: key })),
  )
  return findNearestWord(name, forms)
}

function nearestSection(name: string): string | undefined {
  const sections = [...new Set(SETTING_KEYS.map(key => key.slice(0, key.lastIndexOf('.'))))]
  const typed = name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : name
  if (sections.includes(typed)) return undefined
  return findNearestWord(
    typed,
    sections.map(section => ({ form: section, means: `[${section}]` })),
  )
}

export type CheckedValue = { ok: true; value: unknown } | { ok: false; problem: string }

/** Checks a value against its setting. The problem says what was expected and what was found, but never shows a secret. */
export function checkValue(key: SettingKey, value: unknown): CheckedValue {
  const setting = settingOf(key)
  if (setting.accepts(value)) return { ok: true, value }
  return { ok: false, problem: `expected ${setting.expects}, found ${describe(value, setting.secret === true)}` }
}

/** Checks text from the environment or the command line. Lists are separated by commas, or written as a TOML list. */
export function checkText(key: SettingKey, text: string): CheckedValue {
  return checkValue(key, parseText(key, text))
}

/** Makes a path absolute: `~/` is home, and a relative path starts at `base`. */
export function absolutePath(path: string, base: string, home: string): string {
  if (path === '~') return home
  if (path.startsWith('~/')) return join(home, path.slice(2))
  return isAbsolute(path) ? resolve(path) : resolve(base, path)
}

function parseText(key: SettingKey, text: string): unknown {
  const trimmed = text.trim()
  switch (settingOf(key).kind) {
    case 'flag':
      return trimmed === 'true' ? true : trimmed === 'false' ? false : text
    case 'number':
      return /^[+-]?(\d[\d_]*)(\.\d+)?$/.test(trimmed) ? Number(trimmed.replaceAll('_', '')) : text
    case 'list':
      return parseList(trimmed)
    case 'text':
    case 'path':
    case 'sections':
      return text
  }
}

function parseList(text: string): unknown {
  if (text.startsWith('[')) {
    const parsed = parseToml(`list = ${text}`)
    return parsed.ok ? parsed.table['list'] : text
  }
  return text
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')
}

function describe(value: unknown, secret: boolean): string {
  if (Array.isArray(value)) return secret ? 'a list' : `the list ${shorten(JSON.stringify(value))}`
  if (value instanceof Date) return 'a date'
  if (typeof value === 'object' && value !== null) return 'a section'
  if (typeof value === 'string') return secret ? 'a text' : `the text ${shorten(JSON.stringify(value))}`
  return secret ? `a ${typeof value}` : String(value)
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 77)}…` : text
}
