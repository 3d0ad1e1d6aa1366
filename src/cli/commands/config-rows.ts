import { tomlOf } from '../../base/toml/edit.ts'
import type { LoadedConfig } from '../../domain/config/load.ts'
import { SETTING_KEYS, type SettingKey, settingOf } from '../../domain/config/settings.ts'

/** One setting as `pcc config show --json` prints it. */
export interface SettingRow {
  key: SettingKey
  /** `null` when it is not set and has no default; a secret is masked unless it was asked for. */
  value: unknown
  default: unknown
  origin: string
  in_force: boolean
  /** The project's file wants another value, which waits for `pcc trust`. */
  waits_for_trust: boolean
  about: string
}

/** Every setting with where its value came from. */
export function settingRows(loaded: LoadedConfig, reveal: boolean): SettingRow[] {
  return SETTING_KEYS.map(key => settingRow(loaded, key, reveal))
}

/** One setting with where its value came from. */
export function settingRow(loaded: LoadedConfig, key: SettingKey, reveal: boolean): SettingRow {
  const setting = settingOf(key)
  return {
    key,
    value: visible(key, loaded.values[key], reveal) ?? null,
    default: setting.standard ?? null,
    origin: loaded.origin(key),
    in_force: setting.inForce,
    waits_for_trust: loaded.untrusted.includes(key),
    about: setting.about,
  }
}

/** A secret as it may be shown: masked, except where the value only names a variable. */
export function visible(key: SettingKey, value: unknown, reveal: boolean): unknown {
  if (!settingOf(key).secret || reveal || typeof value !== 'string' || value.startsWith('env:')) return value
  return '********'
}

/** A value on one line, as TOML writes it. */
export function written(value: unknown): string {
  return value === null || value === undefined ? '(not set)' : tomlOf(value as Parameters<typeof tomlOf>[0])
}
