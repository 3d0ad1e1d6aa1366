import {
  count,
  flag,
  lowerOf,
  oneOf,
  onlyTo,
  optionalAmount,
  optionalCount,
  percent,
  type Setting,
  word,
} from '../setting.ts'

type Amount = number | undefined

/** Any limit is stricter than none; of two limits, the lower one. */
const lowerAmount = (held: Amount, proposed: Amount) =>
  held === undefined ? proposed : proposed === undefined ? held : Math.min(held, proposed)

const bound = (about: string) => ({
  standard: undefined,
  about,
  project: 'tighten' as const,
  tighten: lowerAmount,
})

const turns = (of: string) => optionalCount(1, bound(`Most rounds with the model ${of}`))
const tokens = (of: string) => optionalCount(1, bound(`Most tokens ${of}; reading from the cache does not count`))
const money = (of: string) => optionalAmount(bound(`Most US dollars ${of}, as the agent counts them`))
const time = (of: string) => optionalCount(1, bound(`Most minutes at work ${of}; waiting does not count`))

/** Spending limits. */
export const BUDGET_SETTINGS = {
  'budgets.task.turns': turns('for one task'),
  'budgets.task.tokens': tokens('for one task'),
  'budgets.task.cost_usd': money('for one task'),
  'budgets.task.wall_minutes': time('for one task'),
  'budgets.session.turns': turns('in one session'),
  'budgets.session.tokens': tokens('in one session'),
  'budgets.session.cost_usd': money('in one session'),
  'budgets.session.wall_minutes': time('in one session'),
  'budgets.day.turns': turns('on one day, in all sessions'),
  'budgets.day.tokens': tokens('on one day, in all sessions'),
  'budgets.day.cost_usd': money('on one day, in all sessions'),
  'budgets.day.wall_minutes': time('on one day, in all sessions'),
  'budgets.project.turns': turns('in one project, until `pcc budget reset`'),
  'budgets.project.tokens': tokens('in one project, until `pcc budget reset`'),
  'budgets.project.cost_usd': money('in one project, until `pcc budget reset`'),
  'budgets.project.wall_minutes': time('in one project, until `pcc budget reset`'),
} as const satisfies Record<string, Setting>

const cap = (standard: number, about: string) => ({
  standard,
  about,
  project: 'tighten' as const,
  tighten: lowerOf,
})

/** When a session counts as running away and is stopped gracefully. */
export const GUARD_SETTINGS = {
  'breakers.repeated_calls': count(
    3,
    cap(8, 'Times that a call, or a cycle of two to four calls, gives the same outcome before the session is stopped'),
  ),
  'breakers.no_progress_rounds': count(
    8,
    cap(120, 'Rounds without a change of a file, a plan or a test; a round with nothing new at all counts as four'),
  ),
  'sessions.stall_minutes': count(
    1,
    cap(5, 'Minutes without a sign of life after which an agent counts as hung; twelve times that while a tool runs'),
  ),
  'sessions.max_waiting': count(0, cap(500, 'Most sessions that may wait to start; any more are refused')),
  'agents.max_memory_mb': count(256, cap(2048, 'Most memory of an agent and all processes that it started, in MB')),
  'agents.max_processes': count(
    50,
    cap(1_000, 'Most processes that an agent may have at once, with all that it started'),
  ),
} as const satisfies Record<string, Setting>

/** When the quota of an account holds sessions back. */
export const QUOTA_SETTINGS = {
  'quota.notice_percent': percent({
    standard: 50,
    about: 'Percent of a window from which only half as many sessions start',
    project: 'tighten',
    tighten: lowerOf,
  }),
  'quota.warning_percent': percent({
    standard: 85,
    about: 'Percent of a window from which a session starts only when no other is at work',
    project: 'tighten',
    tighten: lowerOf,
  }),
  'quota.critical_percent': percent({
    standard: 90,
    about: 'Percent of a window from which no session starts',
    project: 'tighten',
    tighten: lowerOf,
  }),
  'quota.on_critical': oneOf(['finish', 'pause'], {
    standard: 'finish',
    about: 'What running sessions do then: finish what they do, or pause after the tool in flight',
    project: 'tighten',
    tighten: onlyTo<'finish' | 'pause'>('pause'),
  }),
  'quota.max_tokens_per_hour': count(1, {
    standard: 100_000,
    about: 'Tokens of a full hour of an account, for our own estimate; reading from the cache does not count',
    project: 'never',
  }),
  'quota.gate_on_estimate': flag({
    standard: false,
    about: 'Whether that estimate may hold sessions back; otherwise it only warns',
    project: 'tighten',
    tighten: onlyTo(true),
  }),
  'quota.ccusage': word({
    standard: 'ccusage',
    about: 'The ccusage program, by name or path; asked if the vendor reports nothing and `quota.token_limit` is set',
    project: 'never',
  }),
  'quota.token_limit': optionalCount(1, {
    standard: undefined,
    about: 'Tokens of a full 5-hour window, as ccusage counts them; without it ccusage is not asked',
    project: 'never',
  }),
} as const satisfies Record<string, Setting>
