import { resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import type { Values } from './config.ts'
import { suggestionFor } from './setting-names.ts'
import { checkText } from './setting-value.ts'
import { SETTING_KEYS, type SettingKey, settingOf } from './settings.ts'

/** `PCC_SESSIONS_MAX_CONCURRENT` for `sessions.max_concurrent`. */
export function variableOf(key: SettingKey): string {
  return `PCC_${key.toUpperCase().replaceAll('.', '_')}`
}

/** What the environment sets. An empty variable sets nothing; a mistyped one under one of our sections is refused. */
export function environmentLayer(env: Record<string, string | undefined>): Partial<Values> {
  const keyOf = new Map(SETTING_KEYS.map(key => [variableOf(key), key]))
  const sections = [...new Set(SETTING_KEYS.map(key => `PCC_${key.split('.')[0]?.toUpperCase()}_`))]
  const values: Partial<Record<SettingKey, unknown>> = {}
  for (const [name, text] of Object.entries(env)) {
    if (text === undefined || text === '' || !sections.some(section => name.startsWith(section))) continue
    const key = keyOf.get(name)
    if (!key) {
      const typed = name.slice('PCC_'.length).toLowerCase().replace('_', '.')
      throw new AppError('setting_invalid', { origin: 'environment', key: name, problem: unknown(typed) })
    }
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
