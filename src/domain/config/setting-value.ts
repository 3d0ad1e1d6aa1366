import { isAbsolute, join, resolve } from 'node:path'
import { parseToml } from '../../base/toml/parse.ts'
import { type SettingKey, settingOf } from './settings.ts'

export type Checked = { ok: true; value: unknown } | { ok: false; problem: string }

/** A value against its setting; the problem says what was expected and what was found, never a secret. */
export function checkValue(key: SettingKey, value: unknown): Checked {
  const setting = settingOf(key)
  if (setting.accepts(value)) return { ok: true, value }
  return { ok: false, problem: `expected ${setting.expects}, found ${described(value, setting.secret === true)}` }
}

/** The same for text from the environment or the command line: lists by commas, or as a TOML list. */
export function checkText(key: SettingKey, text: string): Checked {
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
