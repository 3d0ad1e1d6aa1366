import { FAILOVER_SETTINGS } from './sections/agents/failover.ts'
import { AGENTS_SETTINGS } from './sections/agents.ts'
import { BRAIN_SETTINGS } from './sections/brain.ts'
import { BUDGET_SETTINGS, GUARD_SETTINGS } from './sections/budgets.ts'
import { EXECUTION_SETTINGS } from './sections/execution.ts'
import { HUMAN_SETTINGS } from './sections/human.ts'
import { NOTIFICATION_SETTINGS } from './sections/notifications.ts'
import { PERMISSIONS_SETTINGS } from './sections/permissions.ts'
import { QUOTA_SETTINGS } from './sections/quota.ts'
import { REPORT_SETTINGS } from './sections/report.ts'
import { SESSIONS_SETTINGS } from './sections/sessions.ts'
import { onlyTo } from './sections/tighten.ts'
import { UPKEEP_SETTINGS } from './sections/upkeep.ts'
import { GATE_DIFF_SETTINGS } from './sections/workspace/gate-diff.ts'
import { GATE_SETTINGS } from './sections/workspace/gates.ts'
import { MERGE_SETTINGS } from './sections/workspace/merge.ts'
import { WORKTREE_SETTINGS } from './sections/workspace/worktrees.ts'
import { count, flag, oneOf, path, type Setting, word } from './setting.ts'

/** Every setting there is, by its full key: the one table that files, environment, flags and `pcc config` go by. */
export const SETTINGS = {
  ...BRAIN_SETTINGS,
  ...SESSIONS_SETTINGS,
  ...QUOTA_SETTINGS,
  ...PERMISSIONS_SETTINGS,
  ...BUDGET_SETTINGS,
  ...GUARD_SETTINGS,
  ...NOTIFICATION_SETTINGS,
  ...HUMAN_SETTINGS,
  'knowledge.embedding_provider': oneOf(['local', 'gemini', 'hybrid'], {
    standard: 'local',
    about: 'Who computes embeddings',
    project: 'tighten',
    tighten: onlyTo('local'),
    inForce: false,
  }),
  'knowledge.local_model': word({
    standard: 'nomic-embed-text',
    about: 'Embedding model of Ollama',
    project: 'trusted',
    inForce: false,
  }),
  'knowledge.auto_index': flag({
    standard: true,
    about: 'Index again when a session starts',
    project: 'free',
    inForce: false,
  }),
  'data.directory': path<string>({
    standard: '~/.perpetualcc/data',
    about: 'Where the data lies; another directory is another daemon',
    project: 'never',
    inForce: true,
  }),
  'data.checkpoint_retention_days': count(1, {
    standard: 30,
    about: 'Days a checkpoint is kept',
    project: 'never',
    inForce: true,
  }),
  'data.episode_retention_days': count(1, {
    standard: 90,
    about: 'Days an episode is kept',
    project: 'never',
    inForce: false,
  }),
  ...AGENTS_SETTINGS,
  ...FAILOVER_SETTINGS,
  'logs.level': oneOf(['debug', 'info', 'warn', 'error'], {
    standard: 'info',
    about: "Least level in the daemon's log",
    project: 'never',
    inForce: true,
  }),
  'logs.max_bytes': count(10_000, {
    standard: 10_000_000,
    about: 'Size at which the log is rotated',
    project: 'never',
    inForce: true,
  }),
  'logs.keep': count(1, {
    standard: 5,
    about: 'Rotated log files that are kept',
    project: 'never',
    inForce: true,
  }),
  ...REPORT_SETTINGS,
  ...UPKEEP_SETTINGS,
  ...EXECUTION_SETTINGS,
  ...GATE_DIFF_SETTINGS,
  ...WORKTREE_SETTINGS,
  ...GATE_SETTINGS,
  ...MERGE_SETTINGS,
} as const satisfies Record<string, Setting>

export type SettingKey = keyof typeof SETTINGS
export const SETTING_KEYS = Object.keys(SETTINGS) as SettingKey[]

/** The row of one setting, for code that goes over all of them. */
export function settingOf(key: SettingKey): Setting {
  return SETTINGS[key]
}

export function isSettingKey(key: string): key is SettingKey {
  return Object.hasOwn(SETTINGS, key)
}
