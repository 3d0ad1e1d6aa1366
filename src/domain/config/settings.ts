import { STANDARD_AGENT_ENV } from './agent-env.ts'
import { BRAIN_SETTINGS } from './sections/brain.ts'
import { BUDGET_SETTINGS, GUARD_SETTINGS } from './sections/budgets.ts'
import { EXECUTION_SETTINGS } from './sections/execution.ts'
import { HUMAN_SETTINGS } from './sections/human.ts'
import { NOTIFICATION_SETTINGS } from './sections/notifications.ts'
import { UPKEEP_SETTINGS } from './sections/upkeep.ts'
import {
  count,
  flag,
  hours,
  oneOf,
  optionalCount,
  path,
  percent,
  type Setting,
  someOf,
  text,
  texts,
  word,
} from './setting.ts'

const both = (held: boolean, proposed: boolean) => held && proposed
const lower = (held: number, proposed: number) => Math.min(held, proposed)
const shared = (held: string[], proposed: string[]) => held.filter(each => proposed.includes(each))
const joined = (held: string[], proposed: string[]) => [...new Set([...held, ...proposed])]
const onlyTo =
  <T>(strict: T) =>
  (held: T, proposed: T) =>
    proposed === strict ? strict : held

/** Strictness of `agents.isolation`, loosest first. */
const ISOLATION = ['marker', 'auto', 'namespace'] as const
const stricterIsolation = (held: Isolation, proposed: Isolation) =>
  ISOLATION.indexOf(proposed) > ISOLATION.indexOf(held) ? proposed : held
type Isolation = (typeof ISOLATION)[number]

const environmentName = /^([A-Za-z_]\w*\*?|\*)( if [A-Za-z_]\w*)?$/

/** Every setting there is, by its full key: the one table that files, environment, flags and `pcc config` go by. */
export const SETTINGS = {
  ...BRAIN_SETTINGS,
  'sessions.max_concurrent': count(1, {
    standard: 5,
    about: 'Most sessions at once; the rest wait as `idle` in the order they came',
    project: 'tighten',
    tighten: lower,
    inForce: true,
  }),
  'sessions.auto_resume': flag({
    standard: true,
    about: 'Go on by itself after a limit',
    project: 'tighten',
    tighten: both,
    inForce: true,
  }),
  'sessions.resume_hours': hours({
    standard: undefined,
    about: 'Hours in which work may go on by itself after a limit; unset, at any time',
    project: 'trusted',
    inForce: true,
  }),
  'sessions.retry_seconds': count(0, {
    standard: 5,
    about:
      'Seconds before the first of three tries after a failure that may pass; the second waits 6 times, the third 24 times as long',
    project: 'trusted',
    inForce: true,
  }),
  'sessions.checkpoint_minutes': count(1, {
    standard: 10,
    about: 'Minutes of work after which a checkpoint is written',
    project: 'free',
    inForce: true,
  }),
  'sessions.keep_environment': flag({
    standard: true,
    about: 'Keep what an agent was started with in a private file until its session is over, to go on after a restart',
    project: 'tighten',
    tighten: both,
    inForce: true,
  }),
  'sessions.persist_history': flag({
    standard: true,
    about: 'Keep the history of sessions',
    project: 'trusted',
    inForce: false,
  }),
  'quota.notice_percent': percent({
    standard: 50,
    about: 'Percent of a window from which only half as many sessions start',
    project: 'tighten',
    tighten: lower,
    inForce: true,
  }),
  'quota.warning_percent': percent({
    standard: 85,
    about: 'Percent of a window from which a session starts only when no other is at work',
    project: 'tighten',
    tighten: lower,
    inForce: true,
  }),
  'quota.critical_percent': percent({
    standard: 90,
    about: 'Percent of a window from which no session starts',
    project: 'tighten',
    tighten: lower,
    inForce: true,
  }),
  'quota.on_critical': oneOf(['finish', 'pause'], {
    standard: 'finish',
    about: 'What running sessions do then: finish what they do, or pause after the tool in flight',
    project: 'tighten',
    tighten: onlyTo<'finish' | 'pause'>('pause'),
    inForce: true,
  }),
  'quota.max_tokens_per_hour': count(1, {
    standard: 100_000,
    about: 'What our own estimate calls a full hour, reading from the cache left out',
    project: 'tighten',
    tighten: lower,
    inForce: true,
  }),
  'quota.gate_on_estimate': flag({
    standard: false,
    about: 'Whether that estimate may hold sessions back; otherwise it only warns',
    project: 'tighten',
    tighten: onlyTo(true),
    inForce: true,
  }),
  'quota.ccusage': word({
    standard: 'ccusage',
    about: 'The ccusage program, by name or path; it is asked where the vendor tells nothing and a limit is set',
    project: 'never',
    inForce: true,
  }),
  'quota.token_limit': optionalCount(1, {
    standard: undefined,
    about: 'Tokens of a full 5-hour window, as ccusage counts them; without it ccusage is not asked',
    project: 'never',
    inForce: true,
  }),
  'permissions.auto_approve_low_risk': flag({
    standard: true,
    about: 'Allow LOW risk requests without a person',
    project: 'tighten',
    tighten: both,
    inForce: true,
    also: ['auto_approve'],
  }),
  'permissions.safe_directories': texts({
    standard: ['src/', 'tests/', 'lib/', 'app/', 'packages/'],
    about: 'Directories in which a write is LOW risk',
    project: 'tighten',
    tighten: shared,
    inForce: true,
  }),
  'permissions.blocked_commands': texts({
    standard: ['rm -rf /', 'sudo', 'curl | sh'],
    about: 'Commands that are always refused',
    project: 'tighten',
    tighten: joined,
    inForce: true,
  }),
  'permissions.unattended_high': oneOf(['deny', 'wait'], {
    standard: 'deny',
    about: 'HIGH risk with nobody there: refused at once with the way round, or the session waits for a person',
    project: 'tighten',
    tighten: onlyTo<'deny' | 'wait'>('deny'),
    inForce: true,
  }),
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
  'agents.env': texts(
    {
      standard: [...STANDARD_AGENT_ENV],
      about: 'Variables of your environment that travel to the agent: NAME, PREFIX_*, "NAME if FLAG"',
      project: 'trusted',
      inForce: true,
    },
    environmentName,
    'names such as "FOO", "FOO_*" or "FOO_* if BAR"',
  ),
  'agents.setting_sources': someOf(['user', 'project', 'local'], {
    standard: ['user', 'project', 'local'],
    about: "Which of Claude Code's own settings apply",
    project: 'tighten',
    // Without `user` a person's own deny rules would be gone, so a repository may only give up its own.
    tighten: (held, proposed) => held.filter(each => each === 'user' || proposed.includes(each)),
    inForce: true,
  }),
  'agents.isolation': oneOf(ISOLATION, {
    standard: 'auto',
    about: 'How an agent is fenced in: a PID namespace, a marker, or the best there is',
    project: 'tighten',
    tighten: stricterIsolation,
    inForce: true,
  }),
  'agents.path': path<string | undefined>({
    standard: undefined,
    about: 'The claude program, in place of the one that came with pcc',
    project: 'trusted',
    inForce: true,
  }),
  'agents.append_prompt': text({
    standard: undefined,
    about: "Text behind pcc's own lines at the end of the agent's system prompt",
    project: 'trusted',
    inForce: true,
  }),
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
  ...UPKEEP_SETTINGS,
  ...EXECUTION_SETTINGS,
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
