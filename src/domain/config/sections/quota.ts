import { count, flag, oneOf, optionalCount, percent, type Setting, word } from '../setting.ts'
import { lower, onlyTo } from './tighten.ts'

/** What is left of an account, and who is held back by it. */
export const QUOTA_SETTINGS = {
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
} as const satisfies Record<string, Setting>
