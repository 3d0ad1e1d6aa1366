import { AGENTS_SETTINGS, FAILOVER_SETTINGS } from './sections/agents.ts'
import { API_SETTINGS, JWT_SETTINGS } from './sections/api.ts'
import { BRAIN_SETTINGS } from './sections/brain.ts'
import { BUDGET_SETTINGS, GUARD_SETTINGS, QUOTA_SETTINGS } from './sections/budgets.ts'
import { DAEMON_SETTINGS } from './sections/daemon.ts'
import { EXECUTION_SETTINGS } from './sections/execution.ts'
import { HOOKS_SETTINGS } from './sections/hooks.ts'
import { HUMAN_SETTINGS, NOTIFICATION_SETTINGS } from './sections/human.ts'
import { KNOWLEDGE_SETTINGS } from './sections/knowledge.ts'
import { PERMISSIONS_SETTINGS, SESSIONS_SETTINGS } from './sections/sessions.ts'
import { WEBHOOK_SETTINGS } from './sections/webhooks.ts'
import { GATE_DIFF_SETTINGS, GATE_SETTINGS, MERGE_SETTINGS, WORKTREE_SETTINGS } from './sections/workspace.ts'
import type { Setting } from './setting.ts'
import { UNREAD_SETTINGS } from './unread-settings.ts'

/** Every setting by its full key: the one table that files, environment, flags and `pcc config` use. */
const SETTINGS = {
  ...BRAIN_SETTINGS,
  ...SESSIONS_SETTINGS,
  ...QUOTA_SETTINGS,
  ...PERMISSIONS_SETTINGS,
  ...BUDGET_SETTINGS,
  ...GUARD_SETTINGS,
  ...NOTIFICATION_SETTINGS,
  ...HUMAN_SETTINGS,
  ...KNOWLEDGE_SETTINGS,
  ...AGENTS_SETTINGS,
  ...FAILOVER_SETTINGS,
  ...DAEMON_SETTINGS,
  ...EXECUTION_SETTINGS,
  ...GATE_DIFF_SETTINGS,
  ...WORKTREE_SETTINGS,
  ...GATE_SETTINGS,
  ...MERGE_SETTINGS,
  ...HOOKS_SETTINGS,
  ...JWT_SETTINGS,
  ...API_SETTINGS,
  ...WEBHOOK_SETTINGS,
} as const satisfies Record<string, Setting>

export type SettingKey = keyof typeof SETTINGS
export const SETTING_KEYS = Object.keys(SETTINGS) as SettingKey[]

/** The definition of one setting, for code that handles all of them. */
export function settingOf(key: SettingKey): Setting {
  return SETTINGS[key]
}

/** False while no code reads the setting; `pcc config show` says so. */
export function isInForce(key: SettingKey): boolean {
  return !UNREAD_SETTINGS.includes(key)
}

/**
 * Settings of earlier versions that no longer mean anything. A file that still has one works, with a warning; a variable is
 * not read.
 */
export const RETIRED_KEYS: readonly string[] = ['sessions.persist_history']

export function isSettingKey(key: string): key is SettingKey {
  return Object.hasOwn(SETTINGS, key)
}

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

/** What only the person sets: the settings that can be read without saying for which project. */
export type OwnValues = {
  [Key in SettingKey as (typeof SETTINGS)[Key]['project'] extends 'never' ? Key : never]: Values[Key]
}
export type OwnConfig = Nested<OwnValues>

/** The values of all settings if nothing is configured. */
export function defaultValues(): Values {
  return { ...DEFAULTS }
}

const DEFAULTS = Object.fromEntries(SETTING_KEYS.map(key => [key, settingOf(key).standard])) as Values
const PATHS = SETTING_KEYS.map(key => ({
  key,
  sections: key.split('.').slice(0, -1),
  last: key.split('.').at(-1) ?? key,
}))

/** Turns flat values into nested sections. */
export function nestValues(values: Values): Config {
  const root: Record<string, unknown> = {}
  for (const { key, sections, last } of PATHS) {
    let section = root
    for (const part of sections) {
      section[part] ??= {}
      section = section[part] as Record<string, unknown>
    }
    section[last] = values[key]
  }
  return root as Config
}
