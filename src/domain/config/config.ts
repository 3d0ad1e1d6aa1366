import type { Setting } from './setting.ts'
import { SETTING_KEYS, type SETTINGS, type SettingKey, settingOf } from './settings.ts'

/** Every setting's value by its full key. */
export type Values = { [Key in SettingKey]: (typeof SETTINGS)[Key] extends Setting<infer T> ? T : never }

type First<Key> = Key extends `${infer Head}.${string}` ? Head : Key
type Nested<T> = {
  [Head in First<keyof T> & string]: Head extends keyof T
    ? T[Head]
    : Nested<{ [Key in keyof T as Key extends `${Head}.${infer Rest}` ? Rest : never]: T[Key] }>
}

/** The settings as the manual nests them: `config.sessions.max_concurrent`. */
export type Config = Nested<Values>

/** What holds when nobody has said anything. */
export function standardValues(): Values {
  return Object.fromEntries(SETTING_KEYS.map(key => [key, settingOf(key).standard])) as Values
}

/** Flat values as nested sections. */
export function nestValues(values: Values): Config {
  const root: Record<string, unknown> = {}
  for (const key of SETTING_KEYS) {
    const parts = key.split('.')
    const last = parts.pop() ?? key
    let section = root
    for (const part of parts) {
      section[part] ??= {}
      section = section[part] as Record<string, unknown>
    }
    section[last] = values[key]
  }
  return root as Config
}
