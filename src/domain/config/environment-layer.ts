import { resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import type { Values } from './config.ts'
import { nearestKey, suggestionFor } from './setting-names.ts'
import { checkText } from './setting-value.ts'
import { SETTING_KEYS, type SettingKey, settingOf } from './settings.ts'

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
