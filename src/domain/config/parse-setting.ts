import { isAbsolute, join, resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { parseToml } from '../../base/toml.ts'
import { findNearestWord } from '../../base/words.ts'
import { isSettingKey, SETTING_KEYS, type SettingKey, settingOf } from './settings.ts'

/** The full key of what a person typed: itself, a short name of the manual, or an ending that only one key has. */
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

/** `; did you mean "brain.type"?`, or a full stop where nothing is near. */
export function suggestionFor(name: string): string {
  const near = nearestKey(name) ?? nearestSection(name)
  return near ? `; did you mean "${near}"?` : '.'
}

/** The setting whose name a mistyped one was probably meant to be. */
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

/** A value against its setting; the problem says what was expected and what was found, never a secret. */
export function checkValue(key: SettingKey, value: unknown): CheckedValue {
  const setting = settingOf(key)
  if (setting.accepts(value)) return { ok: true, value }
  return { ok: false, problem: `expected ${setting.expects}, found ${described(value, setting.secret === true)}` }
}

/** The same for text from the environment or the command line: lists by commas, or as a TOML list. */
export function checkText(key: SettingKey, text: string): CheckedValue {
  return checkValue(key, fromText(key, text))
}

/** Paths are kept absolute: `~/` is home, a relative one starts at `base`. */
export function absolutePath(path: string, base: string, home: string): string {
  if (path === '~') return home
  if (path.startsWith('~/')) return join(home, path.slice(2))
  return isAbsolute(path) ? resolve(path) : resolve(base, path)
}

function fromText(key: SettingKey, text: string): unknown {
  const trimmed = text.trim()
  switch (settingOf(key).kind) {
    case 'flag':
      return trimmed === 'true' ? true : trimmed === 'false' ? false : text
    case 'number':
      return /^[+-]?(\d[\d_]*)(\.\d+)?$/.test(trimmed) ? Number(trimmed.replaceAll('_', '')) : text
    case 'list':
      return listFrom(trimmed)
    case 'text':
    case 'path':
    case 'sections':
      return text
  }
}

function listFrom(text: string): unknown {
  if (text.startsWith('[')) {
    const parsed = parseToml(`list = ${text}`)
    return parsed.ok ? parsed.table['list'] : text
  }
  return text
    .split(',')
    .map(each => each.trim())
    .filter(each => each !== '')
}

function described(value: unknown, secret: boolean): string {
  if (Array.isArray(value)) return secret ? 'a list' : `the list ${shortened(JSON.stringify(value))}`
  if (value instanceof Date) return 'a date'
  if (typeof value === 'object' && value !== null) return 'a section'
  if (typeof value === 'string') return secret ? 'a text' : `the text ${shortened(JSON.stringify(value))}`
  return secret ? `a ${typeof value}` : String(value)
}

function shortened(text: string): string {
  return text.length > 80 ? `${text.slice(0, 77)}…` : text
}
